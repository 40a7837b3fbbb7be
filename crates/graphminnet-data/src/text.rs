//! How numbers, times and foreign text are written for people.

use std::borrow::Cow;

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

/// A number of things with their name in the right form, as in `1 layer` or `4 layers`.
///
/// # Examples
///
/// ```
/// use graphminnet_data::text::counted;
///
/// assert_eq!(counted(1, "layer"), "1 layer");
/// assert_eq!(counted(0, "bad row"), "0 bad rows");
/// ```
pub fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", ending(number))
}

fn ending(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// A number of things whose digits are grouped.
///
/// ```
/// use graphminnet_data::text::grouped_count;
///
/// assert_eq!(grouped_count(1_292, "label"), "1,292 labels");
/// ```
pub fn grouped_count(number: usize, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), ending(number))
}

/// A duration as `2 h 05 min`, `3 min 20 s` or `4.2 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3_600, whole / 60 % 60),
    }
}

/// A word as a shell reads it.
pub fn shell_word(word: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "-_=./,:+%@".contains(character);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Longest piece of foreign text shown in a message, in characters.
const SHOWN_CHARACTERS: usize = 120;

/// Most names in a short list.
const SHOWN_NAMES: usize = 12;

/// Makes foreign text safe to print: control characters are escaped, and long text is shortened.
pub fn escape(text: &str) -> String {
    escape_up_to(text, SHOWN_CHARACTERS)
}

/// Makes foreign text safe to print, showing at most `shown` of its characters.
pub fn escape_up_to(text: &str, shown: usize) -> String {
    let mut out = String::with_capacity(text.len().min(shown * 4));
    for (count, character) in text.chars().enumerate() {
        if count == shown {
            out.push_str(&format!("… ({} bytes)", text.len()));
            break;
        }
        let is_invisible = matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        if character.is_control() || is_invisible {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Names in a message: each of them escaped and in backquotes, `none` where there are none.
pub(crate) fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", escape(name.as_ref()))).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The same of the first [`SHOWN_NAMES`] of them.
pub(crate) fn quoted_some<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let mut names = names.into_iter();
    let text = quoted(names.by_ref().take(SHOWN_NAMES));
    if names.next().is_some() { text + ", …" } else { text }
}

/// A text that may be a number, with the sign that programs read where a word processor has put a longer one (U+2212).
pub(crate) fn number(text: &str) -> Cow<'_, str> {
    match text.contains('\u{2212}') {
        true => text.replace('\u{2212}', "-").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_parts_at_most() {
        assert_eq!(duration(4.23), "4.2 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7_500.0), "2 h 05 min");
    }

    #[test]
    fn control_characters_and_long_text_cannot_reach_the_terminal() {
        assert_eq!(escape("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(escape("x\u{202e}y"), "x\\u{202e}y");
        assert!(escape(&"a".repeat(10_000)).chars().count() < 150);
    }

    #[test]
    fn a_short_list_says_that_there_are_more_names() {
        let names: Vec<String> = (0..13).map(|name| name.to_string()).collect();
        assert_eq!(quoted(&names[..2]), "`0`, `1`");
        assert_eq!(quoted_some(&names[..12]), quoted(&names[..12]));
        assert_eq!(quoted_some(&names), quoted(&names[..12]) + ", …");
        assert_eq!(quoted_some(&names[..0]), "none");
    }
}
