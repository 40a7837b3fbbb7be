//! Memory whose contents do not matter, because a kernel is going to write all of it.
//!
//! Zeroing a buffer first costs a pass over memory: a tenth of the time of a forward pass on a graph of 500,000 nodes.

/// `length` arbitrary values, in memory with room for `capacity`.
pub fn arbitrary_values(length: usize, capacity: usize) -> Vec<f32> {
    // SAFETY: every pattern of bits is a float.
    unsafe { arbitrary(length, capacity, 0.0) }
}

/// The same of any type; `any` is a value of it, for processors that take no part in this.
///
/// # Safety
///
/// Every pattern of bits must be a value of the type.
#[allow(clippy::uninit_vec)]
pub(crate) unsafe fn arbitrary<T: Copy>(length: usize, capacity: usize, any: T) -> Vec<T> {
    let mut values = Vec::with_capacity(capacity.max(length));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        written_by_somebody(values.as_mut_ptr());
        // SAFETY: the vector has the capacity, and the caller promises the rest. For the compiler the memory has been
        // written: it cannot see what the assembly does, which may have been to write what is there.
        unsafe { values.set_len(length) };
    } else {
        values.resize(length, any);
    }
    values
}

/// Tells the compiler that the memory may have been written.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn written_by_somebody<T>(memory: *mut T) {
    // SAFETY: there is no instruction.
    unsafe { std::arch::asm!("/* {} */", in(reg) memory, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn written_by_somebody<T>(_: *mut T) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_memory_to_write_to() {
        for (length, capacity) in [(0, 0), (1, 0), (1000, 1125), (1 << 20, 1 << 20)] {
            let mut values = arbitrary_values(length, capacity);
            assert!(values.len() == length && values.capacity() >= capacity);
            values.fill(2.0);
            assert_eq!(values.iter().sum::<f32>(), 2.0 * length as f32);
        }
    }
}
