//! Chooses at run time between the compilations of a kernel: AVX-512, AVX2 + FMA, and the portable one.
//!
//! Every hot loop is written once, as plain Rust generic over [`Arithmetic`], inside [`simd_fn!`]. The macro compiles
//! the body three times: with AVX-512 and with AVX2, both with fused multiply-adds, and for the baseline of the target
//! with separate multiplication and addition. The first two differ in how many sums go on side by side, never in the
//! order of one sum, so their results are the same to the last bit; those of the baseline may differ there.

use std::sync::atomic::{AtomicU8, Ordering};

/// How a kernel body multiplies and adds.
pub(crate) trait Arithmetic: Copy {
    /// Whether the body is compiled with wide instructions.
    const WIDE: bool;
    /// Whether a register holds sixteen numbers, a whole line of a panel.
    const LONG: bool = false;

    /// `a · b + c`.
    fn fma(a: f32, b: f32, c: f32) -> f32;
}

/// One rounding per multiply-add; only for bodies compiled with a hardware instruction for it.
#[derive(Clone, Copy)]
pub(crate) struct Fused;

impl Arithmetic for Fused {
    const WIDE: bool = true;

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// As [`Fused`], for bodies compiled with AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct FusedLong;

#[cfg(target_arch = "x86_64")]
impl Arithmetic for FusedLong {
    const WIDE: bool = true;
    const LONG: bool = true;

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// Two roundings per multiply-add: without a hardware instruction `mul_add` would be a library call.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Arithmetic for Plain {
    const WIDE: bool = false;

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// The instructions that kernels are compiled for, from the fewest to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Instructions {
    /// Those of every processor of the target.
    Portable = 1,
    /// AVX2 and fused multiply-adds.
    Avx2 = 2,
    /// The parts of AVX-512 that all processors with it have had since Skylake.
    Avx512 = 3,
}

const UNKNOWN: u8 = 0;
static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Keeps every kernel of this process from using more than these instructions; what the processor lacks stays unused.
///
/// Meant for tests and for comparisons; do not switch while kernels are running.
pub fn limit_instructions(most: Instructions) {
    CHOICE.store(detect().min(most) as u8, Ordering::Relaxed);
}

/// The instructions that kernels use.
#[inline]
pub fn instructions() -> Instructions {
    match CHOICE.load(Ordering::Relaxed) {
        1 => Instructions::Portable,
        2 => Instructions::Avx2,
        3 => Instructions::Avx512,
        _ => {
            let detected = detect();
            CHOICE.store(detected as u8, Ordering::Relaxed);
            detected
        }
    }
}

fn detect() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
    {
        let long = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if long { Instructions::Avx512 } else { Instructions::Avx2 };
    }
    Instructions::Portable
}

/// Declares a function whose body is compiled for AVX-512, for AVX2 and for the baseline, chosen at run time.
///
/// The first type parameter names the [`Arithmetic`] of the body; one more generic parameter may follow after `;`.
/// The body must not contain closures: only code inlined into it is compiled with the wide instructions.
macro_rules! simd_fn {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<$arith:ident $(; $generic:ident : $bound:path)?>
     ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name$(<$generic: $bound>)?($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, clippy::extra_unused_type_parameters)]
            fn body<$arith: $crate::dispatch::Arithmetic $(, $generic: $bound)?>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi2")]
                #[allow(clippy::too_many_arguments)]
                fn wide$(<$generic: $bound>)?($($arg: $ty),*) $(-> $ret)? {
                    body::<$crate::dispatch::Fused $(, $generic)?>($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]
                #[allow(clippy::too_many_arguments)]
                fn long$(<$generic: $bound>)?($($arg: $ty),*) $(-> $ret)? {
                    body::<$crate::dispatch::FusedLong $(, $generic)?>($($arg),*)
                }
                // SAFETY (of both calls): the processor has the instruction sets; it was asked.
                match $crate::dispatch::instructions() {
                    $crate::dispatch::Instructions::Avx512 => return unsafe { long$(::<$generic>)?($($arg),*) },
                    $crate::dispatch::Instructions::Avx2 => return unsafe { wide$(::<$generic>)?($($arg),*) },
                    $crate::dispatch::Instructions::Portable => {}
                }
            }
            // AArch64 has the fused instruction in its baseline.
            #[cfg(target_arch = "aarch64")]
            {
                body::<$crate::dispatch::Fused $(, $generic)?>($($arg),*)
            }
            #[cfg(not(target_arch = "aarch64"))]
            {
                body::<$crate::dispatch::Plain $(, $generic)?>($($arg),*)
            }
        }
    };
}
pub(crate) use simd_fn;
