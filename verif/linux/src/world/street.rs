//! The far side of the cable: frames that are to come, what the driver sent, and by-hand acts.

use crate::timing::{Plan, Point, Timing};
use pollproof_wire::Frame;
use std::collections::VecDeque;
use std::sync::Arc;

/// UDP port to which the guest says that it is ready for the next phase.
pub const MARK_PORT: u16 = 46_517;

/// Something that is done to the port by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The cable is pulled out, or plugged in.
    Cable(bool),
    /// Transmit stops until the device is reset.
    HoldTransmit,
    /// Firmware gives up.
    Fail,
    /// The answer to the next command is lost.
    LoseAnswer,
    /// The function leaves the bus.
    Remove,
}

/// What the street does when the guest says that it is ready for phase n.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// Frames, each so long after the mark, picoseconds; in that order.
    pub frames: Coming,
    /// Acts, each so long after the mark.
    pub acts: Vec<(u64, Act)>,
}

/// A frame that the driver sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When it was on the wire, picoseconds.
    pub at_ps: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Frames, each with the time from now on after which it comes, picoseconds.
pub type Coming = Vec<(u64, Arc<[u8]>)>;

/// Somebody at the other end, who answers.
pub trait Partner {
    /// The driver sent a frame.
    fn answer(&mut self, sent: &SentFrame) -> Coming;

    /// The guest says that it is ready.
    fn begin(&mut self, _now_ps: u64) -> Coming {
        Vec::new()
    }

    /// When the partner loses patience.
    fn deadline_ps(&self) -> Option<u64> {
        None
    }

    /// That time has come.
    fn expire(&mut self, _now_ps: u64) -> Coming {
        Vec::new()
    }

    /// Told before all else: so many points were passed under the delays that hold.
    fn passed(&mut self, _points: u64) {}

    /// Delays that hold from here on.
    fn take_plan(&mut self) -> Option<Plan> {
        None
    }

    /// Nothing more is wanted of the run.
    fn is_over(&self) -> bool {
        false
    }
}

/// Frames that may be on their way at once.
const COMING_MAX: usize = 1 << 20;
/// Frames of the driver that are kept.
const SENT_MAX: usize = 1 << 20;

/// State of the street.
#[derive(Default)]
pub struct Street {
    phases: VecDeque<Phase>,
    frames: VecDeque<(u64, Arc<[u8]>)>,
    acts: VecDeque<(u64, Act)>,
    number: u64,
    /// Frames that the driver sent, marks apart.
    pub sent: Vec<SentFrame>,
    /// Frames that arrived at the port, by number.
    pub arrived: Vec<(u64, Arc<[u8]>)>,
    /// Marks that were seen, and when.
    pub marks: Vec<u64>,
    partner: Option<Box<dyn Partner>>,
}

impl Street {
    /// A street with these phases.
    pub fn new(phases: Vec<Phase>, partner: Option<Box<dyn Partner>>) -> Self {
        Self { phases: phases.into(), partner, ..Self::default() }
    }

    /// When the next frame arrives.
    pub fn frame_ps(&self) -> Option<u64> {
        self.frames.front().map(|(at_ps, _)| *at_ps)
    }

    /// When the next act is done.
    pub fn act_ps(&self) -> Option<u64> {
        self.acts.front().map(|(at_ps, _)| *at_ps)
    }

    /// The next frame.
    pub fn pop_frame(&mut self, now_ps: u64) -> Option<Frame> {
        let (_, bytes) = self.frames.pop_front()?;
        let frame = Frame::new(self.number, bytes.clone());
        self.number += 1;
        self.arrived.push((now_ps, bytes));
        Some(frame)
    }

    /// The next act.
    pub fn pop_act(&mut self) -> Option<Act> {
        self.acts.pop_front().map(|(_, act)| act)
    }

    /// Whether nothing is to come but by answers.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.acts.is_empty()
    }

    /// A frame comes at this time, behind those that are on their way at that time.
    pub fn send(&mut self, at_ps: u64, bytes: Arc<[u8]>) {
        if self.frames.len() < COMING_MAX {
            let behind = self.frames.partition_point(|(ps, _)| *ps <= at_ps);
            self.frames.insert(behind, (at_ps, bytes));
        }
    }

    /// The driver sent a frame.
    pub fn take(&mut self, now_ps: u64, bytes: Vec<u8>, timing: &mut Timing) {
        if is_mark(&bytes) {
            self.marks.push(now_ps);
            let phase = self.phases.pop_front().unwrap_or_default();
            self.coming(now_ps, phase.frames, timing);
            let acts = phase.acts.into_iter();
            self.acts.extend(acts.map(|(after_ps, act)| (now_ps.saturating_add(after_ps), act)));
            self.ask(now_ps, timing, |partner| partner.begin(now_ps));
            return;
        }
        let sent = SentFrame { at_ps: now_ps, bytes };
        self.ask(now_ps, timing, |partner| partner.answer(&sent));
        if self.sent.len() < SENT_MAX {
            self.sent.push(sent);
        }
    }

    /// When the partner loses patience.
    pub fn deadline_ps(&self) -> Option<u64> {
        self.partner.as_ref().and_then(|partner| partner.deadline_ps())
    }

    /// That time has come.
    pub fn expire(&mut self, now_ps: u64, timing: &mut Timing) {
        self.ask(now_ps, timing, |partner| partner.expire(now_ps));
    }

    /// Whether the partner wants no more of the run.
    pub fn is_over(&self) -> bool {
        self.partner.as_ref().is_some_and(|partner| partner.is_over())
    }

    /// Lets the partner do something, and what it sends come.
    fn ask(
        &mut self,
        now_ps: u64,
        timing: &mut Timing,
        what: impl FnOnce(&mut dyn Partner) -> Coming,
    ) {
        let Some(partner) = &mut self.partner else { return };
        partner.passed(timing.points_of_plan());
        let coming = what(partner.as_mut());
        if let Some(plan) = partner.take_plan() {
            timing.switch(plan);
        }
        self.coming(now_ps, coming, timing);
    }

    fn coming(&mut self, now_ps: u64, coming: Coming, timing: &mut Timing) {
        // A cable does not reorder.
        let mut last_ps = 0;
        for (after_ps, frame) in coming {
            let extra_ps = timing.extra_ps(Point::Wire);
            last_ps = now_ps.saturating_add(after_ps).saturating_add(extra_ps).max(last_ps);
            self.send(last_ps, frame);
        }
    }
}

/// Whether the guest says by this frame that it is ready: UDP over IPv4 without options.
fn is_mark(bytes: &[u8]) -> bool {
    let is_udp = bytes.get(12..15) == Some(&[8, 0, 0x45]) && bytes.get(23) == Some(&17);
    is_udp && bytes.get(36..38) == Some(&MARK_PORT.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark() -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
        bytes[23] = 17;
        bytes[36..38].copy_from_slice(&MARK_PORT.to_be_bytes());
        bytes
    }

    #[test]
    fn a_mark_starts_the_next_phase_and_is_no_frame() {
        let frame: Arc<[u8]> = Arc::from(&[1_u8; 60][..]);
        let phase = Phase {
            frames: vec![(10, frame.clone()), (20, frame)],
            acts: vec![(15, Act::Cable(false))],
        };
        let mut street = Street::new(vec![phase], None);
        let mut timing = Timing::new("wire=1".parse().expect("a plan"));
        street.take(100, vec![0; 60], &mut timing);
        assert!(street.is_empty());
        street.take(200, mark(), &mut timing);
        assert_eq!((street.frame_ps(), street.act_ps()), (Some(1210), Some(215)));
        assert_eq!((street.sent.len(), &street.marks[..]), (1, &[200][..]));
        street.take(300, mark(), &mut timing);
        assert_eq!(street.marks.len(), 2);
        assert_eq!(street.pop_frame(215).map(|f| f.number), Some(0));
        assert_eq!(street.pop_act(), Some(Act::Cable(false)));
    }

    #[test]
    fn frames_keep_the_order_of_their_times() {
        let mut street = Street::default();
        for (at_ps, byte) in [(30, 1), (10, 2), (30, 3), (20, 4)] {
            street.send(at_ps, Arc::from(&[byte; 60][..]));
        }
        let order: Vec<u8> =
            std::iter::from_fn(|| street.pop_frame(0)).map(|f| f.bytes[0]).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }
}
