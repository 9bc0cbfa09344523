//! However a run of a kernel ends, nothing of it is left: no process, no socket, no file.
//!
//! Needs a kernel in the user's cache; where none was built, the tests say so and test nothing,
//! unless POLLPROOF_NEEDS_KERNEL is set, as in CI after it built one: then they fail.

use pollproof_linux::kernel::{find, Cache, Kind};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Looks at most so often for a kernel that begins, and for one that ends. Left alone, one would
/// go on for half a minute before it comes to the end of its script.
const BEGIN_LOOKS: u32 = 3000;
const END_LOOKS: u32 = 500;
/// From one look to the next.
const APART: Duration = Duration::from_millis(10);

fn is_built() -> bool {
    let built = Cache::of_user().and_then(|cache| find(&cache, Kind::Sanitizers));
    if built.is_none() {
        let is_needed = std::env::var_os("POLLPROOF_NEEDS_KERNEL").is_some();
        assert!(!is_needed, "POLLPROOF_NEEDS_KERNEL is set and no kernel is built");
        eprintln!("not run: no kernel built; 'pollproof linux build --kernel sanitizers'");
    }
    built.is_some()
}

fn wait_for<T>(what: &str, looks: u32, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..looks {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(APART);
    }
    panic!("{what} did not come to be");
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// A scenario of a few seconds in real time, with a folder of its own for temporary files.
fn start(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_pollproof"))
        .args(["linux", "scenarios", "flap", "--time", "real"])
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// Processes that are alive: id, parent, group.
fn processes() -> Vec<(u32, u32, u32)> {
    let entries = fs::read_dir("/proc").expect("proc").flatten();
    let one = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let rest: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| rest.get(at)?.parse().ok();
        // One that is dead and not yet waited for is no orphan.
        (rest.first() != Some(&"Z")).then_some((pid, number(1)?, number(2)?))
    };
    entries.filter_map(|e| one(e.file_name().to_str()?.parse().ok()?)).collect()
}

/// The kernel that this process has started, once it runs a guest: it then has children.
fn kernel_of(pid: u32) -> Option<u32> {
    let all = processes();
    let (kernel, ..) = *all.iter().find(|p| p.1 == pid && p.2 == p.0)?;
    all.iter().any(|p| p.1 == kernel).then_some(kernel)
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn nothing_is_left(kernel: u32, folder: &Path) {
    wait_for("the end of the kernel's group", END_LOOKS, || {
        processes().iter().all(|p| p.2 != kernel).then_some(())
    });
    let left: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn killing_the_device_takes_the_kernel_along() {
    if !is_built() {
        return;
    }
    let folder = scratch("device-dies");
    let mut device = start(&folder);
    let kernel = wait_for("a kernel", BEGIN_LOOKS, || kernel_of(device.id()));
    wait_for("a folder that is empty again", BEGIN_LOOKS, || is_empty(&folder).then_some(()));
    kill(device.id());
    device.wait().expect("the end of the device");
    nothing_is_left(kernel, &folder);
}

#[test]
fn killing_the_kernel_ends_the_run_with_a_finding() {
    if !is_built() {
        return;
    }
    let folder = scratch("kernel-dies");
    let device = start(&folder);
    let kernel = wait_for("a kernel", BEGIN_LOOKS, || kernel_of(device.id()));
    kill(kernel);
    let output = device.wait_with_output().expect("the end of the run");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    nothing_is_left(kernel, &folder);
}

/// A file system of 64 KiB, which the initrd does not fit in; in a name space of its own, so that
/// it needs no root.
#[test]
fn a_full_disk_is_told_and_nothing_stays_on_it() {
    if !is_built() {
        return;
    }
    let folder = scratch("disk-full");
    let script = "mount -t tmpfs -o size=64k none \"$1\" || exit 99
        TMPDIR=\"$1\" \"$2\" linux scenarios arp-icmp; echo \"exit $?\"; ls -A \"$1\"; echo end";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(&folder)
        .arg(env!("CARGO_BIN_EXE_pollproof"))
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        other => return eprintln!("not run: no name space of one's own here: {other:?}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("exit 5\nend\n"), "{said}{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(is_empty(&folder));
}
