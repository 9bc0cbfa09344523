//! Register accesses of the kernel, as commands of PCI over virtio bring them.

use super::{Posted, World, WorldError};
use crate::command::Command;
use crate::memory::SharedMemory;
use crate::nic::Nic;
use crate::pci::Effect;
use crate::timing::Point;
use pollproof_events::{emit, Event};
use pollproof_pcie::Outbound;

/// Steps of the device after which a read is answered though it is not done: more than entries of
/// the largest queue.
const STALL_STEPS_MAX: u64 = 1 << 20;

impl<N: Nic> World<N> {
    /// Performs a command at the kernel's time; gives the answer of a read.
    pub fn command(
        &mut self,
        memory: &SharedMemory,
        command: &Command,
        kernel_ps: u64,
    ) -> Result<Vec<u8>, WorldError> {
        match command {
            Command::ConfigRead { offset, size } => {
                self.flush();
                Ok(le(self.function.read(*offset, *size), *size))
            }
            Command::ConfigWrite { offset, data } => {
                self.flush();
                for effect in self.function.write(*offset, data) {
                    match effect {
                        Effect::Reset => self.nic.reset(),
                        Effect::Msix { enabled, function_mask } => {
                            self.nic.set_msix_control(enabled, function_mask);
                        }
                    }
                }
                self.pull();
                Ok(Vec::new())
            }
            Command::Read { bar, offset, size } => {
                self.begin(memory, kernel_ps)?;
                let mut bytes = Vec::with_capacity(*size as usize);
                for (at, len) in units(*offset, *size) {
                    bytes.extend(le(self.read(memory, *bar, at, len), len));
                }
                Ok(bytes)
            }
            Command::Write { bar, offset, data } => {
                self.begin(memory, kernel_ps)?;
                let mut rest = &data[..];
                for (at, len) in units(*offset, data.len() as u32) {
                    let (now, later) = rest.split_at(rest.len().min(len as usize));
                    self.write(memory, *bar, at, from_le(now), len);
                    rest = later;
                }
                Ok(Vec::new())
            }
            Command::Fill { bar, offset, size, byte } => {
                self.begin(memory, kernel_ps)?;
                for (at, len) in units(*offset, *size) {
                    let value = from_le(&[*byte; 8][..len as usize]);
                    self.write(memory, *bar, at, value, len);
                }
                Ok(Vec::new())
            }
        }
    }

    /// The CPU may have computed for a while before it touches a register: the device goes on for
    /// so long from where it is. The kernel's clock does not show it; the device waits for it when
    /// the kernel waits.
    fn begin(&mut self, memory: &SharedMemory, kernel_ps: u64) -> Result<(), WorldError> {
        let ahead_ps = self.timing.extra_ps(Point::Cpu);
        self.advance(memory, kernel_ps.max(self.now_ps).saturating_add(ahead_ps))?;
        self.accesses += 1;
        if self.remove_at.is_some_and(|at| self.accesses >= at) {
            self.remove();
        }
        Ok(())
    }

    fn read(&mut self, memory: &SharedMemory, bar: u8, offset: u64, bytes: u32) -> u64 {
        self.flush();
        self.stall(memory, bar, offset);
        let ones = u64::MAX >> (64 - 8 * bytes.clamp(1, 8));
        let is_there = self.function.decodes();
        let value = if is_there { self.nic.mmio_read(bar, offset, bytes) } else { ones };
        // The table of messages is the PCI core's, which goes on with it when the driver has found
        // out that the function is gone.
        if is_there || bar != self.nic.identity().msix_bar {
            emit(Event::MmioRead { bar, offset, value });
        }
        self.pull();
        // What the device wrote before it answered is in memory before the answer.
        self.push_writes(memory);
        value
    }

    /// The device keeps the answer back until it has done what it was told: time passes for it, and
    /// none for the kernel.
    fn stall(&mut self, memory: &SharedMemory, bar: u8, offset: u64) {
        for _ in 0..STALL_STEPS_MAX {
            if !self.function.may_master() || !self.nic.stalls_read(bar, offset) {
                return;
            }
            let Some((at_ps, source)) = self.next() else { return };
            self.set_time(at_ps);
            self.handle(memory, source);
        }
    }

    fn write(&mut self, memory: &SharedMemory, bar: u8, offset: u64, value: u64, bytes: u32) {
        if self.function.decodes() {
            self.watch.before_write(&self.nic, memory, bar, offset, value as u32);
        }
        emit(Event::MmioWrite { bar, offset, value });
        let extra_ps = self.timing.extra_ps(Point::Posted);
        let due_ps = self.now_ps + self.link.params().latency_ps + extra_ps;
        let behind_ps = self.posted.back().map_or(0, |last| last.due_ps);
        let due_ps = due_ps.max(behind_ps);
        self.posted.push_back(Posted { due_ps, bar, offset, value, bytes });
        if due_ps <= self.now_ps {
            self.flush();
        }
    }

    /// Register writes that are under way arrive.
    fn flush(&mut self) {
        while let Some(write) = self.posted.pop_front() {
            self.deliver(write);
            self.pull();
        }
    }

    /// A register write reaches the device.
    pub(super) fn deliver(&mut self, write: Posted) {
        if self.function.decodes() {
            self.watch.before_delivery(&self.nic, write.bar, write.offset, write.value as u32);
            self.nic.mmio_write(write.bar, write.offset, write.value, write.bytes);
        }
    }

    /// DMA writes and messages that are under way arrive; reads may come later.
    fn push_writes(&mut self, memory: &SharedMemory) {
        let all = std::mem::take(&mut self.to_host);
        for (due_ps, request) in all {
            if matches!(request, Outbound::DmaRead { .. }) {
                self.to_host.push_back((due_ps, request));
            } else {
                self.arrive(memory, request);
            }
        }
    }
}

/// An access in pieces that registers have: up to 8 bytes, aligned.
fn units(offset: u64, size: u32) -> impl Iterator<Item = (u64, u32)> {
    let end = offset.saturating_add(size.into());
    let mut at = offset;
    std::iter::from_fn(move || {
        let left = end - at;
        // A register is 4 bytes; a pair is what a single access of 8 may be.
        let most = if size == 8 { 8 } else { 4 };
        let len = (1..=most)
            .rev()
            .find(|&n: &u64| n.is_power_of_two() && n <= left && at.is_multiple_of(n.min(4)))?;
        let unit = (at, len as u32);
        at += len;
        Some(unit)
    })
}

fn le(value: u64, bytes: u32) -> Vec<u8> {
    value.to_le_bytes().into_iter().take(bytes as usize).collect()
}

fn from_le(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_fall_into_what_registers_have() {
        let of = |offset, size| units(offset, size).collect::<Vec<_>>();
        assert_eq!(of(8, 4), [(8, 4)]);
        assert_eq!(of(4, 8), [(4, 8)]);
        assert_eq!(of(2, 2), [(2, 2)]);
        assert_eq!(of(1, 7), [(1, 1), (2, 2), (4, 4)]);
        assert_eq!(of(0, 12), [(0, 4), (4, 4), (8, 4)]);
        assert_eq!(of(3, 1), [(3, 1)]);
    }

    #[test]
    fn numbers_are_little_endian() {
        assert_eq!(le(0x0102_0304, 4), [4, 3, 2, 1]);
        assert_eq!(from_le(&[4, 3, 2, 1]), 0x0102_0304);
    }
}
