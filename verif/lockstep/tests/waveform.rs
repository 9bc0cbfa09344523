//! The waveform of a planted fault, read by another program's reader: both sides, one time base,
//! and the first difference.
#![cfg(feature = "rtl")]

use pollproof_lockstep::equivalence::block;
use pollproof_lockstep::plants::plant;
use pollproof_lockstep::run::{run, Options};
use std::path::Path;
use wellen::simple::Waveform;

/// A signal's changes: time in nanoseconds, value.
fn changes(wave: &mut Waveform, scope: &[&str], name: &str) -> Vec<(u64, u64)> {
    let var = wave.hierarchy().lookup_var(scope, name).unwrap_or_else(|| panic!("no {name}"));
    let signal = wave.hierarchy()[var].signal_ref();
    wave.load_signals(&[signal]);
    let value = |bits: &str| u64::from_str_radix(bits, 2).expect("bits");
    let signal = wave.get_signal(signal).expect("it was loaded");
    let all = signal.iter_changes();
    all.map(|(at, v)| (wave.time_table()[at as usize], value(&v.to_bit_string().expect("bits"))))
        .collect()
}

#[test]
fn a_waveform_shows_both_sides_and_where_they_differ_first() {
    // One that differs in what goes to the bus, one in the state.
    for (id, observable) in
        [("R-CQ-OWNER", "posted"), ("M-CQ-COUNT", "cq"), ("R-RX-ORDER", "posted")]
    {
        let fault = plant(id).expect("a plant");
        let block = block(fault.block).expect("a block");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{id}.vcd"));
        let wave = Some(file.clone());
        let options = Options { plant: Some(fault), wave, ..Options::default() };
        let found = run(block, &options).expect("the file").found.expect("a difference");
        let difference = found.difference;
        let about = difference.observable.expect("an observable");
        assert_eq!(about.name, observable, "{id}");
        let mut wave = wellen::simple::read(&file).expect("a waveform");
        let at_ns = difference.cycle * 10;
        let differs = changes(&mut wave, &["lockstep"], "differs");
        assert_eq!(differs, [(0, 0), (at_ns, 1)], "{id}");
        let (model, rtl) = (difference.model.expect("a value"), difference.rtl.expect("a value"));
        let mut apart = 0;
        for (n, field) in about.fields.iter().enumerate() {
            let name = field.replace([' ', '-'], "_");
            let mut last = |side: &str, value: u64| {
                let all = changes(&mut wave, &["lockstep", side, about.name], &name);
                assert_eq!(all.last().map(|change| change.1), Some(value), "{id} {side} {name}");
            };
            last("model", model[n]);
            last("rtl", rtl[n]);
            apart += usize::from(model[n] != rtl[n]);
        }
        assert_ne!(apart, 0, "{id}");
        // The model comes first, and shows each value once.
        let mut count = |side: &str| {
            let all = changes(&mut wave, &["lockstep", side, "posted"], "count");
            all.last().map_or(0, |change| change.1)
        };
        let (model, rtl) = (count("model"), count("rtl"));
        assert!(0 < rtl && rtl <= model && model < rtl + 8, "{id}: {model} {rtl}");
        // Pins and the model's events lie on the same time.
        let clock = changes(&mut wave, &["lockstep"], "clk");
        assert!(clock.len() as u64 >= 2 * difference.cycle, "{id}");
        let ready = changes(&mut wave, &["lockstep", "pins"], "wr_ready");
        assert!(ready.iter().all(|(ns, _)| ns % 10 == 0 && *ns <= at_ns), "{id}");
    }
}
