//! Schedules of shuttle as a token that can be printed and read: `2a:0x3.1.rx2` is the seed, three
//! steps of task 0, one of task 1 and two random numbers.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

/// Keeps the schedule of the present execution, which shuttle itself only prints.
pub(crate) struct Recorded {
    pub(crate) inner: Box<dyn Scheduler>,
    pub(crate) token: Rc<RefCell<Token>>,
}

/// A schedule as we print it: seed of the random data, then runs of tasks, `r` for random data.
#[derive(Default)]
pub(crate) struct Token {
    seed: u64,
    picks: Vec<Option<usize>>,
}

impl Scheduler for Recorded {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.inner.new_execution()?;
        let mut token = self.token.borrow_mut();
        token.seed = schedule.seed;
        token.picks.clear();
        Some(schedule)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yielding: bool,
    ) -> Option<TaskId> {
        let task = self.inner.next_task(runnable, current, yielding)?;
        self.token.borrow_mut().picks.push(Some(task.into()));
        Some(task)
    }

    fn next_u64(&mut self) -> u64 {
        self.token.borrow_mut().picks.push(None);
        self.inner.next_u64()
    }
}

impl Token {
    pub(crate) fn print(&self) -> String {
        let mut text = format!("{:x}:", self.seed);
        let mut rest = self.picks.as_slice();
        while let Some(&pick) = rest.first() {
            let run = rest.iter().take_while(|&&p| p == pick).count();
            let dot = if text.ends_with(':') { "" } else { "." };
            let what = pick.map_or("r".into(), |task| task.to_string());
            // Writing to a string cannot fail.
            let _ = match run {
                1 => write!(text, "{dot}{what}"),
                _ => write!(text, "{dot}{what}x{run}"),
            };
            rest = &rest[run..];
        }
        text
    }

    pub(crate) fn parse(token: &str) -> Result<Schedule, String> {
        const PICKS_MAX: usize = 1_000_000;
        let (seed, picks) = token.split_once(':').ok_or("no `:` after the seed")?;
        let seed = u64::from_str_radix(seed, 16).map_err(|_| format!("`{seed}` is no seed"))?;
        let mut schedule = Schedule::new(seed);
        for part in picks.split('.').filter(|p| !p.is_empty()) {
            let (what, run) = part.split_once('x').unwrap_or((part, "1"));
            let run: usize = run.parse().map_err(|_| format!("`{run}` is no count"))?;
            if run > PICKS_MAX - schedule.len().min(PICKS_MAX) {
                return Err(format!("more than {PICKS_MAX} picks"));
            }
            for _ in 0..run {
                match what {
                    "r" => schedule.push_random(),
                    task => {
                        let task = task.parse().map_err(|_| format!("`{task}` is no task"))?;
                        schedule.push_task(TaskId::from(task_below(task)?));
                    }
                }
            }
        }
        Ok(schedule)
    }
}

fn task_below(task: usize) -> Result<usize, String> {
    const TASKS_MAX: usize = 10_000;
    if task < TASKS_MAX {
        Ok(task)
    } else {
        Err(format!("task {task} is above {TASKS_MAX}"))
    }
}
