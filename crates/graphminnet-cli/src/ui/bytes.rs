//! Sizes for people, and from people.

/// A size as `12 B`, `3.4 kB`, `1.2 GB`: decimal units, two or three digits.
pub fn readable(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    for unit in UNITS {
        // 999.95 would print as 1000.0.
        if value < 999.5 || unit == "PB" {
            return if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") };
        }
        value /= 1e3;
    }
    unreachable!("the last unit returns")
}

/// Reads `500MB`, `2 GiB`, `1.5g`, `0`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end =
        text.find(|character: char| !(character.is_ascii_digit() || character == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1_024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err("expected a size such as 500MB or 2GiB".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "expected a size such as 500MB or 2GiB".to_owned())?;
    Ok((number * scale) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        let sizes = [0, 999, 1_000, 9_940, 12_345, 999_499, 999_500, 1_500_000_000];
        let expected = ["0 B", "999 B", "1.0 kB", "9.9 kB", "12 kB", "999 kB", "1.0 MB", "1.5 GB"];
        assert_eq!(sizes.map(readable), expected);
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_bytes("500MB"), Ok(500_000_000));
        assert_eq!(parse_bytes("2 GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("0"), Ok(0));
        assert!(
            parse_bytes("many").is_err() && parse_bytes("-1").is_err() && parse_bytes("1 parsec").is_err()
        );
    }
}
