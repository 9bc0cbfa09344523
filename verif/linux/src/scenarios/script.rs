//! Scripts for the guest, line by line, so that a judge knows which line said what.

use crate::packets::{GUEST_IP, PEER_IP};
use crate::world::MARK_PORT;

/// A script that is being written.
#[derive(Clone, Debug, Default)]
pub struct Script {
    lines: Vec<String>,
}

impl Script {
    /// The interface is found, these settings are made, and it comes up with its address.
    pub fn up(settings: &[&str]) -> Self {
        let mut script = Self::default();
        script.line("device 0000:00:00.0");
        script.lines(settings);
        script.line("up");
        script.line(format!("address {GUEST_IP}"));
        script.neighbour();
        script.line("wait-carrier");
        script
    }

    /// One more line; gives its number.
    pub fn line(&mut self, line: impl Into<String>) -> usize {
        self.lines.push(line.into());
        self.lines.len()
    }

    /// Several lines of which nobody asks what they said.
    pub fn lines(&mut self, lines: &[&str]) {
        self.lines.extend(lines.iter().map(|&line| line.to_owned()));
    }

    /// The other end is known without asking; forgotten when the interface goes down.
    pub fn neighbour(&mut self) {
        self.line(format!("neighbour {PEER_IP} 02:00:00:00:00:02"));
    }

    /// The next phase of the street begins.
    pub fn mark(&mut self) {
        self.line(format!("send {PEER_IP} {MARK_PORT}"));
    }

    /// All lines.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
