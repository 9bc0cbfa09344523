//! Starts a kernel as a child process of its own group, and ends it on every way out.
//!
//! The kernel is User Mode Linux: it wants addresses that are not randomised (with them a run is
//! not repeatable) and a C library without restartable sequences (its init dies otherwise). It is
//! told to die with us, so that killing this process leaves nothing behind.

#![allow(unsafe_code, reason = "what a child does before it becomes the kernel")]

use crate::kernel::cpio::with_script;
use crate::kernel::{Built, Kind};
use crate::private::PrivateDir;
use rustix::process::{kill_process_group, pidfd_open, Pid, PidfdFlags, Signal};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// Device id of PCI over virtio, as the kernels are configured.
const VIRTIO_ID: u32 = 64;
/// Sockets in the folder of the run. The kernel is started there and given relative names, so that
/// its command line, which seeds its random numbers, is the same in every run.
const DEVICE_SOCKET: &str = "dev.sock";
const TIME_SOCKET: &str = "time.sock";
const INITRD: &str = "initrd";
/// Output of a kernel that is kept, each stream; the rest is read and dropped.
const OUTPUT_MAX: usize = 16 << 20;
/// Time on the wall until a kernel asks for the time.
const START: Duration = Duration::from_secs(30);

/// What is booted.
#[derive(Clone, Debug)]
pub struct Boot {
    /// The kernel, a program.
    pub kernel: PathBuf,
    /// Its first file system.
    pub initrd: PathBuf,
    /// An archive behind it: the script of the guest.
    pub script: Vec<u8>,
    /// Memory, megabytes.
    pub memory_mb: u32,
    /// Whether the kernel asks us for the time.
    pub simulated: bool,
    /// More words of the kernel's command line.
    pub arguments: Vec<String>,
}

/// Why a kernel does not start.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The system.
    #[error("{what} {path}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// The kernel ends before it asks for anything.
    #[error("the kernel ends at once ({status}): {said}")]
    Early {
        /// How.
        status: String,
        /// Its last words.
        said: String,
    },
}

fn system(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BootError {
    let path = path.display().to_string();
    move |error| BootError::System { what, path, error }
}

/// What a kernel said.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Standard output: what the guest prints, and the kernel's log.
    pub console: String,
    /// Standard error: what the kernel says before it has a console.
    pub log: String,
}

impl Output {
    /// Whether the kernel said so, in a line of its own.
    pub fn says(&self, words: &str) -> bool {
        self.kernel_log().lines().any(|line| line.contains(words))
    }

    /// What the kernel said: its log shares the console with the guest, whose lines begin with `@`.
    pub fn kernel_log(&self) -> String {
        let lines = self.console.lines().filter(|line| !line.starts_with('@'));
        lines.chain(self.log.lines()).flat_map(|line| [line, "\n"]).collect()
    }
}

/// A kernel that runs; it is killed with this value.
pub struct Running {
    child: Child,
    gone: OwnedFd,
    /// Kept open: a console whose input has ended is closed.
    _stdin: Option<ChildStdin>,
    console: Option<JoinHandle<String>>,
    log: Option<JoinHandle<String>>,
}

/// Sockets at which the kernel will knock.
pub struct Doors {
    /// Device.
    pub device: UnixListener,
    /// Time, already connected.
    pub time: Option<UnixStream>,
    /// Holds the sockets.
    pub dir: PrivateDir,
}

impl Boot {
    /// A kernel that was built, with an empty script.
    pub fn new(built: &Built, simulated: bool) -> Self {
        let memory_mb = match built.kind {
            Kind::Plain => 64,
            // What watches wants memory of its own.
            Kind::Sanitizers | Kind::Planted => 256,
        };
        Self {
            kernel: built.vmlinux.clone(),
            initrd: built.initrd.clone(),
            script: with_script(""),
            memory_mb,
            simulated,
            arguments: Vec::new(),
        }
    }

    /// With a script for the guest.
    pub fn with(mut self, script: &str) -> Self {
        self.script = with_script(script);
        self
    }

    /// Starts the kernel.
    pub fn start(&self) -> Result<(Running, Doors), BootError> {
        let temporary = std::env::temp_dir();
        let dir = PrivateDir::create().map_err(system("a folder in", &temporary))?;
        self.put_initrd(&dir.path().join(INITRD))?;
        let listen = |name: &str| {
            let path = dir.path().join(name);
            UnixListener::bind(&path).map_err(system("a socket", &path))
        };
        let device = listen(DEVICE_SOCKET)?;
        let time = if self.simulated { Some(listen(TIME_SOCKET)?) } else { None };
        let mut running = self.spawn(&dir)?;
        let time = time.map(|listener| running.accept(&listener)).transpose()?;
        Ok((running, Doors { device, time, dir }))
    }

    fn put_initrd(&self, path: &Path) -> Result<(), BootError> {
        let mut base = File::open(&self.initrd).map_err(system("initrd", &self.initrd))?;
        let mut whole = File::create(path).map_err(system("initrd", path))?;
        io::copy(&mut base, &mut whole)
            .and_then(|_| io::Write::write_all(&mut whole, &self.script))
            .map_err(system("initrd", path))
    }

    fn arguments(&self) -> Vec<String> {
        let mut all = vec![
            format!("mem={}M", self.memory_mb),
            format!("initrd={INITRD}"),
            "rdinit=/init".to_owned(),
            "con=null".to_owned(),
            "con0=fd:0,fd:1".to_owned(),
            // The guest writes to the first terminal, the kernel's log goes to the second.
            "con1=fd:2,fd:2".to_owned(),
            "console=tty1".to_owned(),
            "uml_dir=.".to_owned(),
            "umid=guest".to_owned(),
            "panic=-1".to_owned(),
            format!("virtio_uml.device={DEVICE_SOCKET}:{VIRTIO_ID}"),
        ];
        if self.simulated {
            all.push(format!("time-travel=ext:{TIME_SOCKET}"));
        } else {
            // A busy machine may leave a kernel without its CPU for half a minute, which is not the
            // kernel's fault.
            all.push("watchdog_thresh=60".to_owned());
            all.push("rcupdate.rcu_cpu_stall_timeout=120".to_owned());
        }
        all.extend(self.arguments.iter().cloned());
        all
    }

    fn spawn(&self, dir: &PrivateDir) -> Result<Running, BootError> {
        // It is started in another folder.
        let kernel = std::path::absolute(&self.kernel).map_err(system("kernel", &self.kernel))?;
        let mut command = Command::new(kernel);
        command
            .args(self.arguments())
            .current_dir(dir.path())
            .env_clear()
            .env("HOME", ".")
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if self.simulated {
            command.env("POLLPROOF_NO_HOST_RANDOM", "1");
        }
        let parent = rustix::process::getpid();
        // SAFETY: between fork and exec there is nothing but system calls, which allocate nothing
        // and take no lock.
        unsafe {
            command.pre_exec(move || prepare(parent));
        }
        let mut child = command.spawn().map_err(system("kernel", &self.kernel))?;
        let pid = Pid::from_child(&child);
        let gone = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(gone) => gone,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(system("kernel", &self.kernel)(error.into()));
            }
        };
        let console = child.stdout.take().map(keep);
        let log = child.stderr.take().map(keep);
        let stdin = child.stdin.take();
        Ok(Running { child, gone, _stdin: stdin, console, log })
    }
}

/// In the child, before the kernel: dies with its parent, and is not randomised.
fn prepare(parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        return Err(io::Error::from(io::ErrorKind::Interrupted));
    }
    // SAFETY: a system call on two numbers.
    let before = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    if before < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Reads a stream to its end and keeps its beginning.
fn keep(stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut reader = BufReader::with_capacity(1 << 16, stream);
        loop {
            let taken = match reader.fill_buf() {
                Ok(bytes) if !bytes.is_empty() => {
                    let room = OUTPUT_MAX - kept.len();
                    kept.extend(bytes.iter().take(room));
                    bytes.len()
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                _ => break,
            };
            reader.consume(taken);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

impl Running {
    /// Becomes readable when the kernel has ended.
    pub fn gone(&self) -> BorrowedFd<'_> {
        self.gone.as_fd()
    }

    /// Its process, which is also its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the kernel to knock.
    fn accept(&mut self, listener: &UnixListener) -> Result<UnixStream, BootError> {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let socket = Path::new(TIME_SOCKET);
        let timeout = Timespec::try_from(START).ok();
        let gone = self.gone.as_fd();
        let mut fds = [
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(gone, PollFlags::IN),
        ];
        let ready = poll(&mut fds, timeout.as_ref()).map_err(io::Error::from);
        let is_there = !fds[0].revents().is_empty();
        let ready = ready.map_err(system("a socket", socket))?;
        if is_there {
            return listener.accept().map(|(s, _)| s).map_err(system("a socket", socket));
        }
        let status = if ready == 0 { "it does not ask for the time" } else { "exit" };
        let (exit, output) = self.end();
        let exit = exit.map_or_else(|| status.to_owned(), |exit| exit.to_string());
        let said: Vec<&str> = output.log.lines().chain(output.console.lines()).collect();
        let said = said[said.len().saturating_sub(3)..].join("; ");
        Err(BootError::Early { status: exit, said })
    }

    /// Waits for so long for the kernel to end by itself.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let mut fds = [PollFd::from_borrowed_fd(self.gone.as_fd(), PollFlags::IN)];
        let timeout = Timespec::try_from(patience).ok();
        let _ = poll(&mut fds, timeout.as_ref());
        self.child.try_wait().ok().flatten()
    }

    /// Ends the kernel and whatever it started, and gives how it ended and what it said. A kernel
    /// that was not killed from here gives its own status.
    pub fn end(&mut self) -> (Option<ExitStatus>, Output) {
        let early = self.child.try_wait().ok().flatten();
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait().ok();
        let status = early.or(status.filter(|status| status.signal() != Some(9)));
        let text = |thread: Option<JoinHandle<String>>| {
            thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
        };
        let output = Output { console: text(self.console.take()), log: text(self.log.take()) };
        (status, output)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
