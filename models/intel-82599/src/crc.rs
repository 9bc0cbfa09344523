//! Frame check sequence of Ethernet (IEEE 802.3, 3.2.9), for drivers that keep it.

/// FCS of a frame, in the order in which it goes on the wire, low byte first.
pub(crate) fn fcs(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            if crc & 1 != 0 {
                crc >> 1 ^ POLYNOMIAL
            } else {
                crc >> 1
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_polynomial_holds() {
        assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
        let mut frame = b"any frame at all".to_vec();
        frame.extend(fcs(&frame).to_le_bytes());
        assert_eq!(fcs(&frame), 0x2144_df1c, "the residue");
    }
}
