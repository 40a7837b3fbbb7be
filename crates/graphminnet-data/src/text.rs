//! How numbers are written for people.

/// A count with thousands separated, as in `415,283`.
///
/// # Examples
///
/// ```
/// assert_eq!(graphminnet_data::text::grouped(415_283), "415,283");
/// assert_eq!(graphminnet_data::text::grouped(12), "12");
/// ```
pub fn grouped(count: impl std::fmt::Display) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
