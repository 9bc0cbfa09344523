//! An atomic of loom or shuttle as a cell of sync. Both copy std's atomics but share no trait.
//!
//! The module that uses this has `me` (number of the running thread), `give_way` (lets others run),
//! and `unwinding`: calls of a thread that unwinds do nothing, since no engine can switch there.

macro_rules! atomic_cell {
    ($name:ident, $inner:ty, $word:ty) => {
        struct $name {
            cell: $inner,
            object: u32,
        }

        impl $name {
            fn note(&self, kind: &'static str, value: $word, at: Loc) {
                crate::run::step(me(), kind, self.object, u64::from(value), at);
            }
        }

        impl AtomicCell for $name {
            fn load(&self, order: Ordering, at: Loc) -> u64 {
                if unwinding() {
                    return 0;
                }
                let value = self.cell.load(order);
                self.note("load", value, at);
                u64::from(value)
            }
            fn store(&self, value: u64, order: Ordering, at: Loc) {
                if unwinding() {
                    return;
                }
                self.cell.store(value as $word, order);
                self.note("store", value as $word, at);
            }
            fn rmw(&self, op: RmwOp, operand: u64, order: Ordering, at: Loc) -> u64 {
                if unwinding() {
                    return 0;
                }
                let operand = operand as $word;
                let before = match op {
                    RmwOp::Swap => self.cell.swap(operand, order),
                    RmwOp::Add => self.cell.fetch_add(operand, order),
                    RmwOp::Sub => self.cell.fetch_sub(operand, order),
                    RmwOp::And => self.cell.fetch_and(operand, order),
                    RmwOp::Or => self.cell.fetch_or(operand, order),
                };
                self.note("rmw of", before, at);
                u64::from(before)
            }
            fn compare_exchange(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
                failure: Ordering,
                at: Loc,
            ) -> Result<u64, u64> {
                if unwinding() {
                    return Err(0);
                }
                let (current, new) = (current as $word, new as $word);
                let result = self.cell.compare_exchange(current, new, success, failure);
                match result {
                    Ok(_) => self.note("cas to", new, at),
                    Err(seen) => self.note("cas failed at", seen, at),
                }
                result.map(u64::from).map_err(u64::from)
            }
            fn update(
                &self,
                next: &mut dyn FnMut(u64) -> Option<u64>,
                order: Ordering,
                at: Loc,
            ) -> Result<u64, u64> {
                if unwinding() {
                    return Err(0);
                }
                let mut seen = self.cell.load(Ordering::Relaxed);
                while let Some(new) = next(u64::from(seen)) {
                    let new = new as $word;
                    match self.cell.compare_exchange(seen, new, order, Ordering::Relaxed) {
                        Ok(before) => {
                            self.note("update to", new, at);
                            return Ok(u64::from(before));
                        }
                        Err(value) => seen = value,
                    }
                }
                self.note("update refused", seen, at);
                Err(u64::from(seen))
            }
            fn wait(&self, ready: &dyn Fn(u64) -> bool, order: Ordering, at: Loc) -> u64 {
                loop {
                    if unwinding() {
                        return 0;
                    }
                    let value = self.cell.load(order);
                    if ready(u64::from(value)) {
                        self.note("wait", value, at);
                        return u64::from(value);
                    }
                    give_way();
                }
            }
        }
    };
}

pub(crate) use atomic_cell;
