//! Numbers in messages: their bytes, the lowest first, whatever the order in this machine's memory.

/// A number that ranks tell each other.
pub(crate) trait Number: Sized {
    /// The bytes of some numbers; where memory has the same order, a copy.
    fn to_bytes(numbers: &[Self]) -> Vec<u8>;

    /// The numbers that some bytes are.
    fn of_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! numbers {
    ($($kind:ty),+) => {
        $(impl Number for $kind {
            fn to_bytes(numbers: &[Self]) -> Vec<u8> {
                numbers.iter().map(|number| number.to_le_bytes()).collect::<Vec<_>>().into_flattened()
            }

            fn of_bytes(bytes: &[u8]) -> Vec<Self> {
                let each = bytes.as_chunks::<{ size_of::<$kind>() }>().0;
                each.iter().map(|&bytes| Self::from_le_bytes(bytes)).collect()
            }
        })+
    };
}

numbers!(u32, u64, f32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_byte_goes_first_on_every_machine() {
        assert_eq!(u32::to_bytes(&[1, 0x0a0b_0c0d]), [1, 0, 0, 0, 0x0d, 0x0c, 0x0b, 0x0a]);
        assert_eq!(u64::to_bytes(&[0x0102]), [2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(f32::to_bytes(&[1.0]), [0, 0, 0x80, 0x3f]);
        assert_eq!(u64::of_bytes(&u64::to_bytes(&[7, u64::MAX])), [7, u64::MAX]);
        assert_eq!(u32::of_bytes(&u32::to_bytes(&[7, u32::MAX])), [7, u32::MAX]);
        assert_eq!(f32::of_bytes(&f32::to_bytes(&[0.5, f32::MIN])), [0.5, f32::MIN]);
        assert!(u64::to_bytes(&[]).is_empty() && u64::of_bytes(&[]).is_empty());
    }
}
