//! `pollproof figures`: published figures beside what the models give, as tables, JSON and plots.

use crate::args::{FiguresArgs, Format};
use crate::exit;
use crate::progress::Progress;
use anyhow::Context;
use pollproof_figures::fq::{self, QueueRow, PUBLISHED_AFTER, PUBLISHED_BEFORE};
use pollproof_figures::load::{Load, Sent};
use pollproof_figures::nic::OnNic;
use pollproof_figures::svg::{Plot, Series};
use pollproof_report::{table, FigureJson, FiguresJson, SCHEMA_VERSION};
use pollproof_sched::WatchdogForm;
use std::path::Path;

const SOURCE: &str = "net_sched: allow use of hrtimer slack, March 2020, patch 3";
/// Queues of the sweep over slacks and of the forms.
const SOME: u64 = 4;

/// All that is simulated.
struct Fq {
    queues: Vec<QueueRow>,
    slacks: Vec<(u32, Sent)>,
    forms: Vec<(WatchdogForm, Sent)>,
    nic: Vec<(u32, OnNic)>,
}

/// Simulates, prints and plots.
pub fn figures(args: &FiguresArgs, quiet: bool) -> anyhow::Result<u8> {
    let mut progress = Progress::new(quiet);
    let load = Load {
        time_ns: u64::from(args.milliseconds) * 1_000_000,
        seed: args.seed,
        judged: true,
        ..Load::default()
    };
    progress.tell("fq: queues");
    let queues = fq::queues(&load);
    progress.tell("fq: slacks");
    let slacks = fq::slacks(&load, SOME);
    progress.tell("fq: forms of the watchdog");
    let forms = fq::forms(&load, SOME);
    progress.tell("fq: through an 82599");
    let nic = fq::through_82599(&load, SOME)?;
    progress.done();
    let fq = Fq { queues, slacks, forms, nic };
    match args.format {
        Format::Text => print(&fq, &load),
        Format::Json => {
            let json = FiguresJson { schema_version: SCHEMA_VERSION, cells: cells(&fq) };
            outln!("{}", serde_json::to_string_pretty(&json)?);
        }
    }
    if let Some(folder) = &args.svg {
        plot(&fq, &load, folder)?;
    }
    let runs = fq.all().flat_map(|sent| &sent.findings);
    let broken: Vec<_> = runs.map(|f| format!("{}: {}", f.rule, f.message)).collect();
    broken.iter().for_each(|what| outln!("FOUND  {what}"));
    Ok(if broken.is_empty() { exit::CLEAN } else { exit::FINDINGS })
}

impl Fq {
    fn all(&self) -> impl Iterator<Item = &Sent> {
        let queues = self.queues.iter().flat_map(|row| [&row.before, &row.after]);
        let slacks = self.slacks.iter().map(|(_, sent)| sent);
        let nic = self.nic.iter().map(|(_, on_nic)| &on_nic.sent);
        queues.chain(slacks).chain(self.forms.iter().map(|(_, sent)| sent)).chain(nic)
    }
}

fn thousands(value: f64) -> String {
    format!("{:.0}", value / 1e3)
}

fn percent(part: f64) -> String {
    format!("{:+.1} %", 100.0 * part)
}

fn print(fq: &Fq, load: &Load) {
    outln!(
        "fq with timer slack: {} flows, {} packets/s, slack 0 and 10 us, {} ms simulated, seed {}",
        load.flows,
        load.packets_per_s,
        load.time_ns / 1_000_000,
        load.seed
    );
    outln!(
        "Interrupts in thousands a second. Published: {} before, {} after ({}).",
        thousands(PUBLISHED_BEFORE),
        thousands(PUBLISHED_AFTER),
        SOURCE
    );
    outln!(
        "How many queues there were is not published. Everything that interrupts besides timers is"
    );
    outln!("fitted, to make \"before\" as published; \"after\" is predicted from it.\n");
    let rows: Vec<_> = fq.queues.iter().map(queue_row).collect();
    out!(
        "{}",
        table(
            &[
                "queues",
                "timers before",
                "rest (fitted)",
                "timers after",
                "formula",
                "all after (predicted)",
                "error",
                "packets/doorbell"
            ],
            &rows,
        )
    );
    outln!("\nSlack, with {SOME} queues:");
    let rows: Vec<_> =
        fq.slacks.iter().map(|(ns, sent)| sent_row(format!("{} us", ns / 1_000), sent)).collect();
    out!("{}", table(&SENT, &rows));
    outln!(
        "\nForms of the watchdog, with {SOME} queues and a slack of 10 us. Packets are handed over"
    );
    outln!(
        "at random, up to {} us before they are due. Range is the series without",
        fq::LEAD_NS / 1_000
    );
    outln!("its second patch:");
    let rows: Vec<_> =
        fq.forms.iter().map(|(form, sent)| sent_row(format!("{form:?}"), sent)).collect();
    out!("{}", table(&SENT, &rows));
    outln!("\nHow late packets are, in microseconds (slack 10 us, percent of packets):");
    let rows: Vec<_> = fq.forms.iter().map(|(form, sent)| histogram(*form, sent)).collect();
    let mut head = vec!["form".to_string()];
    head.extend((0..BINS).map(|n| format!("{}-{}", 2 * n, 2 * n + 2)));
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    out!("{}", table(&head, &rows));
    outln!("\nOne of {SOME} queues through ixgbe and the transmit ring of an 82599:");
    let rows: Vec<_> = fq.nic.iter().map(|(ns, on_nic)| nic_row(*ns, on_nic)).collect();
    out!("{}", table(&["slack", "packets", "doorbells", "packets/doorbell", "frames sent"], &rows));
    let early: u64 = fq.all().map(|sent| sent.early).sum();
    let packets: u64 = fq.all().map(|sent| sent.packets).sum();
    outln!("\n{early} of {packets} packets left early.");
}

fn queue_row(row: &QueueRow) -> Vec<String> {
    vec![
        row.queues.to_string(),
        thousands(row.before.per_second(row.before.interrupts)),
        thousands(row.other()),
        thousands(row.after.per_second(row.after.interrupts)),
        thousands(row.formula()),
        thousands(row.predicted()),
        percent(row.error()),
        format!("{:.2}", row.after.batch()),
    ]
}

const SENT: [&str; 8] = [
    "",
    "timers k/s",
    "programmed k/s",
    "packets/doorbell",
    "late us: mean",
    "99 %",
    "most",
    "early",
];

fn sent_row(name: String, sent: &Sent) -> Vec<String> {
    vec![
        name,
        thousands(sent.per_second(sent.interrupts)),
        thousands(sent.per_second(sent.programmed)),
        format!("{:.2}", sent.batch()),
        format!("{:.2}", sent.late_mean_us()),
        sent.late_us_of(990).to_string(),
        format!("{:.2}", sent.late_max_ns as f64 / 1e3),
        sent.early.to_string(),
    ]
}

/// Doorbells are writes of the tail, counted where the driver makes them.
fn nic_row(slack_ns: u32, on_nic: &OnNic) -> Vec<String> {
    let packets = on_nic.sent.packets;
    vec![
        format!("{} us", slack_ns / 1_000),
        packets.to_string(),
        on_nic.doorbells.to_string(),
        format!("{:.2}", packets as f64 / on_nic.doorbells.max(1) as f64),
        on_nic.frames.to_string(),
    ]
}

/// Bins of two microseconds.
const BINS: usize = 10;

fn histogram(form: WatchdogForm, sent: &Sent) -> Vec<String> {
    let count = |n: usize| sent.late_us.iter().skip(2 * n).take(2).sum::<u64>();
    let mut row = vec![format!("{form:?}")];
    let percent = |n| 100.0 * count(n) as f64 / sent.packets.max(1) as f64;
    row.extend((0..BINS).map(|n| format!("{:.2}", percent(n))));
    row
}

fn cells(fq: &Fq) -> Vec<FigureJson> {
    let mut cells = Vec::new();
    let simulated = |id: String, computed: f64, parameters: &str| FigureJson {
        id,
        source: "",
        published: None,
        computed,
        error: None,
        tag: "simulated",
        parameters: parameters.into(),
    };
    for row in &fq.queues {
        let parameters = format!("queues={} slack_us=10", row.queues);
        cells.push(FigureJson {
            id: format!("fq/interrupts-after/{}", row.queues),
            source: SOURCE,
            published: Some(PUBLISHED_AFTER),
            computed: row.predicted(),
            error: Some(row.error()),
            tag: "predicted",
            parameters: parameters.clone(),
        });
        cells.push(FigureJson {
            id: format!("fq/interrupts-rest/{}", row.queues),
            source: SOURCE,
            published: None,
            computed: row.other(),
            error: None,
            tag: "fitted",
            parameters,
        });
    }
    let of_slacks = fq.slacks.iter().map(|(ns, sent)| (format!("slack-{ns}"), sent));
    let of_forms = fq.forms.iter().map(|(form, sent)| (format!("form-{form:?}"), sent));
    for (name, sent) in of_slacks.chain(of_forms) {
        let timers = sent.per_second(sent.interrupts);
        cells.push(simulated(format!("fq/timers/{name}"), timers, "queues=4"));
        cells.push(simulated(format!("fq/batch/{name}"), sent.batch(), "queues=4"));
        let late = sent.late_max_ns as f64;
        cells.push(simulated(format!("fq/late-most-ns/{name}"), late, "queues=4"));
        cells.push(simulated(format!("fq/early/{name}"), sent.early as f64, "queues=4"));
    }
    for (slack_ns, on_nic) in &fq.nic {
        let batch = on_nic.sent.packets as f64 / on_nic.doorbells.max(1) as f64;
        let id = format!("fq/82599-packets-per-doorbell/slack-{slack_ns}");
        cells.push(simulated(id, batch, "one queue of 4"));
    }
    cells
}

/// Writes the plots.
fn plot(fq: &Fq, load: &Load, folder: &Path) -> anyhow::Result<()> {
    let write = |name: &str, plot: Plot| {
        let path = folder.join(name);
        let text = plot.render().map_err(anyhow::Error::msg)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let quick = Load { time_ns: load.time_ns / 5, judged: false, ..*load };
    let series = [1, 4, 16].map(|queues| {
        let points = fq::slacks(&quick, queues);
        let point =
            |(ns, sent): &(u32, Sent)| (f64::from(*ns) / 1e3, sent.per_second(sent.interrupts));
        let name = if queues == 1 { "1 queue".into() } else { format!("{queues} queues") };
        Series { name, points: points.iter().map(point).collect() }
    });
    write(
        "fq-interrupts.svg",
        Plot {
            title: "Timer interrupts of 1,000 flows at 1 M packets/s".into(),
            x: "slack, us",
            y: "interrupts/s",
            log_from: None,
            series: series.into(),
        },
    )?;
    let series = fq.forms.iter().map(|(form, sent)| {
        let points = (0..22).map(|us| {
            let count = sent.late_us.get(us).copied().unwrap_or(0);
            (us as f64, count as f64 / sent.packets.max(1) as f64)
        });
        Series { name: format!("{form:?}"), points: points.collect() }
    });
    write(
        "fq-late.svg",
        Plot {
            title: "How late packets are with a slack of 10 us".into(),
            x: "late, us",
            y: "part of all packets",
            log_from: Some(1e-5),
            series: series.collect(),
        },
    )
}
