//! Link flow control: XOFF and XON by the fill of the packet buffer, and pausing (3.7.7, 8.2.3.3).
//!
//! The machine is told the fill and says which pause time to send. Not modelled: priority flow
//! control.

use pollproof_regs::ixgbe::fc;

/// Pause time of a frame: 512 bits.
const QUANTUM_BYTES: u64 = 64;

/// Destination of pause frames (IEEE 802.3, annex 31B).
const PAUSE_ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];

/// EtherType of MAC control frames.
pub(crate) const MAC_CONTROL: u16 = 0x8808;

/// State of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowControl {
    xoff: bool,
    repeat_ps: Option<u64>,
    paused_until_ps: u64,
}

/// Registers that decide, as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowConfig {
    /// FCCFG.
    pub fccfg: u32,
    /// FCRTH of the buffer.
    pub fcrth: u32,
    /// FCRTL of the buffer.
    pub fcrtl: u32,
    /// Pause time, from FCTTV.
    pub pause: u16,
    /// When to repeat, from FCRTV.
    pub repeat: u16,
    /// A byte on the wire.
    pub byte_ps: u64,
}

impl FlowControl {
    /// The buffer holds `fill` bytes: the pause time of a frame to send now, if any.
    pub fn filled(&mut self, fill: u32, config: &FlowConfig, now_ps: u64) -> Option<u16> {
        let sends = config.fccfg & fc::TFCE == fc::TFCE_8023X && config.fcrth & fc::FCEN != 0;
        let quanta_ps =
            |n: u16| u64::from(n).saturating_mul(QUANTUM_BYTES).saturating_mul(config.byte_ps);
        if !sends {
            *self = Self { paused_until_ps: self.paused_until_ps, ..Self::default() };
            return None;
        }
        let above = fill > config.fcrth & fc::THRESHOLD;
        let below = fill <= config.fcrtl & fc::THRESHOLD;
        let repeat = self.repeat_ps.is_some_and(|ps| ps <= now_ps);
        if (above && !self.xoff) || (self.xoff && !below && repeat) {
            self.xoff = true;
            let wait_ps = quanta_ps(config.repeat);
            self.repeat_ps = (wait_ps != 0).then(|| now_ps.saturating_add(wait_ps));
            return Some(config.pause);
        }
        if self.xoff && below {
            self.xoff = false;
            self.repeat_ps = None;
            return (config.fcrtl & fc::XONE != 0).then_some(0);
        }
        None
    }

    /// Whether the partner was asked to be quiet.
    pub fn is_xoff(&self) -> bool {
        self.xoff || self.repeat_ps.is_some()
    }

    /// When XOFF is to be repeated.
    pub fn repeat_ps(&self) -> Option<u64> {
        self.repeat_ps
    }

    /// The partner asks for a pause.
    pub fn paused(&mut self, quanta: u16, byte_ps: u64, now_ps: u64) {
        let pause_ps = u64::from(quanta).saturating_mul(QUANTUM_BYTES).saturating_mul(byte_ps);
        self.paused_until_ps = now_ps.saturating_add(pause_ps);
    }

    /// Whether the transmitter must be quiet.
    pub fn is_paused(&self, now_ps: u64) -> bool {
        self.paused_until_ps > now_ps
    }

    /// When it may talk again.
    pub fn resume_ps(&self, now_ps: u64) -> Option<u64> {
        self.is_paused(now_ps).then_some(self.paused_until_ps)
    }
}

/// A pause frame.
pub(crate) fn pause_frame(from: [u8; 6], quanta: u16) -> Vec<u8> {
    let mut frame = vec![0; 60];
    frame[..6].copy_from_slice(&PAUSE_ADDRESS);
    frame[6..12].copy_from_slice(&from);
    frame[12..16].copy_from_slice(&[0x88, 0x08, 0x00, 0x01]);
    frame[16..18].copy_from_slice(&quanta.to_be_bytes());
    frame
}

/// Pause time that a frame asks for, when it is a pause frame.
pub(crate) fn pause_of(frame: &[u8]) -> Option<u16> {
    let is_pause = frame.get(12..16) == Some(&[0x88, 0x08, 0x00, 0x01]);
    let quanta = frame.get(16..18)?;
    is_pause.then(|| u16::from_be_bytes([quanta[0], quanta[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: FlowConfig = FlowConfig {
        fccfg: fc::TFCE_8023X,
        fcrth: fc::FCEN | 0x1000,
        fcrtl: fc::XONE | 0x400,
        pause: 0xffff,
        repeat: 0x8000,
        byte_ps: 800,
    };

    #[test]
    fn xoff_goes_out_once_above_and_xon_once_below() {
        let mut flow = FlowControl::default();
        assert_eq!(flow.filled(0x1000, &CONFIG, 0), None);
        assert_eq!(flow.filled(0x1001, &CONFIG, 0), Some(0xffff));
        assert_eq!(flow.filled(0x1800, &CONFIG, 1), None);
        let again = flow.repeat_ps().expect("a repetition");
        assert_eq!(again, 0x8000 * 64 * 800);
        assert_eq!(flow.filled(0x800, &CONFIG, again), Some(0xffff), "not below yet");
        assert_eq!(flow.filled(0x400, &CONFIG, again), Some(0));
        assert_eq!((flow.filled(0, &CONFIG, again), flow.repeat_ps()), (None, None));
    }

    #[test]
    fn nothing_goes_out_when_it_is_off_and_xon_only_when_asked() {
        let mut flow = FlowControl::default();
        let off = FlowConfig { fccfg: 0, ..CONFIG };
        assert_eq!(flow.filled(0x2000, &off, 0), None);
        let quiet = FlowConfig { fcrtl: 0x400, ..CONFIG };
        assert_eq!(flow.filled(0x2000, &quiet, 0), Some(0xffff));
        assert_eq!(flow.filled(0, &quiet, 0), None);
    }

    #[test]
    fn a_pause_ends_by_itself_or_by_zero() {
        let mut flow = FlowControl::default();
        let frame = pause_frame([2; 6], 10);
        let quanta = pause_of(&frame).expect("a pause frame");
        flow.paused(quanta, 800, 0);
        assert!(flow.is_paused(511_999) && !flow.is_paused(512_000));
        flow.paused(0, 800, 100);
        assert_eq!(flow.resume_ps(100), None);
        assert_eq!(pause_of(&[0; 60]), None);
    }
}
