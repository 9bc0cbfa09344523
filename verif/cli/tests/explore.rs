//! `pollproof explore` and `bench`: workers, checkpoints, models, and what they tell.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pollproof"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

fn pollproof(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

const WHOLE: &str =
    "mlx4/moderation under explore, SC: 3147 executions, 0 given up\n  EXHAUSTIVE\n";

#[test]
fn workers_come_to_the_total_of_one() {
    for jobs in ["1", "2", "3"] {
        let args = ["explore", "mlx4/moderation", "--model", "sc", "--jobs", jobs];
        assert_eq!(out(&pollproof(&args)), WHOLE);
    }
}

#[test]
fn a_search_that_was_cut_goes_on_to_the_same_total() {
    let file = scratch("cut.left");
    let file = file.to_str().expect("a path");
    let begin = ["explore", "mlx4/moderation", "--model", "sc", "--checkpoint", file];
    let cut = pollproof(&[&begin[..], &["--cpu-seconds", "0.02"]].concat());
    assert_eq!(cut.status.code(), Some(3), "{}", out(&cut));
    assert!(out(&cut).contains("UNKNOWN"), "{}", out(&cut));
    for _ in 0..500 {
        let go_on = [&begin[..], &["--resume", file, "--cpu-seconds", "0.02"]].concat();
        let output = pollproof(&go_on);
        if output.status.code() == Some(0) {
            assert_eq!(out(&output), WHOLE);
            return;
        }
        assert_eq!(output.status.code(), Some(3), "{}{}", out(&output), err(&output));
    }
    panic!("it never came to an end");
}

#[test]
fn a_search_that_was_killed_goes_on_to_the_same_total() {
    let file = scratch("killed.left");
    let path = file.to_str().expect("a path").to_string();
    for pause_ms in (20..).step_by(20) {
        let mut args = vec!["explore", "mlx4/moderation", "--model", "sc", "--jobs", "2"];
        args.extend(["--checkpoint", &path, "--checkpoint-every", "0"]);
        if file.exists() {
            args.extend(["--resume", &path]);
        }
        let mut child = command(&args).stdout(Stdio::piped()).spawn().expect("the command starts");
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        let over = child.try_wait().expect("a state").is_some();
        let _ = child.kill();
        let output = child.wait_with_output().expect("it ends");
        if over {
            assert_eq!(out(&output), WHOLE);
            return;
        }
    }
}

#[test]
fn a_checkpoint_of_something_else_is_refused_in_one_line() {
    let file = scratch("other.left");
    let path = file.to_str().expect("a path");
    let cut = ["--model", "sc", "--checkpoint", path, "--cpu-seconds", "0.02"];
    pollproof(&[&["explore", "mlx4/moderation"], &cut[..]].concat());
    let text = std::fs::read_to_string(&file).expect("a checkpoint");
    for (scenario, model, content) in [
        ("mlx4/wrap", "sc", text.clone()),
        ("mlx4/moderation", "tso", text.clone()),
        ("mlx4/moderation", "sc", text.replace("engine 0", "engine 9")),
        ("mlx4/moderation", "sc", text[..text.len() / 2].to_string()),
        ("mlx4/moderation", "sc", "hello".to_string()),
    ] {
        std::fs::write(&file, content).expect("written");
        let output = pollproof(&["explore", scenario, "--model", model, "--resume", path]);
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        assert_eq!(err(&output).lines().count(), 1, "{}", err(&output));
        assert!(err(&output).contains("other.left"), "{}", err(&output));
    }
}

#[test]
fn a_bug_that_only_a_weak_model_shows_is_replayed_by_its_graph() {
    let args = ["explore", "mlx4/arm-record", "--bug", "ARM-NO-MB", "--model"];
    let sc = pollproof(&[&args[..], &["sc"]].concat());
    assert!(sc.status.code() == Some(0) && out(&sc).contains("EXHAUSTIVE"), "{}", out(&sc));
    let weak = pollproof(&[&args[..], &["rc11"]].concat());
    assert_eq!(weak.status.code(), Some(1), "{}", out(&weak));
    let text = out(&weak);
    let token = text.split('\'').find(|part| part.contains(":rc11:")).expect("a token");
    let replay = pollproof(&["replay", token]);
    assert_eq!(replay.status.code(), Some(1), "{}", err(&replay));
    let told = out(&replay);
    assert!(told.contains("NO-LOST-WORK") && told.contains("STALE"), "{told}");
    assert_eq!(told, out(&pollproof(&["replay", token])));
    // A graph that is none, and one that is another program's.
    for bad in [token.replace(":rc11:0", ":rc11:x"), token.replace(":rc11:0", ":rc11:3")] {
        assert_eq!(pollproof(&["replay", &bad]).status.code(), Some(2), "{bad}");
    }
}

#[test]
fn bench_puts_peers_beside_each_other() {
    let args = ["bench", "explore", "--cpu-seconds", "0.05", "--format", "json"];
    let output = pollproof(&args);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = json["results"].as_array().expect("results");
    for result in results {
        for field in ["id", "unit", "peer"] {
            assert!(result[field].is_string(), "{result}");
        }
        assert!(result["value"].as_f64() > Some(0.0) && result["ratio"].is_f64(), "{result}");
    }
    let peers = |peer| results.iter().filter(|r| r["peer"] == peer).count();
    assert!(peers("loom") >= 16 && peers("shuttle") == peers("loom"), "{}", out(&output));
}

#[test]
fn bench_tells_packets_with_rules_off_and_on_and_a_peer_where_there_is_one() {
    let output = pollproof(&["bench", "timed", "--cpu-seconds", "0.02", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let results = json["results"].as_array().expect("results");
    for nic in ["ixgbe/timed", "ixgbe/functional", "mlx4/timed", "mlx4/functional"] {
        for what in ["rules-off", "rules-on", "rules-on by rules-off", "steps", "events"] {
            let id = format!("{nic}/{what}");
            let row = results.iter().find(|r| r["id"] == *id).expect(&id);
            assert!(row["value"].as_f64() > Some(0.0) && row["ratio"].is_f64(), "{row}");
        }
    }
    let peer = results[0]["peer"].as_str().expect("a name");
    assert!(peer.starts_with("qemu e1000e") && !peer.contains("failed"), "{}", out(&output));
    assert!(json["notes"].as_array().is_some_and(|notes| notes.len() > 10), "{}", out(&output));
}

#[test]
fn engines_and_models_are_compared() {
    let output = pollproof(&["check", "A-1", "ARM-NO-MB", "hash/add-lookup", "--engine", "all"]);
    let text = out(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("agree on 2 of 3 bugs and scenarios"), "{text}");
    assert!(text.contains("ARM-NO-MB under explore, TSO: the compare-exchange"), "{text}");
}
