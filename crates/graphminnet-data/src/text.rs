//! How numbers are written for people.

/// A number with the thousands before its decimal point separated, as in `415,283` or `1,234.5`.
///
/// # Examples
///
/// ```
/// use graphminnet_data::text::grouped;
///
/// assert_eq!(grouped(415_283), "415,283");
/// assert_eq!(grouped(12), "12");
/// assert_eq!(grouped(1234.5678), "1,234.5678");
/// ```
pub fn grouped(number: impl std::fmt::Display) -> String {
    let number = number.to_string();
    let (digits, decimals) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut text = String::with_capacity(number.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + decimals
}
