//! Numbers of any size, to be read by people.

/// A number with four decimals, or in powers of ten where these would say little: results may be in mol/l as well as in hartree.
pub fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => format!("{value:.4}"),
        size if (1e-3..1e7).contains(&size) || !size.is_finite() => format!("{value:.4}"),
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn a_number_shows_its_digits_whatever_its_size() {
        let shown = [0.0, 0.25, -2.12345, 0.001, 9_999_999.0, 0.000_98, -2.5e-12, 3e30, f64::NAN].map(figure);
        let expected = [
            "0.0000",
            "0.2500",
            "-2.1235",
            "0.0010",
            "9999999.0000",
            "9.800e-4",
            "-2.500e-12",
            "3.000e30",
            "NaN",
        ];
        assert_eq!(shown, expected);
    }
}
