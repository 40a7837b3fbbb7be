//! Code of others that reads what strangers wrote, and must not end the program if it panics on it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// How many [`contained`] are under way on this thread.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// What the work gives; `None` if it panics.
pub fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get() - 1);
    result.ok()
}

/// Keeps panics that are [`contained`] from printing a message: whoever reads it would think that the program had failed, where a
/// file is refused. For the start of a program; all other panics are reported as before.
pub fn hush_contained_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                usual(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_is_contained_and_one_after_it_is_not() {
        assert_eq!(contained(|| contained(|| panic!("inner")).is_none()), Some(true));
        assert_eq!(contained(|| -> usize { panic!("outer") }), None);
        assert_eq!(DEPTH.get(), 0, "what comes next is reported");
        assert_eq!(contained(|| 3), Some(3));
    }
}
