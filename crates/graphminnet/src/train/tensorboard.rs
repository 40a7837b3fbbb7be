//! Event files that TensorBoard reads: records with checksums around a few hand-encoded protocol-buffer fields.

/// The first record of a file.
pub(super) fn header(time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    double_field(&mut event, 1, time);
    bytes_field(&mut event, 3, b"brain.Event:2");
    record(&event)
}

/// A record with one number.
pub(super) fn scalar(time: f64, step: u64, tag: &str, value: f32) -> Vec<u8> {
    let mut entry = Vec::new();
    bytes_field(&mut entry, 1, tag.as_bytes());
    entry.push(2 << 3 | 5);
    entry.extend(value.to_le_bytes());
    let mut summary = Vec::new();
    bytes_field(&mut summary, 1, &entry);
    let mut event = Vec::new();
    double_field(&mut event, 1, time);
    event.push(2 << 3);
    varint(&mut event, step);
    bytes_field(&mut event, 5, &summary);
    record(&event)
}

/// Length, checksum of the length, data, checksum of the data.
fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut bytes = Vec::with_capacity(data.len() + 16);
    bytes.extend(length);
    bytes.extend(masked_crc(&length).to_le_bytes());
    bytes.extend(data);
    bytes.extend(masked_crc(data).to_le_bytes());
    bytes
}

fn double_field(out: &mut Vec<u8>, number: u8, value: f64) {
    out.push(number << 3 | 1);
    out.extend(value.to_le_bytes());
}

fn bytes_field(out: &mut Vec<u8>, number: u8, value: &[u8]) {
    out.push(number << 3 | 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xA282_EAD8)
}

/// CRC-32 with Castagnoli's polynomial, bit by bit: a record has a few dozen bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn a_record_is_framed_and_encoded_as_tensorboard_expects() {
        let bytes = scalar(1.5, 300, "loss", 0.25);
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert_eq!(bytes.len(), length + 16);
        let event = &bytes[12..12 + length];
        let mut expected = vec![0x09];
        expected.extend(1.5f64.to_le_bytes());
        expected.extend([0x10, 0xAC, 0x02, 0x2A, 13, 0x0A, 11, 0x0A, 4]);
        expected.extend(b"loss");
        expected.push(0x15);
        expected.extend(0.25f32.to_le_bytes());
        assert_eq!(event, expected);
    }
}
