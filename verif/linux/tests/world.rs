//! What is below the kernel, without a kernel: order on the bus, removal, and what rules see.

use pollproof_events::{record, Event, Record};
use pollproof_intel_82599::{Intel82599, Params};
use pollproof_linux::command::Command;
use pollproof_linux::memory::SharedMemory;
use pollproof_linux::vhost::message::RegionEntry;
use pollproof_linux::world::{Act, Phase, Street, World, MARK_PORT};
use pollproof_pcie::GEN2_X8;
use pollproof_regs::ixgbe::{fctrl, gpie, pci, queue, rdma};
use pollproof_regs::ixgbe_map as map;
use pollproof_rules::Judge;
use rustix::fs::{memfd_create, MemfdFlags};
use std::fs::File;
use std::sync::Arc;

const US: u64 = 1_000_000;
const MS: u64 = 1000 * US;
const BYTES: u64 = 1 << 20;
const RING: u64 = 0x1000;
const BUFFERS: u64 = 0x10000;

/// A world with its memory, at a time.
struct Rig {
    world: World<Intel82599>,
    memory: SharedMemory,
    now_ps: u64,
}

impl Rig {
    /// A device behind a link with its latencies, memory enabled, under this plan of delays.
    fn new(plan: &str) -> Self {
        let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).expect("a memfd"));
        file.set_len(BYTES).expect("its size");
        let entry = RegionEntry { guest_addr: 0, size: BYTES, user_addr: 0, file_offset: 0 };
        let memory = SharedMemory::new(vec![(entry, file)]).expect("memory");
        let device = Intel82599::new(Params { msix_masked_at_reset: true, ..Params::zero() });
        let plan = plan.parse().expect("a plan");
        let world = World::new(device, Street::default(), plan, GEN2_X8);
        let mut rig = Self { world, memory, now_ps: MS };
        rig.config(4, &[6, 0]);
        rig.config(0x72, &[0, 0x80]);
        rig
    }

    fn command(&mut self, command: Command) -> Vec<u8> {
        self.world.command(&self.memory, &command, self.now_ps).expect("a command")
    }

    fn config(&mut self, offset: u64, data: &[u8]) {
        self.command(Command::ConfigWrite { offset, data: data.to_vec() });
    }

    fn write(&mut self, bar: u8, offset: u32, value: u32) {
        let data = value.to_le_bytes().to_vec();
        self.command(Command::Write { bar, offset: offset.into(), data });
    }

    fn set(&mut self, register: u32, value: u32) {
        self.write(0, register, value);
    }

    fn get(&mut self, register: u32) -> u32 {
        let bytes = self.command(Command::Read { bar: 0, offset: register.into(), size: 4 });
        u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
    }

    fn pass(&mut self, ps: u64) {
        self.now_ps += ps;
        self.world.advance(&self.memory, self.now_ps).expect("time passes");
    }

    fn frame(&mut self) {
        let mut bytes = vec![0xff; 60];
        bytes[12] = 0x88;
        self.world.street.send(self.now_ps, Arc::from(bytes));
    }

    /// A receive ring of 8 with one vector, as Linux sets it up.
    fn receive(&mut self) {
        self.set(map::FCTRL, fctrl::UPE | fctrl::MPE | fctrl::BAM);
        self.set(map::RDRXCTL, rdma::CRCSTRIP);
        self.set(map::GPIE, gpie::MSIX_MODE | gpie::OCD | gpie::EIAME | gpie::PBA_SUPPORT);
        self.set(map::IVAR, 0x80);
        self.set(map::EIAC, 0xffff);
        self.set(map::EIAM_EX, u32::MAX);
        for (at, value) in [(0, 0xa_0000), (4, 0), (8, 17), (12, 0)] {
            self.write(pci::BAR_MSIX, at, value);
        }
        self.set(map::EIMS_EX, 1);
        self.set(map::RDBAL, RING as u32);
        self.set(map::RDLEN, 128);
        self.set(map::SRRCTL, 2 | 4 << 8 | 1 << queue::DESCTYPE_SHIFT);
        self.set(map::RXDCTL, queue::ENABLE);
        while self.get(map::RXDCTL) & queue::ENABLE == 0 {
            self.pass(US);
        }
        for index in 0..7 {
            self.descriptor(index, BUFFERS + 0x800 * index);
        }
        self.set(map::RDT, 7);
        self.set(map::RXCTRL, rdma::RXEN);
        self.pass(MS);
    }

    fn descriptor(&self, index: u64, buffer: u64) {
        let bytes = [buffer.to_le_bytes(), [0; 8]].concat();
        self.memory.write(RING + 16 * index, &bytes).expect("memory");
    }

    /// Status of a descriptor as it lies in memory.
    fn status(&self, index: u64) -> u8 {
        let mut byte = [0];
        self.memory.read(RING + 16 * index + 8, &mut byte).expect("memory");
        byte[0]
    }
}

fn findings(records: &[Record]) -> Vec<&'static str> {
    Judge::of(records).findings().iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_register_write_is_posted_and_a_read_waits_for_it() {
    let mut rig = Rig::new("posted=5000");
    rig.set(map::FCTTV, 77);
    rig.pass(4 * US);
    assert_eq!(rig.world.nic.peek(map::FCTTV), 0, "on its way");
    assert_eq!(rig.get(map::FCTTV), 77);
    rig.set(map::FCTTV, 78);
    rig.pass(6 * US);
    assert_eq!(rig.world.nic.peek(map::FCTTV), 78);
}

#[test]
fn a_register_read_pushes_what_the_device_wrote_before() {
    let mut rig = Rig::new("dma-write=20000");
    rig.receive();
    rig.frame();
    rig.pass(5 * US);
    assert_eq!(rig.status(0) & 1, 0, "its write-back is on its way");
    rig.get(map::STATUS);
    assert_eq!(rig.status(0) & 1, 1);
}

#[test]
fn a_message_does_not_pass_what_it_tells_of() {
    let mut rig = Rig::new("dma-write=20000,msix=3000");
    rig.receive();
    rig.frame();
    let mut steps = 0;
    let message = loop {
        rig.pass(US);
        steps += 1;
        if let Some(message) = rig.world.take_message(rig.now_ps) {
            break message;
        }
        assert!(steps < 100, "a message comes");
    };
    assert_eq!((message.address, message.data), (0xa_0000, 17));
    assert!(steps > 22, "20 us for the write-back, then 3: {steps}");
    assert_eq!(rig.status(0) & 1, 1);
}

#[test]
fn a_function_that_may_not_master_holds_its_requests_back() {
    let mut rig = Rig::new("");
    rig.receive();
    rig.config(4, &[2, 0]);
    rig.frame();
    rig.pass(MS);
    assert_eq!((rig.status(0), rig.world.take_message(rig.now_ps)), (0, None));
    rig.config(4, &[6, 0]);
    rig.pass(MS);
    assert_eq!(rig.status(0) & 1, 1);
    assert!(rig.world.take_message(rig.now_ps).is_some());
}

#[test]
fn the_device_goes_on_while_the_cpu_computes() {
    let mut rig = Rig::new("cpu=2000");
    rig.receive();
    rig.frame();
    let before_ps = rig.world.now_ps();
    rig.get(map::STATUS);
    assert_eq!(rig.world.now_ps(), before_ps.max(rig.now_ps) + 2 * US);
    assert_eq!(rig.status(0) & 1, 1, "though the kernel's time stands still");
}

#[test]
fn a_function_that_leaves_reads_as_ones_and_writes_nothing() {
    let mut rig = Rig::new("");
    rig.receive();
    let phase = Phase { frames: Vec::new(), acts: vec![(0, Act::Remove)] };
    rig.world.street = Street::new(vec![phase], None);
    let mut mark = vec![0; 60];
    mark[12..15].copy_from_slice(&[8, 0, 0x45]);
    mark[23] = 17;
    mark[36..38].copy_from_slice(&MARK_PORT.to_be_bytes());
    let now_ps = rig.now_ps;
    let ((), records) = record(|| {
        let world = &mut rig.world;
        world.street.take(now_ps, mark, &mut world.timing);
        rig.frame();
        rig.pass(MS);
    });
    assert!(records.iter().any(|r| r.event == Event::FunctionRemoved));
    assert_eq!(rig.get(map::STATUS), u32::MAX);
    assert_eq!(rig.command(Command::ConfigRead { offset: 0, size: 4 }), [0xff; 4]);
    assert_eq!((rig.status(0), rig.world.take_message(rig.now_ps)), (0, None));
}

#[test]
fn a_removal_at_an_access_comes_at_that_access() {
    let mut rig = Rig::new("");
    rig.world.remove_at = Some(rig.world.accesses() + 2);
    assert_ne!(rig.get(map::STATUS), u32::MAX);
    assert_eq!(rig.get(map::STATUS), u32::MAX);
}

#[test]
fn rules_see_rings_buffers_and_addresses_of_a_driver_that_is_watched() {
    let good = |rig: &mut Rig| {
        rig.receive();
        rig.frame();
        rig.pass(MS);
        rig.descriptor(7, BUFFERS);
        rig.set(map::RDT, 0);
        rig.pass(MS);
    };
    let run = |body: &dyn Fn(&mut Rig)| {
        let mut rig = Rig::new("");
        findings(&record(|| body(&mut rig)).1)
    };
    assert_eq!(run(&good), [""; 0]);
    let twice = |rig: &mut Rig| {
        rig.receive();
        rig.frame();
        rig.pass(MS);
        // The buffer of descriptor 3 is posted again, only that of 0 came back.
        rig.descriptor(7, BUFFERS + 0x800 * 3);
        rig.set(map::RDT, 0);
    };
    assert_eq!(run(&twice), ["BUFFER-OWNERSHIP"], "a buffer");
    let over = |rig: &mut Rig| {
        rig.receive();
        rig.descriptor(7, BUFFERS + 0x800 * 7);
        // All eight descriptors: tail and head meet.
        rig.set(map::RDT, 0);
    };
    assert_eq!(run(&over), ["RING-TAIL"], "a tail");
    let outside = |rig: &mut Rig| {
        rig.receive();
        rig.frame();
        rig.descriptor(0, 0xdead_0000);
        rig.set(map::RXDCTL, 0);
        rig.pass(MS);
        rig.set(map::RDH, 0);
        rig.set(map::RDT, 0);
        rig.set(map::RXDCTL, queue::ENABLE);
        while rig.get(map::RXDCTL) & queue::ENABLE == 0 {
            rig.pass(US);
        }
        rig.descriptor(0, 0xdead_0000);
        rig.set(map::RDT, 1);
        rig.frame();
        rig.pass(MS);
    };
    assert_eq!(run(&outside), ["BUFFER-OWNERSHIP"], "an address");
}
