//! The memory models, by their definitions: what makes an execution graph consistent.
//!
//! An update (read-modify-write) is one event that reads and writes. Atomicity then says that no
//! write comes between its source and itself, and the release sequence of RC11 is that of C++20:
//! the write and the updates that read from it in a chain, without later stores of its thread.
//! That `po u rf` is acyclic, which RC11 demands and the others imply here, holds by construction.

use super::graph::{Event, Graph, Kind, Name};
use super::program::Order;
use super::rel::{Rel, Set};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Sequential consistency.
    Sc,
    /// x86: Owens, Sarkar and Sewell, TPHOLs 2009, in the form of x86tso.cat of herd.
    Tso,
    /// Release/acquire: Lahav, Giannarakis and Vafeiadis, POPL 2016, with the fences of RC11.
    Ra,
    /// Lahav, Vafeiadis, Kang, Hur and Dreyer, "Repairing sequential consistency in C/C++11",
    /// PLDI 2017.
    Rc11,
}

pub const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Ra, Model::Rc11];

/// The events of a graph, numbered: initial writes first; and the basic relations.
struct View<'a> {
    size: usize,
    /// Nobody for an initial write.
    events: Vec<Option<&'a Event>>,
    po: Rel,
    rf: Rel,
    co: Rel,
    fr: Rel,
    /// Memory events of one atomic or lock.
    same_loc: Rel,
    /// Events of one thread; initial writes belong to none.
    same_thread: Rel,
}

pub fn consistent(model: Model, graph: &Graph) -> bool {
    let view = View::new(graph);
    match model {
        Model::Sc => view.sc(),
        Model::Tso => view.tso(),
        Model::Ra => view.rc11(&in_ra),
        Model::Rc11 => view.rc11(&|e| e.order),
    }
}

/// In RA every write releases and every read acquires, whatever was asked, and there are no SC
/// accesses; an unordered store stays the relaxed one that it is.
fn in_ra(event: &Event) -> Order {
    match event.kind {
        Kind::Read => Order::Acquire,
        Kind::Update => Order::AcqRel,
        Kind::Write if event.unord => Order::Relaxed,
        Kind::Write => Order::Release,
        _ => event.order,
    }
}

/// Cells with two accesses, one a write, that happens-before of C11 leaves unordered. By the orders
/// that were asked for, whatever the model.
pub fn races(graph: &Graph) -> Vec<u8> {
    let view = View::new(graph);
    let hb = view.happens_before(&|e| e.order);
    let plain = |i: usize| match view.events[i] {
        Some(Event { kind: Kind::Plain(write), loc, .. }) => Some((*loc, *write)),
        _ => None,
    };
    let mut cells = Vec::new();
    for (a, b) in (0..view.size).flat_map(|a| (0..a).map(move |b| (a, b))) {
        if let (Some((cell, first)), Some((other, second))) = (plain(a), plain(b)) {
            if cell == other && (first || second) && !hb.has(a, b) && !hb.has(b, a) {
                cells.push(cell);
            }
        }
    }
    cells
}

impl<'a> View<'a> {
    fn new(graph: &'a Graph) -> Self {
        let inits = graph.co.len();
        let mut start = vec![inits];
        for events in &graph.threads {
            start.push(start[start.len() - 1] + events.len());
        }
        let mut events = vec![None; inits];
        events.extend(graph.threads.iter().flatten().map(Some));
        let none = Rel::empty(events.len());
        let (po, rf, co, fr, same_loc, same_thread) = (none, none, none, none, none, none);
        let mut view = Self { size: events.len(), events, po, rf, co, fr, same_loc, same_thread };
        for thread in start.windows(2) {
            view.add_thread(inits, thread[0]..thread[1]);
        }
        view.add_memory(graph, &|(t, i)| start[usize::from(t)] + usize::from(i));
        view
    }

    fn add_thread(&mut self, inits: usize, thread: Range<usize>) {
        for a in thread.clone() {
            (0..inits).chain(thread.start..a).for_each(|b| self.po.add(b, a));
            thread.clone().for_each(|b| self.same_thread.add(a, b));
        }
    }

    fn add_memory(&mut self, graph: &Graph, number: &dyn Fn(Name) -> usize) {
        for a in 0..self.size {
            if let Some(e) = self.events[a].filter(|e| e.kind.reads()) {
                self.rf.add(e.source.map_or(usize::from(e.loc), number), a);
            }
            for b in 0..self.size {
                if self.loc(a).is_some() && self.loc(a) == self.loc(b) {
                    self.same_loc.add(a, b);
                }
            }
        }
        for (init, writes) in graph.co.iter().enumerate() {
            let order: Vec<_> =
                std::iter::once(init).chain(writes.iter().map(|&w| number(w))).collect();
            for (i, &later) in order.iter().enumerate() {
                order[..i].iter().for_each(|&earlier| self.co.add(earlier, later));
            }
        }
        // An update does not read before itself.
        let same = Rel::identity(self.size, Set::MAX);
        self.fr = self.rf.inverse().then(self.co).minus(same);
    }

    /// Location of a memory event.
    fn loc(&self, a: usize) -> Option<usize> {
        match self.events[a] {
            None => Some(a),
            Some(e) if e.kind.reads() || e.kind.writes() => Some(usize::from(e.loc)),
            Some(_) => None,
        }
    }

    /// Events, other than initial writes, of which something holds.
    fn set(&self, holds: impl Fn(&Event) -> bool) -> Set {
        let all = (0..self.size).filter(|&a| self.events[a].is_some_and(&holds));
        all.fold(0, |set, a| set | 1 << a)
    }

    /// Accesses, initial writes included, that write.
    fn writes(&self) -> Set {
        let inits = (0..self.size).filter(|&a| self.events[a].is_none());
        inits.fold(self.set(|e| e.kind.writes()), |set, a| set | 1 << a)
    }

    fn atomic(&self) -> bool {
        self.fr.then(self.co).irreflexive()
    }

    fn sc(&self) -> bool {
        self.atomic() && self.po.or(self.rf).or(self.co).or(self.fr).acyclic()
    }

    /// `acyclic(ppo u fences u rfe u co u fr)`, and coherence of each location.
    fn tso(&self) -> bool {
        let per_loc = self.po.and(self.same_loc);
        let coherent = per_loc.or(self.rf).or(self.co).or(self.fr).acyclic();
        let external = self.rf.minus(self.same_thread);
        let order = self.tso_po().or(external).or(self.co).or(self.fr);
        self.atomic() && coherent && order.acyclic()
    }

    /// Program order that x86 keeps: not from a store to a later load, and not from a store to a
    /// later unordered store (relaxed-ordering DMA, write combining) of another location; but
    /// everything around a full fence, a locked instruction and a SeqCst store, which is an `xchg`.
    ///
    /// A failed compare-exchange is a load: on x86 it is locked still, but the kernel promises no
    /// order for it. Acquire and release fences are no instructions on x86.
    fn tso_po(&self) -> Rel {
        let full = self.set(|e| match e.kind {
            Kind::Update => true,
            Kind::Fence | Kind::Write => e.order == Order::SeqCst,
            _ => false,
        });
        let reads = self.set(|e| e.kind == Kind::Read);
        let stores = self.writes();
        let unordered = self.set(|e| e.unord);
        let from_read = self.po.from(reads).to(reads | stores);
        let between_stores = self.po.from(stores).to(stores);
        let passed = between_stores.to(unordered).minus(self.same_loc);
        let around = self.po.from(full).or(self.po.to(full));
        from_read.or(between_stores.minus(passed)).or(around)
    }

    /// Orders of an event decide about `sw`; initial writes happen before all.
    fn happens_before(&self, order: &dyn Fn(&Event) -> Order) -> Rel {
        let fences =
            |holds: fn(Order) -> bool| self.set(|e| e.kind == Kind::Fence && holds(order(e)));
        let strong = |kind: fn(Kind) -> bool, holds: fn(Order) -> bool| {
            Rel::identity(self.size, self.set(|e| kind(e.kind) && holds(order(e))))
        };
        let (reads, writes) = (self.set(|e| e.kind.reads()), self.set(|e| e.kind.writes()));
        let updates = self.set(|e| e.kind == Kind::Update);
        let sequence = self.rf.to(updates).closure().or_same();
        let release = strong(Kind::writes, Order::releases)
            .or(self.po.from(fences(Order::releases)).to(writes));
        let acquire = strong(Kind::reads, Order::acquires)
            .or(self.po.from(reads).to(fences(Order::acquires)));
        let sw = release.then(sequence).then(self.rf).then(acquire);
        self.po.or(sw).closure()
    }

    fn rc11(&self, order: &dyn Fn(&Event) -> Order) -> bool {
        let hb = self.happens_before(order);
        let com = self.rf.or(self.co).or(self.fr);
        let eco = com.closure();
        let coherent = eco.irreflexive() && hb.irreflexive() && hb.then(eco).irreflexive();
        coherent && self.atomic() && self.psc(order, hb, eco).acyclic()
    }

    /// `psc_base u psc_F` of the paper. Plain accesses and choices are left out: they are no events
    /// to the engine.
    fn psc(&self, order: &dyn Fn(&Event) -> Order, hb: Rel, eco: Rel) -> Rel {
        let sc = self.set(|e| e.kind != Kind::Choice && order(e) == Order::SeqCst);
        if sc == 0 {
            return Rel::empty(self.size);
        }
        let real = self.set(|e| !matches!(e.kind, Kind::Plain(_) | Kind::Choice));
        let sc_fences = self.set(|e| e.kind == Kind::Fence) & sc;
        let other_loc = self.po.from(real).to(real).minus(self.same_loc);
        let scb = self
            .po
            .or(other_loc.then(hb).then(other_loc))
            .or(hb.and(self.same_loc))
            .or(self.co)
            .or(self.fr);
        let events = Rel::identity(self.size, sc);
        let left = events.or(hb.or_same().from(sc_fences));
        let right = events.or(hb.or_same().to(sc_fences));
        let base = left.then(scb).then(right);
        let between_fences = hb.or(hb.then(eco).then(hb)).from(sc_fences).to(sc_fences);
        base.or(between_fences)
    }
}
