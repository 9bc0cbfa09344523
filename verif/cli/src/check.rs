//! `pollproof check`.

use crate::args::{CheckArgs, Engine, Format, LimitArgs, Profile};
use crate::linux_check::{self, LinuxCheck};
use crate::lockstep::{self, LockstepCheck};
use crate::progress::{thread_seconds, Progress};
use crate::{exit, run};
use pollproof_bench::run::{Limits, Run};
use pollproof_bench::scenario::EngineKind;
use pollproof_bench::Verdict;
use pollproof_bugs::check::{check as run_check, CheckReport, Engines, Selection, Status};
use pollproof_bugs::check::{Agreement, BugRow, QuestionRow};
use pollproof_bugs::scenarios::optimal;
use pollproof_bugs::token::token;
use pollproof_bugs::work::Surroundings;
use pollproof_report::{
    table, BugJson, CaptureJson, CheckJson, FindingView, QuestionJson, ScenarioJson, SummaryJson,
    SCHEMA_VERSION,
};
use std::sync::{Mutex, PoisonError};

/// Limits from the command line.
pub fn limits(args: &LimitArgs) -> Limits {
    let base = Limits::default();
    let factor = match args.profile {
        Profile::Smoke => 1,
        Profile::Pr => 10,
        Profile::Nightly => 100,
    };
    Limits {
        max_executions: args.max_executions.unwrap_or(base.max_executions * factor),
        samples: base.samples * factor,
        seed: args.seed,
        ..base
    }
}

/// Runs the check and prints it.
pub fn check(args: &CheckArgs, quiet: bool) -> anyhow::Result<u8> {
    let engines = match args.engine {
        None => Engines::Default,
        Some(Engine::All) => Engines::All,
        Some(Engine::Explore) => Engines::One(EngineKind::Explore),
        Some(Engine::Schedules) => Engines::One(EngineKind::Schedules),
        Some(Engine::Loom) => Engines::One(EngineKind::Loom),
        Some(Engine::Shuttle) => Engines::One(EngineKind::Shuttle),
    };
    let selection = Selection { filters: args.filters.clone(), engines };
    let limits = limits(&args.limits);
    let mut progress = Progress::new(quiet);
    let shown = Mutex::new(&mut progress);
    let tell = |what: &str| shown.lock().unwrap_or_else(PoisonError::into_inner).tell(what);
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or_else(processors, usize::from);
    let around = Surroundings { jobs, cpu_seconds: &thread_seconds, progress: &tell };
    let report = run_check(&selection, &limits, &around);
    let captures = run::committed_captures(&args.filters, args.limits.seed, &mut progress);
    let linux = linux_check::smoke(&args.filters);
    let rtl = lockstep::smoke(&args.filters, args.limits.seed);
    progress.done();
    let linux_status = linux.as_ref().and_then(|linux| linux.status);
    let rtl_status = rtl.as_ref().and_then(|rtl| rtl.status);
    let all = captures.iter().map(|c| c.status).chain(linux_status).chain(rtl_status);
    let status =
        all.fold(
            report.status(),
            |all, one| {
                if all == Status::NothingSelected {
                    one
                } else {
                    all.min(one)
                }
            },
        );
    let captures: Vec<CaptureJson> = captures.into_iter().map(|c| c.json).collect();
    match args.format {
        Format::Json => {
            outln!(
                "{}",
                serde_json::to_string_pretty(&json(&report, captures, linux, rtl, status))?
            )
        }
        Format::Text => print_text(&report, &captures, linux, rtl, status, &limits),
    }
    Ok(exit::of(status))
}

/// Classes of sequentially consistent interleavings: a measure for our explorer alone.
fn optimum(run: &Run) -> Option<u64> {
    optimal(run.scenario.id).filter(|_| run.engine == EngineKind::Explore)
}

fn label(verdict: &Verdict, run: &Run) -> String {
    match run.unreached.first() {
        Some((rule, point)) if run.found.is_none() => {
            format!("UNKNOWN (never reached: {rule} {point})")
        }
        _ => verdict.to_string(),
    }
}

fn with_bug(row: &BugRow) -> &'static str {
    match row.caught() {
        Some(true) => "caught",
        Some(false) => "MISSED",
        None => "not visible",
    }
}

fn without_bug(row: &BugRow) -> &'static str {
    match (&row.without.found, row.without.is_inconclusive()) {
        (Some(_), _) => "FALSE ALARM",
        (None, true) => "unknown",
        (None, false) => "clean",
    }
}

fn print_text(
    report: &CheckReport,
    captures: &[CaptureJson],
    linux: Option<LinuxCheck>,
    rtl: Option<LockstepCheck>,
    status: Status,
    limits: &Limits,
) {
    print_bugs(report);
    print_scenarios(report);
    for row in &report.questions {
        outln!("question {}: {}", row.question.id, answer(row));
        outln!("  {}", row.question.question);
        match (&row.replay, &row.run.found) {
            (Some(token), _) => outln!("  shown by: pollproof replay '{token}'"),
            (None, Some(found)) => outln!("  stopped by {}: {}", found.rule, found.message),
            (None, None) => outln!("  shown by: {}", label(&row.run.verdict, &row.run)),
        }
    }
    for c in captures {
        let found = c.finding.as_deref().unwrap_or("byte for byte, in order");
        let (id, nic) = (&c.id, c.nic);
        outln!(
            "capture {id} on {nic}: {} in, {} delivered, {} dropped: {found}",
            c.frames,
            c.delivered,
            c.dropped
        );
    }
    if let Some(linux) = linux {
        outln!("{}", linux.said);
    }
    if let Some(rtl) = rtl {
        outln!("{}", rtl.said);
    }
    print_unexpected(report, limits);
    if !report.bugs.is_empty() || !report.scenarios.is_empty() {
        print_summary(report);
        print_agreement(report);
    }
    outln!(
        "{}",
        match status {
            Status::Clean => "clean: everything that was selected came out as it should",
            Status::Findings => "findings: see above",
            Status::Inconclusive => "inconclusive: a limit was hit, or something was never reached",
            Status::NothingSelected => "nothing selected: see 'pollproof list'",
        }
    );
}

fn print_summary(report: &CheckReport) {
    let s = summary(report);
    outln!(
        "\n{} bugs: {} caught, {} missed, {} clean when fixed, {} false alarms; \
         {} scenarios: {} exhaustive, {} bounded, {} sampled, {} unknown",
        s.bugs,
        s.caught,
        s.missed,
        s.clean,
        s.false_alarms,
        s.scenarios,
        s.exhaustive,
        s.bounded,
        s.sampled,
        s.unknown
    );
}

fn print_agreement(report: &CheckReport) {
    let Agreement { compared, agree, differ } = report.agreement();
    if compared == 0 {
        return;
    }
    outln!("engines and memory models agree on {agree} of {compared} bugs and scenarios");
    for (id, engine, why) in differ {
        outln!("  {id} under {}, {}: {why}", engine.name(), engine.short_model());
    }
}

fn print_bugs(report: &CheckReport) {
    if report.bugs.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = report
        .bugs
        .iter()
        .map(|row| {
            let with = row.with.as_ref();
            vec![
                row.story.id.into(),
                row.story.rule.into(),
                row.engine.name().into(),
                row.engine.short_model().into(),
                with.map_or("-".into(), |r| r.executions.to_string()),
                with_bug(row).into(),
                without_bug(row).into(),
                format!(
                    "{} in {}",
                    label(&row.without.verdict, &row.without),
                    row.without.executions
                ),
            ]
        })
        .collect();
    let header =
        ["bug", "rule", "engine", "model", "runs", "with it", "without", "verdict without"];
    outln!("{}", table(&header, &rows));
}

fn print_scenarios(report: &CheckReport) {
    if report.scenarios.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = report
        .scenarios
        .iter()
        .map(|row| {
            let run = &row.run;
            vec![
                run.scenario.id.into(),
                run.engine.name().into(),
                run.engine.short_model().into(),
                run.scenario.threads.to_string(),
                run.executions.to_string(),
                optimum(run).map_or("-".into(), |n| n.to_string()),
                run.found.as_ref().map_or_else(|| label(&run.verdict, run), |f| f.rule.into()),
            ]
        })
        .collect();
    let header = ["scenario", "engine", "model", "threads", "runs", "optimum", "verdict"];
    outln!("{}", table(&header, &rows));
}

/// Findings where none should be, in full; those of documented bugs are told by `replay`.
fn print_unexpected(report: &CheckReport, limits: &Limits) {
    for row in &report.scenarios {
        if let Some(text) = finding_text(&row.run, "", limits) {
            outln!("\nin {} under {}:\n{text}", row.run.scenario.id, row.run.engine.name());
        }
    }
}

/// A run's finding as text.
pub fn finding_text(run: &Run, bug: &str, limits: &Limits) -> Option<String> {
    let found = run.found.as_ref()?;
    let replay = token(run, bug, limits).unwrap_or_else(|| "(no token)".into());
    let view = FindingView {
        rule: found.rule,
        message: &found.message,
        at: found.at,
        other: found.other,
        others: &found.others,
        records: &found.records,
        event: found.event,
        replay: &replay,
    };
    Some(view.render())
}

fn answer(row: &QuestionRow) -> &'static str {
    match row.answer() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "undecided",
    }
}

fn summary(report: &CheckReport) -> SummaryJson {
    let bugs =
        |wanted: &dyn Fn(&BugRow) -> bool| report.bugs.iter().filter(|r| wanted(r)).count() as u64;
    let mut s = SummaryJson {
        bugs: bugs(&|_| true),
        caught: bugs(&|r| r.caught() == Some(true)),
        missed: bugs(&|r| r.caught() == Some(false)),
        clean: bugs(&|r| r.without.is_clean()),
        false_alarms: bugs(&|r| r.without.found.is_some()),
        scenarios: report.scenarios.len() as u64,
        ..SummaryJson::default()
    };
    for row in &report.scenarios {
        let counter = match (&row.run.verdict, row.run.is_inconclusive()) {
            (_, true) | (Verdict::Unknown(_), _) => &mut s.unknown,
            (Verdict::Exhaustive, _) => &mut s.exhaustive,
            (Verdict::Bounded(_), _) => &mut s.bounded,
            (Verdict::Sampled { .. }, _) => &mut s.sampled,
        };
        *counter += 1;
    }
    s
}

fn json(
    report: &CheckReport,
    captures: Vec<CaptureJson>,
    linux: Option<LinuxCheck>,
    rtl: Option<LockstepCheck>,
    status: Status,
) -> CheckJson {
    CheckJson {
        schema_version: SCHEMA_VERSION,
        status: match status {
            Status::Clean => "clean",
            Status::Findings => "findings",
            Status::Inconclusive => "inconclusive",
            Status::NothingSelected => "nothing-selected",
        },
        summary: summary(report),
        bugs: report.bugs.iter().map(bug_json).collect(),
        scenarios: report
            .scenarios
            .iter()
            .map(|row| ScenarioJson {
                id: row.run.scenario.id,
                engine: row.run.engine.name(),
                memory_model: row.run.engine.memory_model(),
                threads: row.run.scenario.threads,
                verdict: label(&row.run.verdict, &row.run),
                executions: row.run.executions,
                optimal: optimum(&row.run),
                seconds: row.seconds,
                finding: row.run.found.as_ref().map(|f| format!("{}: {}", f.rule, f.message)),
            })
            .collect(),
        questions: report.questions.iter().map(question_json).collect(),
        captures,
        linux: linux.map(|linux| linux.said),
        lockstep: rtl.map(|rtl| rtl.said),
    }
}

fn bug_json(row: &BugRow) -> BugJson {
    BugJson {
        id: row.story.id,
        origin: row.story.origin,
        rule: row.story.rule,
        engine: row.engine.name(),
        caught: row.caught(),
        unseen: row.unseen,
        executions: row.with.as_ref().map_or(0, |r| r.executions),
        events: row.with.as_ref().map_or(0, |r| r.events),
        verdict_fixed: label(&row.without.verdict, &row.without),
        replay: row.replay.clone(),
    }
}

fn question_json(row: &QuestionRow) -> QuestionJson {
    QuestionJson {
        id: row.question.id,
        question: row.question.question,
        answer: answer(row),
        shown_by: row.replay.clone().unwrap_or_else(|| row.run.verdict.to_string()),
    }
}
