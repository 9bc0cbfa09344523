//! Commands about one thing: list, explain, replay, explore, barriers, doctor, completions.

use crate::args::{Args, BarrierArgs};
use crate::check::{finding_text, limits};
use crate::exit;
use crate::progress::Progress;
use anyhow::{anyhow, bail};
use clap::CommandFactory;
use pollproof_bench::run::Limits;
use pollproof_bugs::barriers::sweep;
use pollproof_bugs::{questions, scenarios, stories, token};
use pollproof_linux::kernel::{self, Cache, Kind};
use pollproof_report::{lanes, table};
use pollproof_rules::CATALOGUE;

/// Everything that has an id.
pub fn list() -> u8 {
    let cell = |s: &str| s.to_string();
    let rows: Vec<_> = stories::ALL
        .iter()
        .map(|s| vec![cell(s.id), cell(s.rule), cell(s.scenario.id), cell(s.title)])
        .collect();
    outln!("{}", table(&["bug", "rule", "scenario", "what goes wrong"], &rows));
    let rows: Vec<_> = scenarios::ALL.iter().map(|s| vec![cell(s.id), cell(s.about)]).collect();
    outln!("{}", table(&["scenario", "what happens"], &rows));
    let rows: Vec<_> = questions::ALL.iter().map(|q| vec![cell(q.id), cell(q.question)]).collect();
    outln!("{}", table(&["question", ""], &rows));
    let rows: Vec<_> = CATALOGUE.iter().map(|r| vec![cell(r.id), cell(r.sentence)]).collect();
    out!("{}", table(&["rule", "what must hold"], &rows));
    exit::CLEAN
}

/// All that is known of an id.
pub fn explain(id: &str) -> anyhow::Result<u8> {
    let same = |other: &str| other.eq_ignore_ascii_case(id);
    if let Some(rule) = CATALOGUE.iter().find(|r| same(r.id)) {
        outln!("rule {}\n  {}\n", rule.id, rule.sentence);
        outln!("  source       {}\n  blind spots  {}", rule.source, rule.blind_spots);
        for point in rule.must_reach {
            outln!("  must reach   {point}");
        }
        let catches: Vec<_> =
            stories::ALL.iter().filter(|s| s.rule == rule.id).map(|s| s.id).collect();
        outln!("  catches      {}", catches.join(" "));
    } else if let Some(story) = stories::ALL.iter().find(|s| same(s.id)) {
        outln!("bug {}: {}\n\n  {}\n", story.id, story.title, story.story);
        outln!("  origin    {}\n  rule      {}", story.origin, story.rule);
        outln!("  scenario  {}: {}", story.scenario.id, story.scenario.about);
        outln!("  engine    {}", story.engine.name());
        for (engine, why) in story.unseen_by {
            outln!("  unseen by {}: {why}", engine.name());
        }
    } else if let Some(scenario) = token::scenario(id) {
        outln!("scenario {}\n  {}", scenario.id, scenario.about);
        outln!("  threads and agents, at most {}", scenario.threads);
        let engines: Vec<_> = scenario.engines.iter().map(|e| e.name()).collect();
        outln!("  engines     {}", engines.join(" "));
        for (rule, point) in scenario.must_reach {
            outln!("  must reach  {rule} {point}");
        }
    } else if let Some(question) = questions::ALL.iter().find(|q| same(q.id)) {
        let answer = if question.answer { "yes" } else { "no" };
        outln!("question {}\n  {}\n  answer    {answer}", question.id, question.question);
        outln!("  scenario  {}", question.scenario.id);
    } else {
        bail!("nothing has the id '{id}'; 'pollproof list' shows all");
    }
    Ok(exit::CLEAN)
}

/// Runs what a token names and shows all of it.
pub fn replay(text: &str) -> anyhow::Result<u8> {
    if crate::linux_explore::is_token(text) {
        return crate::linux_explore::replay(text);
    }
    if crate::lockstep::is_token(text) {
        return crate::lockstep::replay(text);
    }
    let (run, bug) = token::replay_token(text).map_err(|e| anyhow!("{e}"))?;
    let switched = if bug.is_empty() { String::new() } else { format!(" with bug {bug}") };
    outln!("replay {}{switched}", run.scenario.id);
    let Some(found) = &run.found else {
        outln!("nothing was found: {} in {} executions", run.verdict, run.executions);
        return Ok(exit::CLEAN);
    };
    if found.rule == "REPLAY" {
        bail!("the schedule does not fit this binary: {}", found.message);
    }
    for line in lanes(&found.records, None, usize::MAX) {
        outln!("  {line}");
    }
    if !found.trace.is_empty() {
        outln!("\nsteps: number, thread, operation, object, values, place");
        for line in &found.trace {
            outln!("{line}");
        }
    }
    outln!();
    out!("{}", finding_text(&run, bug, &Limits::default()).unwrap_or_default());
    Ok(exit::FINDINGS)
}

/// The sweep over barriers.
pub fn barriers(args: &BarrierArgs, quiet: bool) -> anyhow::Result<u8> {
    let mut progress = Progress::new(quiet);
    let rows = sweep(&args.path, &limits(&args.limits), &mut |what| progress.tell(what));
    progress.done();
    if rows.is_empty() {
        bail!("no scenario passes a barrier whose path has '{}' in it", args.path);
    }
    let cells: Vec<_> = rows
        .iter()
        .map(|row| {
            let (rule, scenario, engine) = match row.missed_by {
                Some((rule, scenario, engine)) => (rule, scenario, engine.short_model()),
                None => ("NOT MISSED", "", ""),
            };
            let site = format!("{}:{}", row.site.0, row.site.1);
            vec![site, rule.into(), scenario.into(), engine.into()]
        })
        .collect();
    out!("{}", table(&["taken out", "missed by", "in", "under"], &cells));
    let missed = rows.iter().filter(|r| r.missed_by.is_some()).count();
    outln!("\n{} sites, {missed} of them needed", rows.len());
    Ok(if missed == rows.len() { exit::CLEAN } else { exit::INCONCLUSIVE })
}

/// What this machine has.
pub fn doctor() -> u8 {
    outln!("pollproof {}", env!("CARGO_PKG_VERSION"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    outln!("cores     {cores}");
    outln!("engines   explore, loom, shuttle: built in");
    outln!("NICs      mlx4 on a ConnectX-3 model, ixgbe on an 82599 model");
    let cache = Cache::of_user();
    let built = |kind| cache.as_ref().and_then(|cache| kernel::find(cache, kind));
    for kind in Kind::ALL {
        match built(kind) {
            Some(built) => outln!("kernel    {}: Linux {}", kind.name(), built.version),
            None => outln!("kernel    {}: not built, see 'pollproof linux build'", kind.name()),
        }
    }
    let rtl = if pollproof_lockstep::BUILT_IN { "built in" } else { pollproof_lockstep::MISSING };
    outln!("lock-step {rtl}");
    outln!("verilator {}", verilator());
    outln!("not built sfc: not part of this version");
    exit::CLEAN
}

/// The Verilator of this machine.
fn verilator() -> String {
    let program = std::env::var_os("VERILATOR").unwrap_or_else(|| "verilator".into());
    let output = std::process::Command::new(program).arg("--version").output();
    match output.ok().filter(|output| output.status.success()) {
        Some(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        None => "missing: install the package verilator (apt-get install verilator), or set \
                 VERILATOR to the program; to build the RTL takes it and a C++ compiler"
            .to_owned(),
    }
}

/// Shell completions on standard output.
pub fn completions(shell: clap_complete::Shell) -> u8 {
    clap_complete::generate(shell, &mut Args::command(), "pollproof", &mut std::io::stdout());
    exit::CLEAN
}
