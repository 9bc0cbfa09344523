//! The life of a port: `ixgbe_probe`, `ixgbe_open`, `ixgbe_configure`, `ixgbe_up_complete`,
//! `ixgbe_down`, `ixgbe_reset`, `ixgbe_reinit_locked`, `ixgbe_close`, `ixgbe_remove` (6.12).

use crate::common::rxdctl;
use crate::hw::Hw;
use crate::rx_ring::RxRingState;
use crate::{
    state, Adapter, Core, Interrupts, IxgbeOptions, QVector, RxRing, TxRing, SERVICE_TIMER,
    SERVICE_WORK,
};
use pollproof_events::{emit, Event, PortState};
use pollproof_kapi::{Below, NoMemory};
use pollproof_netcore::Net;
use pollproof_regs::ixgbe::{ctrl_ext, eicr, fc, fctrl, hlreg0, queue, rdma, rxcsum, sec, tdma};
use pollproof_regs::ixgbe_map as map;
use pollproof_sync::{bug, cpu, AtomicU32};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

const MS: u64 = 1_000_000;
/// Transmit thresholds (`ixgbe_configure_tx_ring`): PTHRESH 32, HTHRESH 1; WTHRESH is 8 when
/// interrupts are moderated by 10 us or more, else 1.
const TXDCTL: u32 = 32 | 1 << queue::HTHRESH_SHIFT;
/// `IXGBE_100K_ITR`.
const ITR_100K: u32 = 40;
/// Header bytes, although no header is split (256, in units of 64): the part wants it for RSC.
const BSIZEHDR: u32 = 4 << 8;
/// Descriptor type of one buffer, advanced.
const DESCTYPE_ONEBUF: u32 = 1 << queue::DESCTYPE_SHIFT;

/// Why a port could not be brought up.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// No DMA memory.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
    /// The hardware does not do what it must.
    #[error("{0}")]
    Hardware(&'static str),
}

fn check(o: &IxgbeOptions) -> Result<(), OpenError> {
    if o.interrupts == Interrupts::Legacy && o.queues != 1 {
        return Err(OpenError::Options("a legacy interrupt serves one queue"));
    }
    if !(1..=16).contains(&o.queues) || !(1..=63).contains(&o.vectors) {
        return Err(OpenError::Options("1 to 16 queues, 1 to 63 vectors"));
    }
    let fits = |count: u32, min: u32| count.is_multiple_of(8) && (min..=8192).contains(&count);
    if !fits(o.rx_ring_count, 8) || !fits(o.tx_ring_count, 48) {
        return Err(OpenError::Options(
            "ring sizes: multiples of 8 from 8 (receive) or 48 (send) to 8192",
        ));
    }
    // One descriptor is never given to the device, and one is being filled.
    if !(1..o.rx_ring_count - 1).contains(&o.rx_buffer_write) {
        return Err(OpenError::Options("a refill is 1 descriptor or more, and less than the ring"));
    }
    if !(64..=9728).contains(&o.max_frame) || o.weight < 1 {
        return Err(OpenError::Options("frames of 64 to 9728 bytes, a weight of 1 or more"));
    }
    Ok(())
}

impl Adapter {
    /// `ixgbe_probe`: resets the device, checks its EEPROM, makes vectors and contexts. Sleeps.
    pub fn probe(
        options: IxgbeOptions,
        below: Below,
        net: Arc<Net>,
    ) -> Result<Arc<Self>, OpenError> {
        let adapter = Self::alloc(options, below, net)?;
        adapter.core.hw.reset_hw(&adapter.core.below, None)?;
        adapter.core.hw.validate_eeprom_checksum()?;
        let mac = adapter.core.hw.mac_addr();
        if adapter.core.hw.is_removed() || mac == [0; 6] || mac[0] & 1 != 0 {
            return Err(OpenError::Hardware("no valid address"));
        }
        adapter.core.hw.start_hw();
        adapter.with_vectors(mac)
    }

    /// As after [`Adapter::probe`] of a port with this address, without touching the device: for
    /// who starts with a device that was probed.
    pub fn attach(
        options: IxgbeOptions,
        below: Below,
        net: Arc<Net>,
        mac: [u8; 6],
    ) -> Result<Arc<Self>, OpenError> {
        Self::alloc(options, below, net)?.with_vectors(mac)
    }

    fn alloc(options: IxgbeOptions, below: Below, net: Arc<Net>) -> Result<Self, OpenError> {
        check(&options)?;
        let hw = Hw::new(below.clone(), options.port);
        let core = Arc::new(Core { options, below, net, hw, state: AtomicU32::new(state::DOWN) });
        let (q_vectors, mac) = (OnceLock::new(), OnceLock::new());
        Ok(Self { core, q_vectors, mac, hangs: AtomicU64::new(0) })
    }

    fn with_vectors(self, mac: [u8; 6]) -> Result<Arc<Self>, OpenError> {
        let _ = self.mac.set(mac);
        self.alloc_q_vectors()?;
        self.tell(PortState::Probed);
        Ok(Arc::new(self))
    }

    fn tell(&self, state: PortState) {
        emit(Event::Port { port: self.core.options.port, state });
    }

    /// `ixgbe_alloc_q_vectors`: rings are dealt out in turn.
    fn alloc_q_vectors(&self) -> Result<(), OpenError> {
        let (o, below) = (&self.core.options, &self.core.below);
        let vectors = o.vectors.min(o.queues);
        let mut all = Vec::new();
        for v_idx in 0..vectors {
            let (mut rx, mut tx) = (Vec::new(), Vec::new());
            for index in (v_idx..o.queues).step_by(vectors as usize) {
                rx.push(Arc::new(RxRing::setup(below, index, o.rx_ring_count)?));
                tx.push(Arc::new(TxRing::setup(below, index, o.tx_ring_count)?));
            }
            let q_vector = QVector::new(self.core.clone(), v_idx, rx, tx);
            let napi = self.core.net.netif_napi_add(q_vector.clone(), o.weight);
            self.core.net.napi_hash_add(&napi);
            let _ = q_vector.napi.set(napi);
            all.push(q_vector);
        }
        let _ = self.q_vectors.set(all);
        Ok(())
    }

    /// Queue vectors.
    pub fn q_vectors(&self) -> &[Arc<QVector>] {
        self.q_vectors.get().map_or(&[], Vec::as_slice)
    }

    /// Receive rings, by vector.
    pub fn rx_rings(&self) -> impl Iterator<Item = &Arc<RxRing>> {
        self.q_vectors().iter().flat_map(|q| &q.rx)
    }

    /// Transmit rings, by vector.
    pub fn tx_rings(&self) -> impl Iterator<Item = &Arc<TxRing>> {
        self.q_vectors().iter().flat_map(|q| &q.tx)
    }

    /// State of each receive ring, by queue; only when nothing runs.
    pub fn ring_states(&self) -> Vec<RxRingState> {
        let mut states: Vec<_> = self.rx_rings().map(|r| r.state()).collect();
        states.sort_by_key(|s| s.index);
        states
    }

    /// Whether the interface is up.
    pub fn is_up(&self) -> bool {
        !self.core.has(state::DOWN)
    }

    /// `netif_carrier_ok`.
    pub fn carrier_ok(&self) -> bool {
        self.core.has(state::CARRIER)
    }

    /// Whether the driver knows that the device is gone.
    pub fn is_removed(&self) -> bool {
        self.core.hw.is_removed()
    }

    /// Resets that a hang or a lost link asked for.
    pub fn timeout_resets(&self) -> u64 {
        self.hangs.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// `ixgbe_open`. Sleeps.
    pub fn open(self: &Arc<Self>) -> Result<(), OpenError> {
        self.configure()?;
        self.request_irqs();
        self.core.set(state::RUNNING);
        self.up_complete();
        Ok(())
    }

    /// `ixgbe_up`.
    pub fn up(&self) -> Result<(), OpenError> {
        self.configure()?;
        self.up_complete();
        Ok(())
    }

    /// `ixgbe_close`.
    pub fn close(&self) {
        self.core.clear(state::RUNNING);
        self.down();
        self.free_irqs();
    }

    /// `ixgbe_configure`: everything but interrupts.
    fn configure(&self) -> Result<(), OpenError> {
        let hw = &self.core.hw;
        let o = &self.core.options;
        let promiscuous = if o.promiscuous { fctrl::UPE | fctrl::MPE } else { 0 };
        hw.update(map::FCTRL, fctrl::SBP | fctrl::UPE | fctrl::MPE, promiscuous);
        hw.update(map::FCTRL, fctrl::BAM, fctrl::BAM);
        self.stop_rx_path();
        self.configure_tx()?;
        self.configure_rx()?;
        self.start_rx_path();
        for ring in self.rx_rings() {
            ring.alloc_rx_buffers(&self.core, ring.desc_unused());
        }
        Ok(())
    }

    /// `disable_rx_buff`: filters may change only while nothing passes.
    fn stop_rx_path(&self) {
        let hw = &self.core.hw;
        hw.update(map::SECRXCTRL, sec::DIS, sec::DIS);
        let _ = hw.poll(map::SECRXSTAT, sec::RDY, sec::RDY, 40, MS);
        hw.update(map::RXCTRL, rdma::RXEN, 0);
    }

    fn start_rx_path(&self) {
        let hw = &self.core.hw;
        hw.update(map::SECRXCTRL, sec::DIS, 0);
        hw.update(map::RXCTRL, rdma::RXEN, rdma::RXEN);
        hw.flush();
    }

    /// `ixgbe_configure_tx`: the arbiter stands while the grouping changes.
    fn configure_tx(&self) -> Result<(), OpenError> {
        let hw = &self.core.hw;
        hw.update(map::RTTDCS, tdma::ARBDIS, tdma::ARBDIS);
        hw.write(map::MTQC, 0);
        hw.update(map::RTTDCS, tdma::ARBDIS, 0);
        hw.update(map::DMATXCTL, tdma::TE, tdma::TE);
        self.tx_rings().try_for_each(|ring| self.configure_tx_ring(ring))
    }

    fn configure_tx_ring(&self, ring: &TxRing) -> Result<(), OpenError> {
        let hw = &self.core.hw;
        let q = 0x40 * ring.index;
        hw.write(map::TXDCTL + q, queue::SWFLSH);
        hw.flush();
        ring.begin(&self.core.below);
        hw.write(map::TDBAL + q, ring.desc as u32);
        hw.write(map::TDBAH + q, (ring.desc >> 32) as u32);
        hw.write(map::TDLEN + q, ring.count * 16);
        hw.write(map::TDH + q, 0);
        hw.write(map::TDT + q, 0);
        // Reports may wait for each other only if an interrupt's interval brings them in.
        let wthresh = match self.core.options.itr.start() {
            _ if bug("E-6") => 0,
            us if us < ITR_100K => 1,
            _ => 8,
        };
        hw.write(map::TXDCTL + q, TXDCTL | wthresh << queue::WTHRESH_SHIFT | queue::ENABLE);
        if hw.poll(map::TXDCTL + q, queue::ENABLE, queue::ENABLE, 10, MS) {
            return Ok(());
        }
        Err(OpenError::Hardware("a transmit queue is not enabled"))
    }

    /// `ixgbe_configure_rx`.
    fn configure_rx(&self) -> Result<(), OpenError> {
        let hw = &self.core.hw;
        hw.update(map::RDRXCTL, rdma::CRCSTRIP | rdma::RSCACKC, rdma::CRCSTRIP | rdma::RSCACKC);
        hw.update(map::RFCTL, rxcsum::RSC_DIS, rxcsum::RSC_DIS);
        self.setup_mrqc();
        if self.core.options.rx_pause {
            hw.update(map::MFLCN, fc::MFLCN_RFCE, fc::MFLCN_RFCE);
        }
        let max_frame = self.core.options.max_frame;
        hw.update(map::MAXFRS, 0xffff_0000, max_frame << 16);
        let jumbo = if max_frame > 1518 { hlreg0::JUMBOEN } else { 0 };
        hw.update(map::HLREG0, hlreg0::JUMBOEN, jumbo);
        self.rx_rings().try_for_each(|ring| self.configure_rx_ring(ring))
    }

    fn configure_rx_ring(&self, ring: &RxRing) -> Result<(), OpenError> {
        let hw = &self.core.hw;
        let q = 0x40 * ring.index;
        hw.update(rxdctl(ring.index), queue::ENABLE, 0);
        ring.begin();
        hw.write(map::RDBAL + q, ring.desc.addr() as u32);
        hw.write(map::RDBAH + q, (ring.desc.addr() >> 32) as u32);
        hw.write(map::RDLEN + q, ring.count * 16);
        hw.write(map::RDH + q, 0);
        hw.write(map::RDT + q, 0);
        hw.write(map::SRRCTL + q, self.srrctl());
        hw.update(rxdctl(ring.index), queue::ENABLE, queue::ENABLE);
        if hw.poll(rxdctl(ring.index), queue::ENABLE, queue::ENABLE, 10, MS) {
            return Ok(());
        }
        Err(OpenError::Hardware("a receive queue is not enabled"))
    }

    /// Size of a buffer, and `ixgbe_set_rx_drop_en`: with several queues a full one must not hold
    /// back the others, unless pause frames keep it from being full.
    fn srrctl(&self) -> u32 {
        let o = &self.core.options;
        let wants = o.queues > 1 && !o.tx_pause && !bug("E-11");
        let drop = if wants { queue::DROP_EN } else { 0 };
        let kb = (self.core.below.dma.buf_len() >> 10) as u32;
        kb & queue::BSIZEPACKET | BSIZEHDR | DESCTYPE_ONEBUF | drop
    }

    /// `ixgbe_up_complete`: contexts before interrupts, so that none finds a context disabled.
    fn up_complete(&self) {
        let hw = &self.core.hw;
        hw.update(map::CTRL_EXT, ctrl_ext::DRV_LOAD, ctrl_ext::DRV_LOAD);
        self.configure_irqs();
        self.core.clear(state::DOWN);
        for q_vector in self.q_vectors() {
            if let Some(lock) = &q_vector.lock {
                lock.enable();
            }
            if let Some(napi) = q_vector.napi.get() {
                self.core.net.napi_enable(napi);
            }
        }
        self.tell(PortState::Up);
        // Causes from before are nobody's.
        hw.read(map::EICR);
        self.irq_enable();
        self.core.set(state::NEED_LINK_UPDATE);
        // Its first turn comes now and kicks the queues: what came before their interrupts were
        // enabled is found.
        if !bug("C-21") {
            self.start_service_timer(0);
        }
    }

    /// `ixgbe_down`: device, interrupts and contexts stop in this order; then memory goes. Sleeps.
    pub fn down(&self) {
        cpu::might_sleep("ixgbe_down");
        if self.core.set(state::DOWN) {
            return;
        }
        self.core.clear(state::CARRIER);
        self.disable_rx();
        self.irq_disable();
        self.napi_disable_all();
        self.core.clear(state::RESET_REQUESTED | state::NEED_LINK_UPDATE);
        self.core.below.timer.cancel(SERVICE_TIMER);
        for ring in self.rx_rings() {
            emit(Event::RingStopped { ring: ring.index, cq: ring.index });
        }
        for ring in self.tx_rings() {
            self.core.hw.write(map::TXDCTL + 0x40 * ring.index, queue::SWFLSH);
        }
        self.core.hw.update(map::DMATXCTL, tdma::TE, 0);
        if !self.core.hw.is_removed() {
            self.tell(PortState::Down);
        }
        self.reset();
        self.tx_rings().for_each(|ring| ring.clean(&*self.core.below.dma));
        self.rx_rings().for_each(|ring| ring.clean(&self.core));
    }

    /// `ixgbe_disable_rx`: each queue says itself when it has stopped.
    fn disable_rx(&self) {
        let hw = &self.core.hw;
        hw.update(map::RXCTRL, rdma::RXEN, 0);
        for ring in self.rx_rings() {
            hw.update(rxdctl(ring.index), queue::ENABLE, 0);
        }
        for ring in self.rx_rings() {
            let _ = hw.poll(rxdctl(ring.index), queue::ENABLE, 0, 10, MS);
        }
    }

    /// `ixgbe_napi_disable_all`, and the busy-poll locks with it.
    fn napi_disable_all(&self) {
        if bug("B-1") {
            cpu::local_bh_disable();
        }
        for q_vector in self.q_vectors() {
            if let Some(napi) = q_vector.napi.get() {
                self.core.net.napi_disable(napi);
            }
            if let Some(lock) = &q_vector.lock {
                lock.disable();
            }
        }
        if bug("B-1") {
            cpu::local_bh_enable();
        }
    }

    /// `ixgbe_reset`: the device as after probe, with our address. Only while the port is down.
    pub fn reset(&self) {
        let hw = &self.core.hw;
        if hw.is_removed() {
            return;
        }
        let done = hw.reset_hw(&self.core.below, self.mac.get().copied());
        hw.start_hw();
        if done.is_ok() && !hw.is_removed() {
            self.tell(PortState::Reset);
        }
    }

    /// `ixgbe_reinit_locked`.
    pub fn reinit_locked(&self) {
        if self.core.set(state::RESETTING) {
            return;
        }
        self.down();
        // A device that is gone, or that does not come back, stays down.
        if !self.core.hw.is_removed() {
            let _ = self.up();
        }
        self.core.clear(state::RESETTING);
    }

    /// `ixgbe_remove`: the driver lets go of the device. Sleeps.
    pub fn remove(&self) {
        // Also when it is down already: its handlers are still there.
        if self.core.has(state::RUNNING) {
            self.close();
        }
        self.core.below.timer.cancel(SERVICE_WORK);
        self.core.hw.write(map::EIMC, eicr::ALL);
        self.core.hw.update(map::CTRL_EXT, ctrl_ext::DRV_LOAD, 0);
        for q_vector in self.q_vectors() {
            if let Some(napi) = q_vector.napi.get() {
                self.core.net.netif_napi_del(napi);
                self.core.net.napi_free(napi);
            }
            q_vector.rx.iter().for_each(|r| r.release());
            q_vector.tx.iter().for_each(|r| r.release(&self.core.below));
        }
    }
}
