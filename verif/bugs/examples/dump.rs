//! Scratch.
use std::{cell::RefCell, rc::Rc};
fn main() {
    let id = std::env::args().nth(1).unwrap();
    let s = pollproof_bugs::scenarios::ALL.iter().find(|s| s.id == id).unwrap();
    let recs: Rc<RefCell<Vec<pollproof_events::Record>>> = Rc::default();
    let r2 = recs.clone();
    let cfg = pollproof_engines::Config { max_executions: 1, ..Default::default() };
    let o = pollproof_events::with_visitor(recs, || {
        pollproof_engines::check_explore(
            &cfg,
            s.body,
            Box::new(move |e| {
                for r in r2.borrow_mut().drain(..) {
                    println!(
                        "{:4} T{} c{} {:?} {}:{}",
                        r.step, r.thread, r.context.cpu, r.event, r.at.0, r.at.1
                    );
                }
                println!("complete {}", e.complete);
                None
            }),
        )
    });
    println!("{:?}", o.finding);
}
