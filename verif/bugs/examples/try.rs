//! Scratch.
use pollproof_bench::run::*;
use pollproof_bench::scenario::*;
fn main() {
    let eng = match std::env::var("E").as_deref() {
        Ok("loom") => EngineKind::Loom,
        Ok("shuttle") => EngineKind::Shuttle,
        _ => EngineKind::Explore,
    };
    let f: Vec<String> = std::env::args().skip(1).collect();
    let limits = Limits { max_executions: 200_000, ..Limits::default() };
    for s in pollproof_bugs::scenarios::ALL {
        if !f.is_empty() && !f.iter().any(|x| s.id.contains(x.as_str())) {
            continue;
        }
        if !s.engines.contains(&eng) {
            continue;
        }
        let t = std::time::Instant::now();
        let r = run(s, eng, Change::default(), &limits);
        println!(
            "{:28} {:?} exec {} blocked {} events {} {} unreached {:?} {:.2}s",
            s.id,
            r.found.as_ref().map(|f| (f.rule, f.message.clone(), f.at, f.others.len())),
            r.executions,
            r.blocked,
            r.events,
            r.verdict,
            r.unreached,
            t.elapsed().as_secs_f64()
        );
        if let (Some(x), true) = (&r.found, std::env::var("V").is_ok()) {
            for t in &x.trace {
                println!("{t}");
            }
            for r in &x.records {
                println!(
                    "  {} T{} c{} {:?} {}:{}",
                    r.step, r.thread, r.context.cpu, r.event, r.at.0, r.at.1
                );
            }
        }
    }
    for s in pollproof_bugs::stories::ALL {
        if !f.is_empty() && !f.iter().any(|x| s.id.to_lowercase().contains(x.as_str())) {
            continue;
        }
        let t = std::time::Instant::now();
        let r = run(
            s.scenario,
            if std::env::var("E").is_ok() { eng } else { s.engine },
            Change { bug: s.id, site: None },
            &limits,
        );
        println!(
            "{:14} {} {} want {} got {:?} exec {} {:.2}s",
            s.id,
            s.scenario.id,
            r.breaks(s.rule),
            s.rule,
            r.found.as_ref().map(|f| (f.rule, f.message.clone(), f.at)),
            r.executions,
            t.elapsed().as_secs_f64()
        );
        if let (Some(x), true) = (&r.found, std::env::var("V").is_ok()) {
            for t in &x.trace {
                println!("{t}");
            }
            for r in &x.records {
                println!(
                    "  {} T{} c{} {:?} {}:{}",
                    r.step, r.thread, r.context.cpu, r.event, r.at.0, r.at.1
                );
            }
        }
    }
}
