//! The commands of a script, one a line: a name, words, then `name=value` pairs.

use crate::iface::{self, Iface};
use crate::packet::Capture;
use crate::sockets::{self, Answer, Polling, Sender, Server};
use crate::{ethtool, netlink, out, packet, ping};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const READ_BYTES_MAX: usize = 1 << 16;
const BACKGROUND_MAX: usize = 32;

/// What lines of a script share.
#[derive(Default)]
struct Session {
    iface: Mutex<Option<String>>,
    capture: Mutex<Option<Arc<Capture>>>,
    /// By `udp` or `tcp` and port.
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
}

type Done = Result<(), String>;

/// Runs all lines; one that fails is told, and the next one runs.
pub fn run(script: &str) {
    let session = Arc::new(Session::default());
    let mut background: Vec<JoinHandle<()>> = Vec::new();
    for (index, text) in script.lines().enumerate() {
        let (number, text) = (index + 1, text.trim());
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match name {
            "" => {}
            _ if name.starts_with('#') => {}
            "join" => {
                background.drain(..).for_each(|thread| drop(thread.join()));
                out::line(number, "ok");
            }
            "bg" if background.len() >= BACKGROUND_MAX => {
                out::line(number, &format!("error more than {BACKGROUND_MAX} in the background"));
            }
            "bg" => {
                let (session, rest) = (Arc::clone(&session), rest.to_owned());
                let spawned = std::thread::Builder::new().spawn(move || {
                    one(&session, number, &rest);
                });
                match spawned {
                    Ok(thread) => background.push(thread),
                    Err(error) => out::line(number, &format!("error {error}")),
                }
            }
            _ => one(&session, number, text),
        }
    }
}

/// Runs one line and tells how it ended. In the kernel's log too, so that a report there can be
/// laid to a line.
fn one(session: &Session, number: usize, text: &str) {
    let _ = std::fs::write("/dev/kmsg", format!("pollproof: @{number} {text}\n"));
    let line = Line::new(session, number, text);
    match line.run() {
        Ok(()) => out::line(number, "ok"),
        Err(what) => out::line(number, &format!("error {}", what.replace('\n', " "))),
    }
}

struct Line<'a> {
    session: &'a Session,
    number: usize,
    name: &'a str,
    words: Vec<&'a str>,
    pairs: Vec<(&'a str, &'a str)>,
}

fn told(error: impl Display) -> String {
    error.to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Line<'a> {
    fn new(session: &'a Session, number: usize, text: &'a str) -> Self {
        let mut all = text.split_whitespace();
        let name = all.next().unwrap_or_default();
        let (mut words, mut pairs) = (Vec::new(), Vec::new());
        for word in all {
            match word.split_once('=') {
                Some(pair) if name != "echo" && name != "write" => pairs.push(pair),
                _ => words.push(word),
            }
        }
        Self { session, number, name, words, pairs }
    }

    fn run(&self) -> Done {
        match self.name {
            "echo" => self.tell(&self.words.join(" ")),
            "sleep" => self.sleep(),
            "device" => self.device(),
            "read" | "write" => self.file(),
            "capture" | "captured" | "wait-captured" => self.capture(),
            "udp" | "tcp" => self.serve(),
            "served" => self.served(),
            "ping" => self.ping(),
            "send" => self.send(),
            _ => self.interface(),
        }
    }

    fn tell(&self, text: &str) -> Done {
        out::line(self.number, text);
        Ok(())
    }

    fn word<T: FromStr>(&self, index: usize, what: &str) -> Result<T, String> {
        let word = self.words.get(index).ok_or_else(|| format!("{what} is missing"))?;
        word.parse().map_err(|_| format!("'{word}' is no {what}"))
    }

    fn pair<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        match self.pairs.iter().find(|p| p.0 == name) {
            None => Ok(default),
            Some((_, value)) => value.parse().map_err(|_| format!("'{value}' is no {name}")),
        }
    }

    fn numbers(&self) -> Result<Vec<(&'a str, u32)>, String> {
        let number = |&(name, value): &(&'a str, &str)| {
            value.parse().map(|v| (name, v)).map_err(|_| format!("{name}: '{value}' is no number"))
        };
        self.pairs.iter().map(number).collect()
    }

    fn on(&self) -> Result<bool, String> {
        match self.words.first() {
            Some(&"on") => Ok(true),
            Some(&"off") => Ok(false),
            _ => Err("on or off, please".into()),
        }
    }

    fn iface(&self) -> Result<Iface, String> {
        let name = lock(&self.session.iface).clone();
        Iface::new(&name.ok_or("no device was chosen")?).map_err(told)
    }

    fn sleep(&self) -> Done {
        let millis: f64 = self.word(0, "number of milliseconds")?;
        let time = Duration::try_from_secs_f64(millis / 1e3).map_err(told)?;
        std::thread::sleep(time);
        Ok(())
    }

    /// `device 0000:00:00.0 [timeout-ms=N]`: the interface that all that follows is about.
    fn device(&self) -> Done {
        let slot: String = self.word(0, "PCI slot")?;
        let name = iface::of_pci(&slot, self.pair("timeout-ms", 10_000)?).map_err(told)?;
        *lock(&self.session.iface) = Some(name.clone());
        let mac = packet::hex(&self.iface()?.mac().map_err(told)?);
        self.tell(&format!("iface {name} mac={mac}"))
    }

    /// `read PATH` and `write PATH WORDS`; `IFACE` in a path is the interface.
    fn file(&self) -> Done {
        let mut path: String = self.word(0, "path")?;
        if path.contains("IFACE") {
            path = path.replace("IFACE", self.iface()?.name());
        }
        if self.name == "write" {
            let text = self.words[1..].join(" ");
            return std::fs::write(&path, text).map_err(|error| format!("{path}: {error}"));
        }
        let bytes = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(READ_BYTES_MAX)]).into_owned();
        text.lines().try_for_each(|line| self.tell(&format!("text {line}")))
    }

    /// `capture [hex]`, `wait-captured N timeout-ms=N`, `captured`.
    fn capture(&self) -> Done {
        if self.name == "capture" {
            let capture = Capture::start(&self.iface()?, self.words.contains(&"hex"));
            *lock(&self.session.capture) = Some(capture.map_err(told)?);
            return Ok(());
        }
        let capture = lock(&self.session.capture).clone().ok_or("nothing is captured")?;
        if self.name == "captured" {
            return capture.print(self.number).map_err(told);
        }
        let count = self.word(0, "number of frames")?;
        let timeout_ms = self.pair("timeout-ms", 10_000)?;
        match capture.wait(count, Duration::from_millis(timeout_ms)) {
            got if got >= count => Ok(()),
            got => Err(format!("{got} of {count} frames after {timeout_ms} ms")),
        }
    }

    /// `udp PORT [sink] [delay-ms=N] [busy-us=N] [prefer] [budget=N]`, likewise `tcp`.
    fn serve(&self) -> Done {
        let port = self.word(0, "port")?;
        let delay = Duration::from_millis(self.pair("delay-ms", 0)?);
        let is_sink = self.words.contains(&"sink");
        let answer = if is_sink { Answer::Sink(delay) } else { Answer::Echo };
        let polling = Polling {
            busy_usecs: self.pair("busy-us", 0)?,
            prefer: self.words.contains(&"prefer"),
            budget: self.pair("budget", 0)?,
        };
        let server = match self.name {
            "udp" => sockets::serve_udp(port, answer, polling),
            _ => sockets::serve_tcp(port, answer, polling),
        };
        let name = format!("{} {port}", self.name);
        lock(&self.session.servers).insert(name, server.map_err(told)?);
        Ok(())
    }

    /// `served udp PORT`.
    fn served(&self) -> Done {
        let name = self.words.join(" ");
        let server = lock(&self.session.servers).get(&name).cloned();
        server.ok_or_else(|| format!("nothing serves '{name}'"))?.print(self.number);
        Ok(())
    }

    /// `ping ADDRESS [count=N] [interval-ms=N] [timeout-ms=N] [payload=N]`.
    fn ping(&self) -> Done {
        let ping = ping::Ping {
            to: self.word(0, "IPv4 address")?,
            count: self.pair("count", 1)?,
            interval: Duration::from_millis(self.pair("interval-ms", 0)?),
            timeout: Duration::from_millis(self.pair("timeout-ms", 1000)?),
            payload: self.pair("payload", 56)?,
        };
        ping.run(self.number).map_err(told)
    }

    /// `send ADDRESS PORT [count=N] [payload=N] [gap-us=N] [pace=BYTES/S] [from=PORT]`.
    fn send(&self) -> Done {
        let sender = Sender {
            to: SocketAddrV4::new(self.word(0, "IPv4 address")?, self.word(1, "port")?),
            from_port: self.pair("from", 0)?,
            count: self.pair("count", 1)?,
            payload: self.pair("payload", 64)?,
            gap: Duration::from_micros(self.pair("gap-us", 0)?),
            pace: self.pair("pace", 0)?,
        };
        sender.run(self.number).map_err(told)
    }

    /// What is about the chosen interface.
    fn interface(&self) -> Done {
        let iface = self.iface()?;
        match self.name {
            "up" => iface.set_up(true).map_err(told),
            "down" => iface.set_up(false).map_err(told),
            "promisc" => iface.set_promisc(self.on()?).map_err(told),
            "mtu" => iface.set_mtu(self.word(0, "MTU")?).map_err(told),
            "mac" => iface.set_mac(self.mac(0)?).map_err(told),
            "address" => {
                let address = self.word(0, "IPv4 address")?;
                iface.set_address(address, self.pair("prefix", 24)?).map_err(told)
            }
            "neighbour" => {
                let address: Ipv4Addr = self.word(0, "IPv4 address")?;
                iface.set_neighbour(address, self.mac(1)?).map_err(told)
            }
            "wait-carrier" => {
                let timeout_ms = self.pair("timeout-ms", 10_000)?;
                iface.wait_carrier(self.words.first() != Some(&"off"), timeout_ms).map_err(told)
            }
            "stats" => self.stats(&iface),
            "rss" => self.rss(&iface),
            "self-test" => {
                let count = ethtool::self_test(&iface).map_err(told)?;
                self.tell(&format!("self-test {count} tests"))
            }
            "fq" => netlink::set_fq(iface.index().map_err(told)?, &self.numbers()?),
            "no-fq" => netlink::delete_root(iface.index().map_err(told)?),
            "gro" | "gso" | "tso" | "sg" | "lro" | "rxcsum" => {
                ethtool::switch(&iface, self.name, self.on()?)
            }
            group if ethtool::is_group(group) => {
                let set = ethtool::set(&iface, group, &self.numbers()?)?;
                let set: Vec<_> =
                    set.iter().map(|(name, value)| format!("{name}={value}")).collect();
                self.tell(&format!("{group} {}", set.join(" ")))
            }
            other => Err(format!("no command '{other}'")),
        }
    }

    fn mac(&self, index: usize) -> Result<[u8; 6], String> {
        let text: String = self.word(index, "MAC address")?;
        let bytes: Option<Vec<u8>> =
            text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect();
        bytes.and_then(|b| b.try_into().ok()).ok_or_else(|| format!("'{text}' is no MAC address"))
    }

    /// `stats [PREFIX]`: the driver's counters that are not 0, then those of the network device.
    fn stats(&self, iface: &Iface) -> Done {
        let prefix = self.words.first().copied().unwrap_or_default();
        for (name, value) in ethtool::stats(iface).map_err(told)? {
            if value > 0 && name.starts_with(prefix) {
                self.tell(&format!("stat {name} {value}"))?;
            }
        }
        Ok(())
    }

    fn rss(&self, iface: &Iface) -> Done {
        let (table, key) = ethtool::rss(iface).map_err(told)?;
        let table: Vec<_> = table.iter().map(u32::to_string).collect();
        self.tell(&format!("rss table={} key={}", table.join(","), packet::hex(&key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<'a>(session: &'a Session, text: &'a str) -> Line<'a> {
        Line::new(session, 1, text)
    }

    #[test]
    fn words_and_pairs_are_told_apart() {
        let session = Session::default();
        let ping = line(&session, "ping 10.0.0.2 count=3");
        assert_eq!(ping.word(0, "address"), Ok(Ipv4Addr::new(10, 0, 0, 2)));
        assert_eq!((ping.pair("count", 1), ping.pair("payload", 56)), (Ok(3), Ok(56)));
        assert_eq!(line(&session, "write a b=c").words, ["a", "b=c"]);
    }

    #[test]
    fn what_a_line_lacks_is_named() {
        let session = Session::default();
        let errors = [
            ("ping", "IPv4 address is missing"),
            ("ping ten", "'ten' is no IPv4 address"),
            ("ping 10.0.0.2 count=many", "'many' is no count"),
            ("sleep -1", "cannot convert float seconds to Duration: value is negative"),
            ("up", "no device was chosen"),
            ("captured", "nothing is captured"),
            ("served udp 7", "nothing serves 'udp 7'"),
            ("read", "path is missing"),
        ];
        for (text, what) in errors {
            assert_eq!(line(&session, text).run().unwrap_err(), what, "{text}");
        }
        *lock(&session.iface) = Some("lo".into());
        for (text, what) in [("dance", "no command 'dance'"), ("gro maybe", "on or off, please")] {
            assert_eq!(line(&session, text).run().unwrap_err(), what, "{text}");
        }
        let mac = line(&session, "mac 02:00:00:00:00").run().unwrap_err();
        assert_eq!(mac, "'02:00:00:00:00' is no MAC address");
    }
}
