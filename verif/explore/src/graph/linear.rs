//! A graph told as a sequence of steps: one order in which all could have happened, with as few
//! switches of thread as a simple choice gives. Where values may be stale, reads can come after the
//! writes that they do not see; those are marked.

use super::bits::Bits;
use super::item::{Kind, INIT};
use super::search::Search;
use crate::clock::{Clock, MAX_THREADS};
use crate::schedule::{Pick, Schedule};
use crate::trace::{Race, Step, StepKind, Tell, Told};

/// Events of an operation: its last, and the read of a read-modify-write.
struct Line<'a, 'b, const W: usize> {
    search: &'a Search<'b, W>,
    /// Operations told of each thread, and the events of all of them.
    next: Vec<usize>,
    told: Bits<W>,
    /// Operations in order: thread and number.
    order: Vec<(usize, usize)>,
    picks: Vec<Pick>,
}

impl<const W: usize> Tell for Search<'_, W> {
    fn has_races(&self) -> bool {
        !self.world.races.is_empty()
    }

    fn token(&self) -> Option<String> {
        let weak = self.g.model != super::Model::Sc;
        weak.then(|| super::token::print(self.g.model, self.config.plain_locks, self.g.all()))
    }

    fn tell(&self) -> Told {
        let mut line = Line {
            search: self,
            next: vec![0; self.world.slots.len()],
            told: Bits::EMPTY,
            order: Vec::new(),
            picks: Vec::new(),
        };
        let preemptions = line.draw();
        line.tell(preemptions)
    }
}

impl<const W: usize> Line<'_, '_, W> {
    fn draw(&mut self) -> u32 {
        let mut preemptions = 0;
        self.run_ahead(0);
        let mut last = 0;
        loop {
            let exact = self.pick(last, true);
            let Some(thread) = exact.or_else(|| self.pick(last, false)) else {
                return preemptions;
            };
            if thread != last && self.could_go_on(last) {
                preemptions += 1;
            }
            last = thread;
            self.emit(thread);
            self.picks.push(Pick::Thread(thread as u8));
            self.run_ahead(thread);
        }
    }

    fn pick(&self, last: usize, exact: bool) -> Option<usize> {
        let threads = std::iter::once(last).chain(0..self.next.len());
        threads.into_iter().find(|&t| self.is_ready(t, exact))
    }

    fn could_go_on(&self, thread: usize) -> bool {
        let done = self.search.world.slots[thread].done.get(self.next[thread]);
        done.is_some_and(|d| {
            !matches!(d.kind, StepKind::Lock | StepKind::Wait | StepKind::Join | StepKind::Rest)
        })
    }

    fn is_born(&self, thread: usize) -> bool {
        let slot = &self.search.world.slots[thread];
        let (parent, after) = slot.birth;
        slot.born && (thread == 0 || self.next[parent] >= after && self.is_born(parent))
    }

    fn is_ready(&self, thread: usize, exact: bool) -> bool {
        let slot = &self.search.world.slots[thread];
        let Some(done) = slot.done.get(self.next[thread]) else { return false };
        if !self.is_born(thread) {
            return false;
        }
        let Some(e) = done.event else {
            let other = done.object as usize;
            return self.next[other] == self.search.world.slots[other].done.len();
        };
        let e = e as usize;
        let before = self.before(e, exact);
        (before & !self.told & !self.mine(thread, e)).is_empty()
    }

    /// Events of the operation that ends with `e`.
    fn mine(&self, thread: usize, e: usize) -> Bits<W> {
        let g = &self.search.g;
        let mut mine = Bits::one(e);
        match g.packed[e].kind {
            Kind::RmwWrite => mine.set(g.read_of(e)),
            Kind::Grant => {
                let f = (0..e).rev().find(|&r| {
                    g.packed[r].thread as usize == thread && g.packed[r].kind == Kind::Request
                });
                f.into_iter().for_each(|r| mine.set(r));
            }
            _ => {}
        }
        mine
    }

    fn before(&self, e: usize, exact: bool) -> Bits<W> {
        let g = &self.search.g;
        if g.model == super::Model::Sc {
            return g.anc[e];
        }
        let mut before = g.porf[e];
        let p = g.packed[e];
        if exact && matches!(p.kind, Kind::Write | Kind::RmwWrite) {
            before |= g.before_write(p.loc, p.pos as usize);
        }
        before
    }

    fn emit(&mut self, thread: usize) {
        let at = self.next[thread];
        if let Some(e) = self.search.world.slots[thread].done[at].event {
            let mine = self.mine(thread, e as usize);
            self.told |= mine;
        }
        self.next[thread] += 1;
        self.order.push((thread, at));
    }

    /// Choices are made on the way to the next step; then the threads run that were started there.
    fn run_ahead(&mut self, thread: usize) {
        let slots = &self.search.world.slots;
        let from = self.next[thread];
        while let Some(done) = slots[thread].done.get(self.next[thread]) {
            if done.kind != StepKind::Choose {
                break;
            }
            self.picks.push(Pick::Choice(done.before as u16));
            self.emit(thread);
        }
        let born = from..=self.next[thread];
        for (child, slot) in slots.iter().enumerate().skip(1) {
            let (parent, after) = slot.birth;
            if slot.born && parent == thread && born.contains(&after) {
                self.run_ahead(child);
            }
        }
    }

    fn tell(self, preemptions: u32) -> Told {
        let g = &self.search.g;
        let slots = &self.search.world.slots;
        let mut step_of = vec![None; g.len()];
        let mut order: Vec<Vec<u64>> = slots.iter().map(|_| vec![0]).collect();
        let mut steps: Vec<Step> = Vec::new();
        for &(thread, at) in &self.order {
            let done = &slots[thread].done[at];
            if let Some(e) = done.event {
                let index = steps.len() as u32;
                self.mine(thread, e as usize).iter().for_each(|m| step_of[m] = Some(index));
            }
            steps.push(self.step(thread, at, &step_of));
            order[thread].push(steps.len() as u64);
        }
        // What a thread does before its first operation follows what started it.
        for (child, slot) in slots.iter().enumerate().skip(1).filter(|(_, s)| s.born) {
            let (parent, after) = slot.birth;
            order[child][0] = order[parent].get(after).copied().unwrap_or(0);
        }
        let mut newest: Vec<(u16, u32)> = Vec::new();
        for (i, &(thread, at)) in self.order.iter().enumerate() {
            let done = &slots[thread].done[at];
            if let (Some(source), Some(&(_, w))) =
                (steps[i].reads_from, newest.iter().find(|n| n.0 == done.object))
            {
                steps[i].stale = source != Some(w) && done.kind != StepKind::Lock;
            }
            if steps[i].position > 0 {
                newest.retain(|n| n.0 != done.object);
                newest.push((done.object, i as u32));
            }
        }
        let races = self.races(&order);
        Told { steps, races, schedule: Schedule(self.picks), preemptions, order }
    }

    fn step(&self, thread: usize, at: usize, step_of: &[Option<u32>]) -> Step {
        let g = &self.search.g;
        let done = self.search.world.slots[thread].done[at];
        let mut reads_from = None;
        let mut position = 0;
        if let Some(e) = done.event {
            for m in self.mine(thread, e as usize).iter() {
                let p = g.packed[m];
                let source = match p.kind {
                    Kind::Request if p.rf != INIT => Some(g.unlock[p.rf as usize]),
                    Kind::Request | Kind::Read => Some(p.rf),
                    _ => None,
                };
                if let Some(source) = source {
                    reads_from = Some(match source {
                        INIT => None,
                        s => step_of[s as usize],
                    });
                }
                if matches!(p.kind, Kind::Write | Kind::RmwWrite) {
                    position = p.pos.into();
                }
            }
        }
        Step {
            thread,
            kind: done.kind,
            object: match done.kind {
                StepKind::Join => done.object.into(),
                StepKind::Fence | StepKind::Rest | StepKind::Choose => 0,
                _ => number_of(done.object),
            },
            before: done.before,
            after: done.after,
            at: done.at,
            reads_from,
            position,
            stale: false,
            num: at as u32 + 1,
            clock: Clock::ZERO,
            prev: 0,
            prev_write: 0,
        }
    }

    fn races(&self, order: &[Vec<u64>]) -> Vec<Race> {
        let place = |stamp: u64| {
            let (thread, done) = ((stamp >> 24) as usize, (stamp & 0xff_ffff) as usize);
            order.get(thread).and_then(|o| o.get(done)).copied().unwrap_or(0)
        };
        let mut races = self.search.world.races.clone();
        for race in &mut races {
            race.first.step = place(race.first.step);
            race.second.step = place(race.second.step);
            if race.first.step > race.second.step {
                std::mem::swap(&mut race.first, &mut race.second);
            }
        }
        races
    }
}

/// How an object is shown: in the order in which the first thread made them, then those of others.
pub(super) fn number_of(loc: u16) -> u32 {
    let (thread, nth) = (usize::from(loc) % MAX_THREADS, usize::from(loc) / MAX_THREADS);
    (thread * 1000 * usize::from(thread > 0) + nth) as u32
}
