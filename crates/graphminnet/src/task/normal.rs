//! The normal distribution where its tails are too thin for ordinary numbers.

/// `ln √(2π)`.
pub(crate) const LOG_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Where the series gives way to the continued fraction, and how many terms each needs up to there.
const FAR: f64 = 3.0;
const SERIES_TERMS: u32 = 45;
const FRACTION_TERMS: u32 = 80;

/// `ln Φ(z)`, the logarithm of the probability of a value below `z`, and its slope `φ(z)/Φ(z)`, to about 13 digits for any
/// number.
pub(crate) fn log_probability_below(z: f64) -> (f64, f64) {
    let log_density = -0.5 * z * z - LOG_ROOT_TWO_PI;
    if z < -FAR {
        let ratio = mills_ratio(-z);
        return (log_density + ratio.ln(), 1.0 / ratio);
    }
    let density = log_density.exp();
    if z > FAR {
        let above = density * mills_ratio(z);
        return ((-above).ln_1p(), density / (1.0 - above));
    }
    // Φ(z) = ½ + φ(z)·(z + z³/3 + z⁵/(3·5) + …).
    let (mut term, mut sum) = (z, z);
    for at in 1..SERIES_TERMS {
        term *= z * z / f64::from(2 * at + 1);
        sum += term;
    }
    let below = 0.5 + density * sum;
    (below.ln(), density / below)
}

/// `(1 − Φ(x))/φ(x) = 1/(x + 1/(x + 2/(x + 3/(x + …))))`.
fn mills_ratio(x: f64) -> f64 {
    let inner = (1..FRACTION_TERMS).rev().fold(x, |inner, at| x + f64::from(at) / inner);
    1.0 / inner
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `z` and `ln Φ(z)`, computed with mpmath to 50 digits.
    const LOGARITHMS: [(f64, f64); 14] = [
        (-1000.0, -500_007.826_694_812_2),
        (-40.0, -804.608_442_013_753_8),
        (-10.0, -53.231_285_150_512_47),
        (-5.0, -15.064_998_393_988_726),
        (-3.0, -6.607_726_221_510_35),
        (-2.5, -5.081_648_277_278_69),
        (-1.0, -1.841_021_645_009_263_5),
        (-0.1, -0.776_154_592_730_273_3),
        (0.5, -0.368_946_415_288_656_4),
        (1.0, -0.172_753_779_023_449_9),
        (2.0, -0.023_012_909_328_963_488),
        (3.0, -0.001_350_809_964_748_193_8),
        (4.0, -3.167_174_337_748_927e-5),
        (8.0, -6.220_960_574_271_786e-16),
    ];

    #[test]
    fn logarithms_are_those_of_another_program() {
        for (z, expected) in LOGARITHMS {
            let found = log_probability_below(z).0;
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{z}: {found}, {expected}");
        }
    }

    #[test]
    fn slopes_are_those_of_the_values_and_both_stay_finite() {
        for z in [-50.0, -8.0, -3.0001, -2.9999, -1.0, 0.0, 0.7, 2.9999, 3.0001, 6.0] {
            let slope = (log_probability_below(z + 1e-5).0 - log_probability_below(z - 1e-5).0) / 2e-5;
            let found = log_probability_below(z).1;
            assert!((found - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{z}: {found}, {slope}");
        }
        assert_eq!(log_probability_below(1e6), (0.0, 0.0));
        let (value, slope) = log_probability_below(-1e100);
        assert!(value.is_finite() && (slope / 1e100 - 1.0).abs() < 1e-9);
        assert!(log_probability_below(f64::NAN).0.is_nan());
    }
}
