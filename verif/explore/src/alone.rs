//! The first thread before it starts another: what it does is before all else, and so no step.

use crate::rt::with;
use crate::state::{Op, OpKind, State};
use crate::trace::Limit;

/// Whether an operation must be a step: not when it is enabled and the first thread has never had
/// company, since then it is before all that others will do.
pub(crate) fn with_company(op: &Op, probe: &mut dyn FnMut(u64) -> bool) -> bool {
    let value = with(|s| s.is_alone().then(|| s.objects.get(op.object as usize).map(|o| o.value)));
    let Some(Some(value)) = value else { return true };
    let enabled = match op.kind {
        OpKind::Read | OpKind::Write | OpKind::Cas(_) | OpKind::Update => true,
        OpKind::Wait => probe(value),
        OpKind::Lock => value == 0,
        _ => false,
    };
    if enabled && with(State::tick) {
        with(|s| s.limit = s.limit.or(Some(Limit::Steps)));
        return true;
    }
    !enabled
}
