//! The init of a guest kernel: runs `/script` line by line and prints what came of it.
//!
//! Built by `pollproof linux build` with rustc alone, as one static program, so it uses std and
//! nothing else. Each line of output that counts begins with `@N`, N being the line of the script:
//! facts as `@N name value...`, then `@N ok` or `@N error what`. `@end` comes before the power off.
//! The kernel's own log goes elsewhere.
// Its clock is the guest kernel's, which is simulated where runs are to be repeated.
#![allow(clippy::disallowed_methods)]

mod command;
mod ethtool;
mod iface;
mod netlink;
mod out;
mod packet;
mod ping;
mod sockets;
mod sys;

use std::fs;

const SCRIPT: &str = "/script";
/// More than any scenario has; a longer script is a mistake.
const SCRIPT_BYTES_MAX: usize = 1 << 20;
const LINES_MAX: usize = 4096;

fn main() {
    let failed_mounts: Vec<_> =
        [("proc", "/proc", "proc"), ("sysfs", "/sys", "sysfs"), ("devtmpfs", "/dev", "devtmpfs")]
            .into_iter()
            .filter_map(|(source, target, kind)| {
                let made =
                    fs::create_dir_all(target).and_then(|()| sys::mount(source, target, kind));
                made.err().map(|error| format!("{target}: {error}"))
            })
            .collect();
    out::line(0, "guest 1");
    for mount in failed_mounts {
        out::line(0, &format!("mount {mount}"));
    }
    match script() {
        Ok(text) => command::run(&text),
        Err(what) => out::line(0, &format!("error {what}")),
    }
    out::raw("@end");
    let error = sys::power_off();
    out::raw(&format!("@0 error power off: {error}"));
}

fn script() -> Result<String, String> {
    let text = fs::read_to_string(SCRIPT).map_err(|error| format!("{SCRIPT}: {error}"))?;
    if text.len() > SCRIPT_BYTES_MAX || text.lines().count() > LINES_MAX {
        return Err(format!("{SCRIPT}: more than {SCRIPT_BYTES_MAX} bytes or {LINES_MAX} lines"));
    }
    Ok(text)
}
