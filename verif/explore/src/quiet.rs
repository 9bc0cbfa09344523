//! Keeps panics of the program off stderr and remembers where they were.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic;
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics of this OS thread are not printed while this lives.
pub struct Scope(());

impl Scope {
    /// From here on; scopes nest.
    pub fn enter() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let outer = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if DEPTH.get() == 0 {
                    return outer(info);
                }
                let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
                PLACE.with(|p| *p.borrow_mut() = place.unwrap_or_default());
            }));
        });
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// The text of a caught panic, with its place.
pub fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message");
    let place = PLACE.with(|p| std::mem::take(&mut *p.borrow_mut()));
    if place.is_empty() {
        text.into()
    } else {
        format!("{text}, at {place}")
    }
}
