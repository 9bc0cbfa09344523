//! Kernels that are none: each way out of a boot says why and leaves nothing behind.

use pollproof_linux::boot::{Boot, BootError};
use pollproof_linux::run::{run, RunOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folders of this process among the temporary files.
fn folders() -> usize {
    let ours = format!("pollproof-linux-{}-", std::process::id());
    let all = std::fs::read_dir(std::env::temp_dir()).expect("temporary files");
    all.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours)).count()
}

fn boot(kernel: &str, simulated: bool) -> Boot {
    Boot {
        kernel: kernel.into(),
        initrd: "/dev/null".into(),
        script: Vec::new(),
        memory_mb: 64,
        simulated,
        arguments: Vec::new(),
    }
}

/// A program that stands for a kernel: a script of the shell.
fn program(name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&path, mode).expect("a program that may run");
    path
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    let error = boot("/no/such/kernel", false).start().err().expect("an error").to_string();
    assert!(error.starts_with("kernel /no/such/kernel: "), "{error}");
    let mut no_initrd = boot("/bin/true", false);
    no_initrd.initrd = "/no/such/initrd".into();
    let error = no_initrd.start().err().expect("an error").to_string();
    assert!(error.starts_with("initrd /no/such/initrd: "), "{error}");
    assert_eq!(folders(), 0);
}

#[test]
fn a_kernel_that_ends_before_it_asks_for_the_time_says_its_last_words() {
    let dies = program("dies", "echo out of luck >&2; exit 3");
    let error = boot(dies.to_str().expect("a path"), true).start().err().expect("an error");
    assert!(matches!(error, BootError::Early { .. }));
    let said = error.to_string();
    assert!(said.contains("exit status: 3") && said.contains("out of luck"), "{said}");
    assert_eq!(folders(), 0);
}

#[test]
fn a_kernel_that_ends_without_its_device_is_no_run() {
    let ends = program("ends", "echo '@0 guest 1'");
    let report = run(RunOptions::new(boot(ends.to_str().expect("a path"), false))).expect("a run");
    assert_eq!((report.accesses, report.arrived.len()), (0, 0));
    assert!(report.output.console.contains("@0 guest 1"));
    assert_eq!(folders(), 0);
}

#[test]
fn a_kernel_is_ended_with_all_that_it_started() {
    let idles = program("idles", "sleep 1000 & echo $! >pid.part; mv pid.part pid; wait");
    let (mut running, doors) = boot(idles.to_str().expect("a path"), false).start().expect("it");
    let file = doors.dir.path().join("pid");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) => break text.trim().to_owned(),
            Err(_) => std::thread::yield_now(),
        }
    };
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    running.end();
    drop((running, doors));
    // Gone, or on its way to whoever reaps it. Were it alive, this would not end, and neither would
    // the line above: it holds the output open.
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    while [") S ", ") R ", ") D "].iter().any(|state| stat().contains(state)) {
        std::thread::yield_now();
    }
    assert_eq!(folders(), 0);
}

#[test]
fn a_kernel_that_does_nothing_is_cut_by_its_limit() {
    let idles = program("waits", "sleep 1000");
    let mut options = RunOptions::new(boot(idles.to_str().expect("a path"), false));
    options.limits.wall = Duration::ZERO;
    let report = run(options).expect("a run");
    assert!(report.error.expect("an error").is_limit());
    assert_eq!(folders(), 0);
}
