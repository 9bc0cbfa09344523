//! The calendar that User Mode Linux asks for the time under `time-travel=ext`: its messages, and
//! what the kernel last said.
//!
//! Source: Linux 6.12 `include/uapi/linux/um_timetravel.h`. There is one kernel and one calendar;
//! events of the device are in the same time ([`crate::world`]), so that the kernel sleeps exactly
//! until the next thing happens. Not offered: shared memory, broadcasts, running ahead
//! (`FREE_UNTIL`), so that every step of time is asked for.

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 16;

/// Time of day that the kernel is told at its start: always the same.
pub const TIME_OF_DAY_NS: u64 = 1_700_000_000_000_000_000;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const GET_TOD: u32 = 8;

/// What a kernel does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// Unknown.
    #[error("simulated time: message {0} is not known")]
    Unknown(u32),
    /// It wants to run in the past.
    #[error("simulated time: the kernel asks for {asked} ns, it is {now} ns")]
    Past {
        /// Wanted.
        asked: u64,
        /// Now.
        now: u64,
    },
    /// It says that its time has gone where it may not go alone.
    #[error("simulated time: the kernel is at {told} ns, it may be at {now} ns")]
    Drift {
        /// What it says.
        told: u64,
        /// Now.
        now: u64,
    },
    /// An answer to nothing.
    #[error("simulated time: an answer with number {0} that nobody waits for")]
    Answer(u32),
    /// It waits and has not said for what.
    #[error("simulated time: the kernel waits for nothing, and nothing of the device is to come")]
    Forever,
}

/// A message of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    op: u32,
    seq: u32,
    time_ns: u64,
}

impl Message {
    /// Reads a message.
    pub fn parse(bytes: &[u8; MESSAGE_BYTES]) -> Self {
        let [o0, o1, o2, o3, s0, s1, s2, s3, t0, t1, t2, t3, t4, t5, t6, t7] = *bytes;
        Self {
            op: u32::from_le_bytes([o0, o1, o2, o3]),
            seq: u32::from_le_bytes([s0, s1, s2, s3]),
            time_ns: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        }
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        let parts =
            [&self.op.to_le_bytes()[..], &self.seq.to_le_bytes(), &self.time_ns.to_le_bytes()];
        for (slot, byte) in bytes.iter_mut().zip(parts.concat()) {
            *slot = byte;
        }
        bytes
    }
}

/// What is to be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing: it was an answer itself.
    None,
    /// This.
    Ack(Message),
    /// This, with the two descriptors that a start wants.
    Start(Message),
}

/// What the kernel last said.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    now_ns: u64,
    request_ns: Option<u64>,
    waiting: bool,
    /// Number of the permission to run that is not acknowledged.
    granted: Option<u32>,
    seq: u32,
}

impl Calendar {
    /// Simulated time.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Whether the kernel waits for time to pass.
    pub fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// When the kernel wants to run.
    pub fn request_ns(&self) -> Option<u64> {
        self.request_ns
    }

    /// Lets time pass, up to what the kernel asked for.
    pub fn advance(&mut self, to_ns: u64) {
        let limit_ns = self.request_ns.unwrap_or(u64::MAX);
        self.now_ns = self.now_ns.max(to_ns.min(limit_ns));
    }

    /// Takes a message of the kernel.
    pub fn take(&mut self, message: Message) -> Result<Reply, CalendarError> {
        let Message { op, seq, time_ns } = message;
        let mut answer = Message { op: ACK, seq, time_ns: 0 };
        match op {
            ACK if self.granted == Some(seq) => {
                self.granted = None;
                return Ok(Reply::None);
            }
            ACK => return Err(CalendarError::Answer(seq)),
            // The time is the number of the client: there is no other.
            START => return Ok(Reply::Start(answer)),
            REQUEST if time_ns < self.now_ns => {
                return Err(CalendarError::Past { asked: time_ns, now: self.now_ns });
            }
            REQUEST => self.request_ns = Some(time_ns),
            WAIT => self.waiting = true,
            GET => answer.time_ns = self.now_ns,
            UPDATE if time_ns != self.now_ns => {
                return Err(CalendarError::Drift { told: time_ns, now: self.now_ns });
            }
            UPDATE => {}
            GET_TOD => answer.time_ns = TIME_OF_DAY_NS,
            _ => return Err(CalendarError::Unknown(op)),
        }
        Ok(Reply::Ack(answer))
    }

    /// Lets the kernel run: its time has come.
    pub fn run(&mut self) -> Message {
        self.seq = self.seq.wrapping_add(1);
        self.waiting = false;
        self.request_ns = None;
        self.granted = Some(self.seq);
        Message { op: RUN, seq: self.seq, time_ns: self.now_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(op: u32, time_ns: u64) -> Message {
        Message { op, seq: 9, time_ns }
    }

    #[test]
    fn the_kernel_waits_and_runs_when_its_time_has_come() {
        let mut calendar = Calendar::default();
        assert!(matches!(calendar.take(says(START, 7)), Ok(Reply::Start(_))));
        let tod = Message { op: ACK, seq: 9, time_ns: TIME_OF_DAY_NS };
        assert_eq!(calendar.take(says(GET_TOD, 0)), Ok(Reply::Ack(tod)));
        calendar.take(says(REQUEST, 100)).expect("a request");
        calendar.take(says(WAIT, 0)).expect("a wait");
        assert!(calendar.is_waiting());
        calendar.advance(40);
        let now = Message { op: ACK, seq: 9, time_ns: 40 };
        assert_eq!(calendar.take(says(GET, 0)), Ok(Reply::Ack(now)));
        calendar.advance(4000);
        let run = calendar.run();
        assert_eq!((run.op, run.time_ns, calendar.is_waiting()), (RUN, 100, false));
        let ack = Message { op: ACK, seq: run.seq, time_ns: 0 };
        assert_eq!(calendar.take(ack), Ok(Reply::None));
        assert_eq!(calendar.take(ack), Err(CalendarError::Answer(run.seq)));
        assert_eq!(Message::parse(&run.bytes()), run);
    }

    #[test]
    fn time_that_goes_its_own_way_is_told() {
        let mut calendar = Calendar::default();
        calendar.advance(50);
        let past = CalendarError::Past { asked: 49, now: 50 };
        assert_eq!(calendar.take(says(REQUEST, 49)), Err(past));
        let drift = CalendarError::Drift { told: 51, now: 50 };
        assert_eq!(calendar.take(says(UPDATE, 51)), Err(drift));
        assert_eq!(calendar.take(says(77, 0)), Err(CalendarError::Unknown(77)));
    }
}
