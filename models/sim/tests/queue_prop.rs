//! Property: the queue behaves as a sorted list does.

use pollproof_sim::{EventQueue, QueueFull};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Push(u64, u32),
    Pop,
    Cancel(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..20u64, 0..3u32).prop_map(|(t, c)| Op::Push(t, c)),
        2 => Just(Op::Pop),
        1 => any::<usize>().prop_map(Op::Cancel),
    ]
}

proptest! {
    #[test]
    fn events_come_in_order_of_time_component_and_push(
        ops in prop::collection::vec(op(), 0..300)
    ) {
        const LIMIT: usize = 40;
        let mut queue = EventQueue::new(LIMIT);
        let mut list: Vec<(u64, u32, usize)> = Vec::new();
        let mut handles = Vec::new();
        for op in ops {
            match op {
                Op::Push(time, component) => {
                    let id = handles.len();
                    match queue.push(time, component, id) {
                        Ok(handle) => {
                            handles.push(handle);
                            list.push((time, component, id));
                            list.sort_unstable();
                        }
                        Err(full) => {
                            prop_assert_eq!(full, QueueFull { limit: LIMIT });
                            prop_assert_eq!(list.len(), LIMIT);
                        }
                    }
                }
                Op::Pop => {
                    let want = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(queue.pop(), want);
                }
                Op::Cancel(n) if !handles.is_empty() => {
                    let id = n % handles.len();
                    let at = list.iter().position(|e| e.2 == id);
                    let want = at.map(|at| list.remove(at).2);
                    prop_assert_eq!(queue.cancel(handles[id]), want);
                }
                Op::Cancel(_) => {}
            }
            prop_assert_eq!(queue.len(), list.len());
            prop_assert_eq!(queue.peek_time(), list.first().map(|e| e.0));
        }
    }
}

#[test]
fn a_timer_that_is_always_cancelled_does_not_fill_the_memory() {
    let mut queue = EventQueue::new(10);
    assert!(queue.push(5, 0, 0).is_ok());
    for n in 0..100_000 {
        let handle = queue.push(1_000_000 + n, 0, 1).expect("room");
        assert_eq!(queue.cancel(handle), Some(1));
    }
    assert_eq!((queue.len(), queue.pop()), (1, Some((5, 0, 0))));
}
