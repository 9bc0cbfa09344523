//! The command line as a user meets it: exit codes, streams, tokens, hostile files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pollproof(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pollproof"))
        .args(args)
        .current_dir(root())
        .output()
        .expect("the command starts")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the scratch file is written");
    path
}

const CAPTURE: &str = "testdata/tcp_udp.pcap";

/// Of each kind some: bugs of both NICs and of the core, a question. The crate of the bugs tests
/// them all; `.ci/run` runs the whole check.
const SOME: [&str; 8] =
    ["A-1", "C-1", "C-21", "E-24", "F-1", "ARM-NO-MB", "hash/", "re-add-without-grace"];

#[test]
fn check_finds_bugs_without_false_alarm_and_their_tokens_replay() {
    let args = [&["check", "--format", "json"], &SOME[..], &["capture"]].concat();
    let output = pollproof(&args);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{}", out(&output));
    let summary = &json["summary"];
    assert_eq!(summary["bugs"], summary["caught"]);
    assert_eq!(summary["bugs"], summary["clean"]);
    for scenario in json["scenarios"].as_array().expect("scenarios") {
        let verdict = scenario["verdict"].as_str().expect("a verdict");
        let bounded = scenario["engine"] == "loom" && verdict.starts_with("BOUNDED");
        assert!(verdict.starts_with("EXHAUSTIVE") || bounded, "{scenario}");
    }
    for field in ["missed", "false_alarms", "unknown"] {
        assert_eq!(summary[field], 0, "{field}");
    }
    assert!(summary["bugs"].as_u64() >= Some(6));
    let first = &json["bugs"][0];
    for field in [
        "id",
        "origin",
        "rule",
        "engine",
        "caught",
        "executions",
        "events",
        "verdict_fixed",
        "replay",
    ] {
        assert!(!first[field].is_null(), "bugs[0].{field}");
    }
    let first = &json["scenarios"][0];
    for field in ["id", "engine", "memory_model", "threads", "verdict", "executions", "seconds"] {
        assert!(!first[field].is_null(), "scenarios[0].{field}");
    }
    let captures = json["captures"].as_array().expect("captures");
    for nic in ["mlx4", "ixgbe", "sfc"] {
        let ids = captures.iter().filter(|c| c["nic"] == nic).filter_map(|c| c["id"].as_str());
        let (merged, plain): (Vec<_>, Vec<_>) = ids.partition(|id| id.contains("gro"));
        assert!(!merged.is_empty() && !plain.is_empty(), "{nic}: {merged:?} {plain:?}");
    }
    every_token_replays_to_the_same_bytes_twice(&json);
}

fn every_token_replays_to_the_same_bytes_twice(json: &serde_json::Value) {
    let bugs = json["bugs"].as_array().expect("bugs").iter().map(|b| &b["replay"]);
    let questions = json["questions"].as_array().expect("questions").iter();
    let tokens = bugs.chain(questions.map(|q| &q["shown_by"]));
    let mut replayed = 0;
    // A question that is answered with no is shown by a verdict instead.
    for token in tokens.filter_map(|t| t.as_str()).filter(|t| t.contains('@')) {
        let (first, second) = (pollproof(&["replay", token]), pollproof(&["replay", token]));
        assert_eq!(first.status.code(), Some(1), "{token}: {}", err(&first));
        assert_eq!(first.stdout, second.stdout, "{token}");
        assert!(out(&first).contains("FOUND"), "{token}");
        let bug = token.split('@').next().and_then(|what| what.split_once('+'));
        if let Some((_, bug)) = bug {
            let title = format!(" with bug {bug}");
            assert!(out(&first).lines().next().is_some_and(|l| l.ends_with(&title)), "{token}");
        }
        replayed += 1;
    }
    assert!(replayed >= 7, "{replayed} tokens");
}

#[test]
fn a_check_says_the_same_whatever_the_number_of_runs_at_a_time() {
    let with = |jobs| pollproof(&["check", "hash/", "A-", "--jobs", jobs]);
    let (one, three) = (with("1"), with("3"));
    assert_eq!(one.status.code(), Some(0), "{}", out(&one));
    assert_eq!(out(&one), out(&three));
}

#[test]
fn the_capture_comes_out_as_it_went_in() {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("delivered.pcap");
    let copy_arg = copy.to_string_lossy().into_owned();
    let output = pollproof(&["run", "--nic", "mlx4", "--pcap", CAPTURE, "--out", &copy_arg]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let frames = |path: &Path| {
        let capture = pollproof_wire::read_file(path).expect("a capture");
        capture.packets.into_iter().map(|p| p.bytes.to_vec()).collect::<Vec<_>>()
    };
    let (sent, delivered) = (frames(&root().join(CAPTURE)), frames(&copy));
    assert!(!sent.is_empty());
    assert_eq!(sent, delivered, "with one queue the order is kept, too");
}

#[test]
fn the_capture_comes_out_of_ixgbe_too_with_counts_for_each_queue() {
    for queues in ["1", "4", "16"] {
        let output = pollproof(&["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--queues", queues]);
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
        let rows = out(&output).lines().filter(|l| l.starts_with(char::is_numeric)).count();
        assert_eq!(rows.max(1).to_string(), queues, "{}", out(&output));
    }
}

#[test]
fn modes_of_gro_are_shown_side_by_side_and_give_sockets_the_same() {
    for (nic, mode) in [("mlx4", "on"), ("ixgbe", "batched"), ("sfc", "batched")] {
        let pcap = "testdata/many_flows.pcap";
        let output = pollproof(&["run", "--nic", nic, "--pcap", pcap, "--gro", mode]);
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
        let text = out(&output);
        let row = text.lines().find(|l| l.starts_with("merged into others")).expect("a row");
        let counts: Vec<u64> = row.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        assert!(counts[0] == 0 && counts[1] > 0 && counts[1] == counts[2], "{row}");
        assert!(text.contains("in all three"), "{text}");
    }
}

#[test]
fn sockets_may_poll_the_queues_of_either_nic() {
    for nic in ["mlx4", "ixgbe"] {
        let run = |us| {
            pollproof(&["run", "--nic", nic, "--pcap", CAPTURE, "--queues", "2", "--busy-poll", us])
        };
        let output = run("50");
        assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
        assert!(out(&output).contains("taken by busy polling"), "{}", out(&output));
        assert!(!out(&run("0")).contains("taken by busy polling"));
    }
}

#[test]
fn hostile_files_are_refused_in_one_line() {
    let capture = std::fs::read(root().join(CAPTURE)).expect("the capture");
    let mut long = capture[..24].to_vec();
    long.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]);
    let files = [
        scratch("truncated.pcap", &capture[..capture.len() - 7]),
        scratch("header.pcap", &capture[..11]),
        scratch("text.pcap", b"this is no capture at all, but long enough to be one"),
        scratch("empty.pcap", b""),
        scratch("long.pcap", &long),
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("missing.pcap"),
        Path::new(env!("CARGO_TARGET_TMPDIR")).to_path_buf(),
    ];
    for file in files {
        let name = file.to_string_lossy().into_owned();
        let output = pollproof(&["run", "--nic", "mlx4", "--pcap", &name]);
        let message = err(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        assert_eq!(message.lines().count(), 1, "{name}: {message}");
        let base = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(message.contains(&base), "{name}: {message}");
        assert!(out(&output).is_empty(), "{name}");
    }
}

#[test]
fn an_unknown_nic_is_refused_in_one_line() {
    let output = pollproof(&["run", "--nic", "nosuch", "--pcap", CAPTURE]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
    assert!(err(&output).contains("nosuch") && err(&output).contains("ixgbe"));
}

#[test]
fn wrong_words_are_usage_errors() {
    for args in [
        &["run", "--nic", "nosuch", "--pcap", CAPTURE][..],
        &["run", "--nic", "mlx4", "--pcap", CAPTURE, "--queues", "3"],
        &["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--queues", "17"],
        &["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--queues", "0"],
        &["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--busy-poll", "1000001"],
        &["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--busy-poll", "1", "--gro", "on"],
        &["run", "--nic", "ixgbe", "--pcap", CAPTURE, "--gro", "sometimes"],
        &["explore", "no/such"],
        &["explore", "mlx4/rx", "--bug", "Z-1"],
        &["explore", "mlx4/rx", "--engine", "loom"],
        &["explain", "NO-SUCH-RULE"],
        &["replay", "garbage"],
        &["replay", "mlx4/rx@00000000:0"],
        &["replay", "mlx4/rx+Z-1@00000000:0"],
        &["nosuch"],
    ] {
        let output = pollproof(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", err(&output));
        assert!(!err(&output).is_empty(), "{args:?}");
        assert!(out(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn nothing_selected_and_cut_runs_have_their_own_codes() {
    assert_eq!(pollproof(&["check", "no-such-thing"]).status.code(), Some(4));
    let cut = pollproof(&["check", "mlx4/wrap", "--max-executions", "3"]);
    assert_ne!(cut.status.code(), Some(0), "{}", out(&cut));
    let cut = pollproof(&["explore", "mlx4/wrap", "--max-executions", "3"]);
    assert_eq!(cut.status.code(), Some(3), "{}", out(&cut));
    assert!(out(&cut).contains("UNKNOWN"));
}

#[test]
fn a_finding_shows_rule_place_lanes_and_how_to_replay_it() {
    let output = pollproof(&["explore", "mlx4/stop", "--bug", "F-1"]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(1));
    for part in [
        "FOUND  LIFETIME",
        "where   driver/",
        "device",
        "socket",
        "replay  pollproof replay",
        "explain pollproof explain LIFETIME",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn lists_and_explanations_name_what_exists() {
    let list = out(&pollproof(&["list"]));
    for id in ["C-1", "mlx4/rx", "NAPI-BUDGET", "two-lists-6.12"] {
        assert!(list.contains(id), "{id}");
        assert_eq!(pollproof(&["explain", id]).status.code(), Some(0), "{id}");
    }
    assert_eq!(pollproof(&["doctor"]).status.code(), Some(0));
    assert_eq!(pollproof(&["--help"]).status.code(), Some(0));
}

#[test]
fn other_engines_agree_on_what_they_can_run() {
    for engine in ["loom", "shuttle"] {
        let output = pollproof(&["check", "A-", "hash/", "--engine", engine, "--format", "json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(output.status.code(), Some(0), "{engine}: {}", out(&output));
        assert!(json["summary"]["caught"].as_u64() >= Some(1), "{engine}");
        assert_eq!(json["summary"]["missed"], 0, "{engine}");
    }
}

#[test]
fn lockstep_says_what_it_is_and_what_it_lacks() {
    let listed = pollproof(&["lockstep", "--list"]);
    assert_eq!(listed.status.code(), Some(0));
    assert!(out(&listed).contains("R-CQ-OWNER"), "{}", out(&listed));
    assert_eq!(pollproof(&["lockstep", "no-such-block"]).status.code(), Some(4));
    assert_eq!(pollproof(&["lockstep", "--plant", "x"]).status.code(), Some(2));
    let ran = pollproof(&["lockstep", "mlx4-cq", "--cases", "2"]);
    let checked = pollproof(&["check", "lockstep/mlx4-cq"]);
    if cfg!(feature = "rtl") {
        assert_eq!(ran.status.code(), Some(0), "{}", err(&ran));
        assert!(out(&ran).contains("SAMPLED (2 cases, seed 7)"), "{}", out(&ran));
        assert_eq!(pollproof(&["lockstep", "--cases", "0"]).status.code(), Some(4));
        assert_eq!(checked.status.code(), Some(0), "{}", out(&checked));
    } else {
        assert_eq!(ran.status.code(), Some(5));
        assert!(err(&ran).contains("install the package verilator"), "{}", err(&ran));
        assert_eq!(checked.status.code(), Some(4));
        assert!(out(&checked).contains("lockstep: not run: the RTL is not built in"));
    }
}

#[test]
fn linux_without_a_kernel_says_how_to_get_one() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-kernels");
    std::fs::create_dir_all(&empty).expect("a folder");
    let cache = empty.to_str().expect("a path");
    for args in [&["run", "ixgbe"][..], &["explore", "ixgbe"], &["conformance"]] {
        let output = pollproof(&[&["linux"], args, &["--cache", cache]].concat());
        assert_eq!(output.status.code(), Some(5), "{args:?}");
        let said = err(&output);
        assert!(said.contains("pollproof linux build --kernel sanitizers"), "{said}");
    }
}

#[test]
fn what_makes_no_sense_to_linux_is_told_before_a_kernel_is_looked_for() {
    for (args, why) in [
        (&["run", "e1000"][..], "unknown driver"),
        (&["run", "ixgbe", "--faults", "fire=1"], "known are loss"),
        (&["run", "ixgbe", "--timing", "bus=1"], "no such point"),
        (&["run", "ixgbe", "--timing", "msix=1", "--time", "real"], "needs --time simulated"),
        (&["run", "ixgbe", "--pcap", "Cargo.toml"], "Cargo.toml"),
        (&["run", "ixgbe", "--kernel", "mine"], "no kernel is called"),
        (&["explore", "ixgbe", "--plant", "full-budget"], "needs --kernel planted"),
        (&["explore", "ixgbe", "--kernel", "planted", "--plant", "x"], "no bug is called"),
    ] {
        let output = pollproof(&[&["linux"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", out(&output));
        assert!(err(&output).contains(why), "{args:?}: {}", err(&output));
    }
    let output = pollproof(&["replay", "linux/ixgbe/planted/1/80/100/these:0x18/67"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("a burst has"), "{}", err(&output));
}
