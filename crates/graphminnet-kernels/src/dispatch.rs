//! Chooses at run time between the wide (AVX2 + FMA) and the portable compilation of a kernel.
//!
//! Every hot loop is written once, as plain Rust generic over [`Arithmetic`], inside [`simd_fn!`]. The macro compiles
//! the body twice: once with AVX2 and FMA enabled and fused multiply-adds, once for the baseline of the target
//! with separate multiplication and addition. Results of the two may differ in the last bits.

use std::sync::atomic::{AtomicU8, Ordering};

/// How a kernel body multiplies and adds.
pub(crate) trait Arithmetic: Copy {
    /// Whether the body is compiled with wide instructions.
    const WIDE: bool;

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

const UNKNOWN: u8 = 0;
const WIDE: u8 = 1;
const PORTABLE: u8 = 2;
static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Makes every kernel of this process use the portable path (`true`) or the best one the processor has (`false`).
///
/// Meant for tests and for comparing the two; do not switch while kernels are running.
pub fn force_portable(portable: bool) {
    CHOICE.store(if portable { PORTABLE } else { detect() }, Ordering::Relaxed);
}

/// Whether kernels run their AVX2 + FMA path.
pub fn uses_wide_instructions() -> bool {
    let choice = CHOICE.load(Ordering::Relaxed);
    if choice != UNKNOWN {
        return choice == WIDE;
    }
    let detected = detect();
    CHOICE.store(detected, Ordering::Relaxed);
    detected == WIDE
}

fn detect() -> u8 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
    {
        return WIDE;
    }
    PORTABLE
}

/// Declares a function whose body is compiled for AVX2 + FMA and for the baseline, chosen at run time.
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
                if $crate::dispatch::uses_wide_instructions() {
                    // SAFETY: the processor has the three instruction sets; it was asked.
                    return unsafe { wide$(::<$generic>)?($($arg),*) };
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
