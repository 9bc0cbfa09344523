//! Sockets that poll their queue themselves.

use super::echo::{every_echo, Burst};
use super::script::Script;
use super::{Case, Setting};

/// How the servers are to poll, a port each, and what is set before: for the whole machine or
/// interface.
const WAYS: &[(&str, &[&str])] = &[
    ("busy-us=50", &[]),
    ("busy-us=200 budget=8", &[]),
    (
        "busy-us=100 prefer budget=16",
        &[
            "write /sys/class/net/IFACE/napi_defer_hard_irqs 2",
            "write /sys/class/net/IFACE/gro_flush_timeout 200000",
        ],
    ),
    // What a socket has that sets nothing.
    ("", &["write /proc/sys/net/core/busy_read 50", "write /proc/sys/net/core/busy_poll 50"]),
];
const FIRST_PORT: u16 = 7000;

pub fn busy_poll(_: &Setting<'_>) -> Vec<Case> {
    let (mut script, mut phases) = (Script::up(&[]), Vec::new());
    let mut served = Vec::new();
    for (number, (way, settings)) in WAYS.iter().enumerate() {
        let port = FIRST_PORT + number as u16;
        script.lines(settings);
        script.line(format!("udp {port} {way}"));
        Burst { port, ..Burst::of(number) }.add(&mut script, &mut phases);
        served.push(script.line(format!("served udp {port}")));
    }
    let judge = move |report: &crate::run::RunReport| {
        let mut problems = every_echo(report);
        for line in &served {
            // A socket that knows no NAPI context cannot have polled one.
            let said = report.said(*line).find(|said| said.starts_with("served "));
            let knows = said.is_some_and(|said| said.split("napi=").nth(1).is_some_and(known));
            if !knows {
                problems.push(format!("script line {line}: no NAPI id: {}", said.unwrap_or("")));
            }
        }
        problems
    };
    vec![Case::new(script, phases, Box::new(judge))]
}

/// Whether a list of ids has one that is not 0.
fn known(ids: &str) -> bool {
    ids.split(',').any(|id| id.trim().parse::<u32>().is_ok_and(|id| id != 0))
}
