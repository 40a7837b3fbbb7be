//! Large blocks are kept for the next request instead of being given back to the system.
//!
//! A training step makes and drops hundreds of arrays of many megabytes. The usual allocators ask the system for each
//! of them, which costs a page fault per 4 KiB and a pass that zeroes it: up to a sixth of the time of a step. Here a
//! freed block waits for a request of the same size class. What is in use and what waits never exceed the largest
//! amount that was ever in use by more than an eighth and never by more than 256 MiB, so speed is not bought with
//! memory. On a very large graph a single block is larger than that; there two blocks of the largest size may wait, as
//! long as less than a quarter of the memory of the machine, or of the container, is in use.
//!
//! Very large blocks are asked for in huge pages, where the system has them: a page fault per 2 MiB instead of 4 KiB, and
//! rows gathered from all over an array find their pages in the processor's page table cache.
//!
//! Small blocks are the system allocator's business.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks from this size on are kept.
const SMALLEST: usize = 1 << SMALLEST_BITS;
const SMALLEST_BITS: u32 = 17;
/// Size classes per doubling of the size: at most an eighth of a block is not used.
const STEPS: usize = 8;
/// Classes up to 2⁴⁴ bytes, more than any machine has.
const CLASSES: usize = (44 - SMALLEST_BITS as usize) * STEPS;
/// Size of a huge page, and of the smallest blocks that get them.
const HUGE_PAGE: usize = 2 << 20;
const HUGE_FROM: usize = 4 * HUGE_PAGE;
/// Most bytes that may wait beyond what was ever in use at once.
const MOST_EXTRA: usize = 256 << 20;
/// Every large block starts at a multiple of this; requests for more are left to the system.
const ALIGNMENT: usize = 64;
/// Largest block that a layout can describe at every alignment used here.
const LARGEST: usize = isize::MAX as usize - (HUGE_PAGE - 1);

/// The allocator; see the module.
pub struct KeepLargeBlocks {
    reserve: Mutex<Reserve>,
}

/// Blocks that wait: per class a list whose links are stored in the blocks.
struct Reserve {
    heads: [*mut Link; CLASSES],
    waiting_bytes: usize,
    used_bytes: usize,
    most_used_bytes: usize,
    largest_block: usize,
    /// Memory of the machine, or what it was said to be; `None` until somebody asks.
    machine_bytes: Option<usize>,
}

struct Link {
    next: *mut Link,
}

// SAFETY: blocks that wait belong to the reserve alone; whoever holds the lock may hand them to any thread.
unsafe impl Send for Reserve {}

/// The class of a size, and the size of its blocks.
fn class_of(size: usize) -> (usize, usize) {
    let doublings = size.max(SMALLEST).ilog2();
    let step = 1usize << (doublings - STEPS.ilog2());
    let steps = (size.max(SMALLEST) - (1 << doublings)).div_ceil(step);
    ((doublings - SMALLEST_BITS) as usize * STEPS + steps, (1usize << doublings) + steps * step)
}

/// Size of the blocks of a class.
fn size_of_class(class: usize) -> usize {
    let doublings = SMALLEST_BITS + (class / STEPS) as u32;
    (1usize << doublings) + (class % STEPS) * (1usize << (doublings - STEPS.ilog2()))
}

fn is_kept(layout: Layout) -> bool {
    layout.size() >= SMALLEST && layout.align() <= ALIGNMENT && has_class(layout.size(), LARGEST)
}

/// Whether there is a class for a size whose blocks are not too large: where addresses have 32 bits, a size may fit that its
/// class does not.
fn has_class(size: usize, largest: usize) -> bool {
    let (class, block) = class_of(size);
    class < CLASSES && block <= largest
}

fn block_layout(size: usize) -> Layout {
    let alignment = if size >= HUGE_FROM { HUGE_PAGE } else { ALIGNMENT };
    // SAFETY: the alignment is a power of two, and no block that is kept is larger than `LARGEST`.
    unsafe { Layout::from_size_align_unchecked(size, alignment) }
}

/// Asks the system for huge pages below a fresh block. A matter of speed alone: nothing depends on the answer.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(block: *mut u8, size: usize) {
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
    }
    if size >= HUGE_FROM && !block.is_null() {
        // SAFETY: the block is ours, starts at a page and has that many bytes; the advice changes no contents.
        unsafe { madvise(block.cast(), size, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_: *mut u8, _: usize) {}

/// Memory of the machine; 0 where it is not known. Must not allocate.
#[cfg(target_os = "linux")]
fn machine_bytes() -> usize {
    const PAGE_SIZE: i32 = 30;
    const PHYSICAL_PAGES: i32 = 85;
    unsafe extern "C" {
        fn sysconf(name: i32) -> std::ffi::c_long;
    }
    // SAFETY: it reads two numbers.
    let (size, pages) = unsafe { (sysconf(PAGE_SIZE), sysconf(PHYSICAL_PAGES)) };
    usize::try_from(size).unwrap_or(0).saturating_mul(usize::try_from(pages).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn machine_bytes() -> usize {
    0
}

impl Reserve {
    /// A block of the class that waits, if there is one.
    fn take(&mut self, class: usize, size: usize) -> Option<*mut u8> {
        let block = self.heads[class];
        if block.is_null() {
            return None;
        }
        // SAFETY: blocks in the list are large enough for a link, and nobody else uses them.
        self.heads[class] = unsafe { (*block).next };
        self.waiting_bytes -= size;
        Some(block.cast())
    }

    /// Bytes that may wait beyond what was ever in use at once.
    fn extra_bytes(&mut self) -> usize {
        let machine = *self.machine_bytes.get_or_insert_with(machine_bytes);
        let large = if self.most_used_bytes < machine / 4 { 2 * self.largest_block } else { 0 };
        let small = (self.most_used_bytes / 8).min(MOST_EXTRA);
        if large > MOST_EXTRA { large } else { small }
    }

    /// Gives blocks back to the system until no more than the limit is held: the smallest one that is enough, since
    /// every byte given back is paid for when it is asked for again, or the largest ones where none is.
    fn shrink(&mut self) {
        let limit = self.most_used_bytes + self.extra_bytes();
        while let excess = (self.used_bytes + self.waiting_bytes).saturating_sub(limit)
            && excess > 0
            && let Some(class) = self.class_to_give_back(excess)
        {
            let size = size_of_class(class);
            if let Some(block) = self.take(class, size) {
                // SAFETY: the block was made with this layout.
                unsafe { System.dealloc(block, block_layout(size)) };
            }
        }
    }

    fn class_to_give_back(&self, excess: usize) -> Option<usize> {
        let waits = |class: &usize| !self.heads[*class].is_null();
        let enough = (0..CLASSES).filter(waits).find(|&class| size_of_class(class) >= excess);
        enough.or_else(|| (0..CLASSES).rev().find(waits))
    }
}

impl KeepLargeBlocks {
    /// With nothing in reserve.
    pub(crate) const fn new() -> Self {
        Self {
            reserve: Mutex::new(Reserve {
                heads: [null_mut(); CLASSES],
                waiting_bytes: 0,
                used_bytes: 0,
                most_used_bytes: 0,
                largest_block: 0,
                machine_bytes: None,
            }),
        }
    }

    /// Says how much memory this process may use, which in a container is less than the machine has. To find that out takes
    /// memory, so whoever starts the process does.
    pub fn set_machine_memory(&self, bytes: u64) {
        self.reserve().machine_bytes = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Most bytes of large blocks that were in use at once so far.
    #[cfg(any(feature = "lab", test))]
    pub fn most_used_bytes(&self) -> usize {
        self.reserve().most_used_bytes
    }

    fn reserve(&self) -> MutexGuard<'_, Reserve> {
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block with arbitrary contents.
    fn large(&self, size: usize) -> *mut u8 {
        let (class, size) = class_of(size);
        let mut reserve = self.reserve();
        reserve.used_bytes += size;
        reserve.most_used_bytes = reserve.most_used_bytes.max(reserve.used_bytes);
        reserve.largest_block = reserve.largest_block.max(size);
        if let Some(block) = reserve.take(class, size) {
            return block;
        }
        reserve.shrink();
        drop(reserve);
        // SAFETY: the size is not zero.
        let block = unsafe { System.alloc(block_layout(size)) };
        prefer_huge_pages(block, size);
        if block.is_null() {
            self.reserve().used_bytes -= size;
        }
        block
    }
}

// SAFETY: a request is either the system allocator's from beginning to end, or its block is at least as large and as
// aligned as asked for and in nobody else's hands; which of the two is decided by the layout alone.
unsafe impl GlobalAlloc for &KeepLargeBlocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_kept(layout) {
            return self.large(layout.size());
        }
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_kept(layout) {
            let block = self.large(layout.size());
            if !block.is_null() {
                // SAFETY: the block is at least that large.
                unsafe { block.write_bytes(0, layout.size()) };
            }
            return block;
        }
        // SAFETY: promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_kept(layout) {
            // SAFETY: promised by the caller; the block is the system's.
            return unsafe { System.dealloc(block, layout) };
        }
        let (class, size) = class_of(layout.size());
        let mut reserve = self.reserve();
        reserve.used_bytes -= size;
        reserve.waiting_bytes += size;
        let link = block.cast::<Link>();
        // SAFETY: the block is large and aligned enough, and the caller gives it up.
        unsafe { link.write(Link { next: reserve.heads[class] }) };
        reserve.heads[class] = link;
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that fits.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (is_kept(layout), is_kept(new_layout)) {
            // SAFETY: promised by the caller; the block is the system's and stays so.
            (false, false) => unsafe { System.realloc(block, layout, new_size) },
            (true, true) if class_of(layout.size()) == class_of(new_size) => block,
            _ => {
                // SAFETY: promised by the caller; both blocks hold the smaller of the two sizes.
                unsafe {
                    let moved = self.alloc(new_layout);
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(block, layout.size().min(new_size));
                        self.dealloc(block, layout);
                    }
                    moved
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_their_sizes_and_waste_little() {
        for size in (SMALLEST..SMALLEST * 40).step_by(4097).chain([SMALLEST, SMALLEST + 1, 1 << 40]) {
            let (class, block) = class_of(size);
            assert!(block >= size && block as f64 <= size as f64 * 1.125 + 1.0, "{size}: {block}");
            assert_eq!(size_of_class(class), block);
            assert_eq!(class_of(block), (class, block));
        }
    }

    #[test]
    fn a_size_whose_class_goes_beyond_the_addresses_is_left_to_the_system() {
        let of_32_bits = (1usize << 31) - HUGE_PAGE;
        let last_step = (1usize << 30) + 7 * (1 << 27);
        assert!(has_class(SMALLEST, of_32_bits) && has_class(last_step, of_32_bits));
        assert!(!has_class(last_step + 1, of_32_bits) && !has_class((1 << 31) - 1, of_32_bits));
        for size in [SMALLEST, HUGE_FROM, last_step] {
            let (layout, block) = (Layout::from_size_align(size, 4).unwrap(), class_of(size).1);
            assert!(is_kept(layout) && Layout::from_size_align(block, HUGE_PAGE).is_ok());
        }
    }

    #[test]
    fn a_freed_block_serves_the_next_request_and_the_reserve_is_bounded() {
        let allocator = &KeepLargeBlocks::new();
        let layout = |size: usize| Layout::from_size_align(size, 4).unwrap();
        // SAFETY: every block is used and freed with the layout it was made with.
        unsafe {
            let first = allocator.alloc(layout(1_000_000));
            first.write_bytes(7, 1_000_000);
            allocator.dealloc(first, layout(1_000_000));
            let again = allocator.alloc_zeroed(layout(990_000));
            assert_eq!(again, first);
            assert!(std::slice::from_raw_parts(again, 990_000).iter().all(|byte| *byte == 0));
            let grown = allocator.realloc(again, layout(990_000), 3_000_000);
            assert!(!grown.is_null());
            let shrunk = allocator.realloc(grown, layout(3_000_000), 100);
            allocator.dealloc(shrunk, layout(100));
            // Many sizes, one at a time: what waits must not add up.
            for size in (1..40).map(|step| step * 300_000) {
                let block = allocator.alloc(layout(size));
                allocator.dealloc(block, layout(size));
            }
        }
        let reserve = allocator.reserve();
        assert_eq!(reserve.used_bytes, 0);
        assert!(reserve.waiting_bytes <= reserve.most_used_bytes * 9 / 8, "{}", reserve.waiting_bytes);
    }

    #[test]
    fn blocks_larger_than_the_usual_reserve_wait_while_there_is_memory() {
        let mut reserve = KeepLargeBlocks::new().reserve.into_inner().unwrap();
        reserve.machine_bytes = Some(24 << 30);
        let cases =
            [(4 << 30, 8 << 20, 256 << 20), (1 << 30, 8 << 20, 128 << 20), (4 << 30, 1 << 30, 2 << 30)];
        for (most_used, largest, expected) in cases {
            (reserve.most_used_bytes, reserve.largest_block) = (most_used, largest);
            assert_eq!(reserve.extra_bytes(), expected);
        }
        (reserve.most_used_bytes, reserve.largest_block) = (11 << 30, 1 << 30);
        assert_eq!(reserve.extra_bytes(), MOST_EXTRA, "no more where memory is scarce");
    }

    #[test]
    fn a_container_is_as_large_as_it_is_said_to_be() {
        let blocks = KeepLargeBlocks::new();
        for (gibibytes, expected) in [(24, 2 << 30), (8, MOST_EXTRA)] {
            blocks.set_machine_memory(gibibytes << 30);
            let mut reserve = blocks.reserve();
            (reserve.most_used_bytes, reserve.largest_block) = (4 << 30, 1 << 30);
            assert_eq!(reserve.extra_bytes(), expected, "{gibibytes} GiB");
        }
    }

    #[test]
    fn threads_share_the_reserve() {
        static BLOCKS: KeepLargeBlocks = KeepLargeBlocks::new();
        static SHARED: &KeepLargeBlocks = &BLOCKS;
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                scope.spawn(move || {
                    for round in 0..200usize {
                        let size = SMALLEST + (round * 7919 + thread as usize * 104_729) % (1 << 20);
                        let layout = Layout::from_size_align(size, 8).unwrap();
                        // SAFETY: used and freed with its layout.
                        unsafe {
                            let block = SHARED.alloc(layout);
                            block.write_bytes(thread, size);
                            std::thread::yield_now();
                            assert!(
                                std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == thread)
                            );
                            SHARED.dealloc(block, layout);
                        }
                    }
                });
            }
        });
        assert_eq!(SHARED.reserve().used_bytes, 0);
    }
}
