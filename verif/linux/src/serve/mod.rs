//! Serves a kernel: its messages in, answers and interrupts out, and time.
//!
//! One thread does it all, so that under simulated time nothing depends on who came first: the
//! kernel runs or it waits, and interrupts go to a kernel that waits. In real time the clock is the
//! machine's, and interrupts go out as soon as they are due.

mod error;

pub use error::{Limits, ServeError};

use crate::calendar::{Calendar, CalendarError, Message as TimeMessage, Reply, MESSAGE_BYTES};
use crate::command::{self, Command};
use crate::nic::Nic;
use crate::private::PrivateDir;
use crate::vhost::message::{call_was_taken, reply_u64, vring_call, CALL_REPLY_BYTES};
use crate::vhost::ring::{gather, scatter};
use crate::vhost::session::{Session, COMMANDS, INTERRUPTS};
use crate::vhost::socket::{receive, SocketError};
use crate::wall::Wall;
use crate::world::{Message, World};
use error::system;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// Interrupts that may wait for a buffer of the kernel.
const PENDING_MAX: usize = 4096;
/// Register accesses of one kick: as many as the ring has entries, and those that come meanwhile.
const COMMANDS_MAX: u32 = 1 << 16;

/// The way in for the kernel's device.
#[derive(Debug)]
pub enum Door {
    /// It has come in.
    Open(UnixStream),
    /// It will; what is kept here is given up when it has.
    Closed(UnixListener, Option<PrivateDir>),
}

/// Whose time it is.
#[derive(Debug)]
pub enum Time {
    /// The machine's.
    Real(Wall),
    /// Ours: the kernel asks for it here.
    Simulated(UnixStream, Calendar),
}

/// A kernel being served.
pub struct Server<N> {
    /// What is below the kernel.
    pub world: World<N>,
    /// What the kernel set up.
    session: Session,
    door: Door,
    channel: Option<UnixStream>,
    time: Time,
    pending: VecDeque<Message>,
    limits: Limits,
    began: Wall,
}

/// What woke us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    Device,
    Time,
    Channel,
    Gone,
    Nothing,
}

/// Waits for one of several descriptors, the first of those that are ready.
fn wait(fds: &[(BorrowedFd<'_>, Woken)], timeout: Option<Duration>) -> Result<Woken, ServeError> {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().map(|(fd, _)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
    loop {
        match poll(&mut polled, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(system("poll")(error.into())),
            Ok(_) => break,
        }
    }
    let ready = polled.iter().position(|fd| !fd.revents().is_empty());
    Ok(ready.and_then(|n| fds.get(n)).map_or(Woken::Nothing, |(_, woken)| *woken))
}

impl<N: Nic> Server<N> {
    /// Serves the kernel at the other end of these.
    pub fn new(
        world: World<N>,
        door: Door,
        time: Time,
        limits: Limits,
    ) -> Result<Self, ServeError> {
        if let Time::Simulated(socket, _) = &time {
            be_patient(socket, &limits).map_err(system("time socket"))?;
        }
        if let Door::Open(device) = &door {
            be_patient(device, &limits).map_err(system("device socket"))?;
        }
        let session = Session::default();
        let (channel, pending, began) = (None, VecDeque::new(), Wall::start());
        Ok(Self { world, session, door, channel, time, pending, limits, began })
    }

    /// The kernel's device comes in.
    fn open(&mut self) -> Result<bool, ServeError> {
        if let Door::Closed(listener, _) = &self.door {
            let (device, _) = listener.accept().map_err(system("device socket"))?;
            be_patient(&device, &self.limits).map_err(system("device socket"))?;
            self.door = Door::Open(device);
        }
        Ok(true)
    }

    /// Serves until the kernel leaves or `gone` becomes readable.
    pub fn serve(&mut self, gone: BorrowedFd<'_>) -> Result<(), ServeError> {
        loop {
            if self.began.elapsed() > self.limits.wall {
                return Err(ServeError::Limit("the run takes longer than its limit on the wall"));
            }
            let goes_on = match self.time {
                Time::Real(_) => self.step_real(gone)?,
                Time::Simulated(..) => self.step_simulated(gone)?,
            };
            if !goes_on || self.world.street.is_over() {
                return Ok(());
            }
        }
    }

    fn step_real(&mut self, gone: BorrowedFd<'_>) -> Result<bool, ServeError> {
        let now_ps = self.now_ps();
        self.world.advance(&self.session.memory, now_ps)?;
        while let Some(message) = self.world.take_message(now_ps) {
            self.queue(message)?;
        }
        self.interrupt_all()?;
        let until_ps = self.world.next_ps().map(|ps| ps.saturating_sub(now_ps));
        let nap = Duration::from_secs(1);
        let timeout = until_ps.map_or(nap, |ps| Duration::from_nanos(ps.div_ceil(1000)).min(nap));
        let fds = [(self.door.as_fd(), Woken::Device), (gone, Woken::Gone)];
        match wait(&fds, Some(timeout))? {
            Woken::Device => self.device_message(),
            Woken::Gone => Ok(false),
            _ => Ok(true),
        }
    }

    fn step_simulated(&mut self, gone: BorrowedFd<'_>) -> Result<bool, ServeError> {
        let Time::Simulated(socket, calendar) = &self.time else { return Ok(false) };
        if calendar.now_ns() > self.limits.simulated_ns {
            return Err(ServeError::Limit("the run takes longer than its limit of simulated time"));
        }
        if calendar.is_waiting() {
            return self.pass_time().map(|()| true);
        }
        let fds = [
            (self.door.as_fd(), Woken::Device),
            (borrow(socket), Woken::Time),
            (gone, Woken::Gone),
        ];
        match wait(&fds, Some(self.limits.silence))? {
            Woken::Device => self.device_message(),
            Woken::Time => self.time_message(),
            Woken::Nothing => Err(ServeError::Hang("it neither does anything nor waits for time")),
            _ => Ok(false),
        }
    }

    /// The device's time when the kernel does something now.
    fn now_ps(&self) -> u64 {
        match &self.time {
            Time::Real(began) => began.elapsed_ps(),
            Time::Simulated(_, calendar) => calendar.now_ns().saturating_mul(1000),
        }
    }

    /// The kernel waits: the next thing of the device happens, or the kernel runs.
    fn pass_time(&mut self) -> Result<(), ServeError> {
        self.interrupt_all()?;
        let Time::Simulated(socket, calendar) = &mut self.time else { return Ok(()) };
        // Time that has no end is how a kernel says that it waits for an interrupt alone.
        let request_ns = calendar.request_ns().filter(|&ns| ns < i64::MAX as u64);
        let next_ns = self.world.next_ps().map(|ps| ps.div_ceil(1000).max(calendar.now_ns()));
        match (next_ns, request_ns) {
            (Some(next_ns), request) if request.is_none_or(|ns| next_ns <= ns) => {
                calendar.advance(next_ns);
                let now_ps = calendar.now_ns().saturating_mul(1000);
                self.world.advance(&self.session.memory, now_ps)?;
                while let Some(message) = self.world.take_message(now_ps) {
                    self.queue(message)?;
                }
                self.interrupt_all()
            }
            (_, Some(request_ns)) => {
                calendar.advance(request_ns);
                let run = calendar.run();
                socket.write_all(&run.bytes()).map_err(system("time socket"))
            }
            _ => Err(CalendarError::Forever.into()),
        }
    }

    fn queue(&mut self, message: Message) -> Result<(), ServeError> {
        if self.pending.len() >= PENDING_MAX {
            return Err(ServeError::Pending(PENDING_MAX));
        }
        self.pending.push_back(message);
        Ok(())
    }

    /// Interrupts go to the kernel as far as it has buffers for them.
    fn interrupt_all(&mut self) -> Result<(), ServeError> {
        while let Some(message) = self.pending.front().copied() {
            let Session { memory, rings } = &mut self.session;
            let Some(chain) = rings[INTERRUPTS].pop(memory)? else { return Ok(()) };
            let bytes = command::interrupt(message.address, message.data);
            let written = scatter(memory, &chain.answer, &bytes)?;
            rings[INTERRUPTS].push_used(memory, chain.head, written)?;
            self.pending.pop_front();
            self.call()?;
        }
        Ok(())
    }

    /// Tells the kernel of a used buffer. Under simulated time it answers when it has asked for the
    /// time; in real time nobody waits, for the kernel may be waiting for us.
    fn call(&mut self) -> Result<(), ServeError> {
        let Some(channel) = &mut self.channel else { return Ok(()) };
        let is_simulated = matches!(self.time, Time::Simulated(..));
        let call = vring_call(INTERRUPTS as u32, is_simulated);
        match channel.write_all(&call) {
            Ok(()) => {}
            // A kernel that goes down takes no interrupts, and its socket will say so too.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(system("interrupt channel")(error)),
        }
        if !is_simulated {
            return Ok(());
        }
        loop {
            let (Time::Simulated(time, _), Some(channel)) = (&self.time, &self.channel) else {
                return Ok(());
            };
            let fds = [(borrow(channel), Woken::Channel), (borrow(time), Woken::Time)];
            match wait(&fds, Some(self.limits.silence))? {
                Woken::Channel => return self.call_reply(),
                Woken::Time => {
                    if !self.time_message()? {
                        return Ok(());
                    }
                }
                _ => return Err(ServeError::Hang("it does not answer an interrupt")),
            }
        }
    }

    fn call_reply(&mut self) -> Result<(), ServeError> {
        let Some(channel) = &mut self.channel else { return Ok(()) };
        let mut reply = [0; CALL_REPLY_BYTES];
        match channel.read_exact(&mut reply) {
            Ok(()) if call_was_taken(&reply) => Ok(()),
            Ok(()) => Err(ServeError::Refused),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(system("interrupt channel")(error)),
        }
    }

    /// A message about time; false when the kernel has left.
    fn time_message(&mut self) -> Result<bool, ServeError> {
        let Time::Simulated(socket, calendar) = &mut self.time else { return Ok(true) };
        let mut bytes = [0; MESSAGE_BYTES];
        match socket.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if is_farewell(&error) => return Ok(false),
            Err(error) => return Err(system("time socket")(error)),
        }
        let sent = match calendar.take(TimeMessage::parse(&bytes))? {
            Reply::None => return Ok(true),
            Reply::Ack(message) => socket.write_all(&message.bytes()),
            Reply::Start(message) => crate::start::answer(socket, &message.bytes()),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(error) if is_farewell(&error) => Ok(false),
            Err(error) => Err(system("time socket")(error)),
        }
    }

    /// A message of vhost-user; false when the kernel has left.
    fn device_message(&mut self) -> Result<bool, ServeError> {
        let Door::Open(device) = &mut self.door else { return self.open() };
        let received = match receive(device) {
            Ok(Some(received)) => received,
            Ok(None) => return Ok(false),
            Err(SocketError::System(error)) if is_farewell(&error) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let number = received.header.request;
        let outcome = self.session.take(number, received.request, received.fds)?;
        if let Some(channel) = outcome.channel {
            let channel = UnixStream::from(channel);
            channel.set_write_timeout(Some(Duration::from_secs(10))).map_err(system("channel"))?;
            // It is a pipe in both directions that the kernel made, perhaps without blocking.
            channel.set_nonblocking(false).map_err(system("channel"))?;
            self.channel = Some(channel);
        }
        if outcome.kicked == Some(COMMANDS) {
            self.commands()?;
        }
        let reply = outcome.reply;
        let reply = reply.or_else(|| received.header.needs_reply.then(|| reply_u64(number, 0)));
        let Door::Open(device) = &mut self.door else { return Ok(true) };
        match reply.map_or(Ok(()), |reply| device.write_all(&reply)) {
            Ok(()) => Ok(true),
            Err(error) if is_farewell(&error) => Ok(false),
            Err(error) => Err(system("device socket")(error)),
        }
    }

    /// All commands that are in the ring.
    fn commands(&mut self) -> Result<(), ServeError> {
        let kernel_ps = self.now_ps();
        for _ in 0..COMMANDS_MAX {
            let Session { memory, rings } = &mut self.session;
            let Some(chain) = rings[COMMANDS].pop(memory)? else { return Ok(()) };
            let command = Command::parse(&gather(memory, &chain.out)?)?;
            let answer = self.world.command(memory, &command, kernel_ps)?;
            let written = scatter(memory, &chain.answer, &answer)?;
            rings[COMMANDS].push_used(memory, chain.head, written)?;
        }
        Err(ServeError::Flood(COMMANDS_MAX))
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Open(socket) => socket.as_fd(),
            Self::Closed(listener, _) => listener.as_fd(),
        }
    }
}

/// A kernel that stops in the middle of a message, or takes none, must not hold us up for ever.
fn be_patient(socket: &UnixStream, limits: &Limits) -> io::Result<()> {
    let patience = Some(limits.silence.min(Duration::from_secs(10)));
    socket.set_read_timeout(patience)?;
    socket.set_write_timeout(patience)
}

fn borrow(socket: &UnixStream) -> BorrowedFd<'_> {
    socket.as_fd()
}

/// Whether an error says that the other side is gone.
fn is_farewell(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}
