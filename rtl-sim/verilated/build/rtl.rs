//! Verilator, the C++ compiler, and the pins of each block.

#[path = "pins.rs"]
mod pins;

use pins::Pins;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Blocks by top module, with the parameters that lock-step wants: times so short that a run of a
/// few thousand cycles sees them pass.
const BLOCKS: &[(&str, &[&str])] = &[
    ("mlx4_completion", &["US_CYCLES=8"]),
    ("ixgbe_irq", &["LOG_STEP=4"]),
    ("ixgbe_rx", &[]),
    ("ixgbe_tx", &[]),
];

/// What is wrong with this machine, and what to do.
fn stop(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(1)
}

/// How the C++ is made and compiled; part of each stamp.
struct Tools {
    verilator: PathBuf,
    version: String,
    include: PathBuf,
    rtl: PathBuf,
    out: PathBuf,
}

pub fn build() {
    let tools = Tools::find();
    let mut rust = String::new();
    for (name, parameters) in BLOCKS {
        let pins = block(&tools, name, parameters);
        rust.push_str(&pins.rust());
    }
    let pins = tools.out.join("pins.rs");
    fs::write(&pins, rust).unwrap_or_else(|e| stop(&format!("{}: {e}", pins.display())));
    runtime(&tools);
    println!("cargo:rustc-link-search=native={}", tools.out.display());
    println!("cargo:rustc-link-lib=stdc++");
    if cfg!(feature = "rtl-fst") {
        println!("cargo:rustc-link-lib=z");
    }
    println!("cargo:rerun-if-env-changed=VERILATOR");
    println!("cargo:rerun-if-changed={}", tools.rtl.display());
    println!("cargo:rerun-if-changed=build");
}

impl Tools {
    fn find() -> Self {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let verilator = variable("VERILATOR").unwrap_or_else(|| "verilator".into());
        let shown = verilator.display();
        let lacks = format!(
            "the feature `rtl` needs Verilator 5: install the package `verilator` \
             (apt-get install verilator), or set VERILATOR to the program; tried {shown}"
        );
        let ask = |arguments: &[&str]| {
            let output = Command::new(&verilator).args(arguments).output();
            let output = output.ok().filter(|o| o.status.success());
            output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        };
        let version = ask(&["--version"]).unwrap_or_else(|| stop(&lacks));
        if !version.starts_with("Verilator 5.") {
            stop(&format!("{lacks}, which is {version}"));
        }
        let root = ask(&["--getenv", "VERILATOR_ROOT"]).filter(|root| !root.is_empty());
        let root = variable("VERILATOR_ROOT").or(root.map(PathBuf::from));
        let root = root.unwrap_or_else(|| stop(&lacks));
        let here = variable("CARGO_MANIFEST_DIR").unwrap_or_default();
        let rtl = here.join("../rtl");
        let rtl = rtl.canonicalize().unwrap_or_else(|e| stop(&format!("{}: {e}", rtl.display())));
        let out = variable("OUT_DIR").unwrap_or_default();
        Self { verilator, version, include: root.join("include"), rtl, out }
    }

    fn compiler(&self) -> cc::Build {
        let mut build = cc::Build::new();
        let print = Path::new("src/shim/print.h");
        let print = print.canonicalize().unwrap_or_else(|e| stop(&format!("print.h: {e}")));
        build
            .cpp(true)
            .std("c++17")
            .opt_level(2)
            .warnings(false)
            .include(&self.include)
            .include(self.include.join("vltstd"))
            .flag("-include")
            .flag(print)
            .define("VL_USER_STOP", None)
            .cargo_metadata(false);
        let on = |yes| Some(if yes { "1" } else { "0" });
        build.define("VM_TRACE_VCD", on(cfg!(feature = "rtl-vcd")));
        build.define("VM_TRACE_FST", on(cfg!(feature = "rtl-fst")));
        build.define("VM_TRACE", on(cfg!(any(feature = "rtl-vcd", feature = "rtl-fst"))));
        build.define("VM_COVERAGE", on(cfg!(feature = "rtl-coverage")));
        build
    }

    /// Whether a library of this content is there already; notes the content if not.
    fn is_fresh(&self, library: &str, content: &str) -> bool {
        let stamp = self.out.join(format!("{library}.stamp"));
        let content = format!("{}\n{content}", self.version);
        let there = self.out.join(format!("lib{library}.a")).exists();
        there && fs::read_to_string(stamp).is_ok_and(|old| old == content)
    }

    fn note(&self, library: &str, content: &str) {
        let stamp = self.out.join(format!("{library}.stamp"));
        let content = format!("{}\n{content}", self.version);
        fs::write(&stamp, content).unwrap_or_else(|e| stop(&format!("{}: {e}", stamp.display())));
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| stop(&format!("{}: {e}", path.display())))
}

/// Text of the top module and of all that it instantiates, by file.
fn sources(tools: &Tools, top: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open = vec![top.to_owned()];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(name) = open.pop() {
        let path = tools.rtl.join(format!("{name}.sv"));
        if found.iter().any(|(n, _)| *n == name) || !path.exists() {
            continue;
        }
        let text = read(&path);
        let words = text.lines().filter_map(|line| line.trim_start().split_once(" #("));
        open.extend(words.map(|(word, _)| word.to_owned()).filter(|w| w.chars().all(is_name)));
        found.push((name, text));
    }
    found.sort();
    found
}

fn block(tools: &Tools, name: &str, parameters: &[&str]) -> Pins {
    let folder = tools.out.join(name);
    let mut arguments: Vec<String> =
        ["--cc", "-O3", "--assert", "--x-initial", "unique", "-Wall", "--top-module", name]
            .map(str::to_owned)
            .to_vec();
    arguments.extend(["--prefix".to_owned(), format!("V{name}"), "-GPLANT=1'b1".to_owned()]);
    arguments.extend(parameters.iter().map(|p| format!("-G{p}")));
    if cfg!(feature = "rtl-vcd") {
        arguments.push("--trace".into());
    }
    if cfg!(feature = "rtl-fst") {
        arguments.push("--trace-fst".into());
    }
    if cfg!(feature = "rtl-coverage") {
        arguments.extend(["--coverage-line".to_owned(), "--coverage-user".to_owned()]);
    }
    let files = sources(tools, name);
    let shim = include_str!("shim.cpp.in");
    let content = format!("{arguments:?}\n{files:?}\n{shim}");
    let header = folder.join(format!("V{name}.h"));
    if tools.is_fresh(name, &content) {
        println!("cargo:rustc-link-lib=static={name}");
        return Pins::of(name, &read(&header));
    }
    let _ = fs::remove_dir_all(&folder);
    // The top first: warnings then name files as they lie in the tree.
    let mut command = Command::new(&tools.verilator);
    command.current_dir(&tools.rtl).args(&arguments).arg("-Mdir").arg(&folder);
    command.args(files.iter().map(|(name, _)| format!("{name}.sv")));
    match command.status() {
        Ok(status) if status.success() => {}
        other => stop(&format!("Verilator does not take {name}: {other:?}")),
    }
    let pins = Pins::of(name, &read(&header));
    let shim_file = folder.join("shim.cpp");
    fs::write(&shim_file, pins.shim(shim)).unwrap_or_else(|e| stop(&format!("shim.cpp: {e}")));
    let mut build = tools.compiler();
    build.include(&folder).file(shim_file);
    let list = read(&folder.join(format!("V{name}_classes.mk")));
    build.files(classes(&list, &["CLASSES", "SUPPORT"]).map(|c| folder.join(format!("{c}.cpp"))));
    build.compile(name);
    println!("cargo:rustc-link-lib=static={name}");
    tools.note(name, &content);
    pins
}

/// Files that the list names for these kinds.
fn classes<'a>(list: &'a str, kinds: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let mut wanted = false;
    list.lines().filter_map(move |line| {
        if let Some(rest) = line.strip_prefix("VM_") {
            wanted = kinds.iter().any(|kind| rest.starts_with(kind)) && rest.contains("+=");
            return None;
        }
        let name = line.trim().trim_end_matches('\\').trim();
        (wanted && !name.is_empty() && !name.starts_with('#')).then_some(name)
    })
}

/// What all blocks share: Verilator's own files.
fn runtime(tools: &Tools) {
    let name = "verilated_runtime";
    let mut files = vec!["verilated.cpp", "verilated_threads.cpp"];
    if cfg!(feature = "rtl-vcd") {
        files.push("verilated_vcd_c.cpp");
    }
    if cfg!(feature = "rtl-fst") {
        files.push("verilated_fst_c.cpp");
    }
    if cfg!(feature = "rtl-coverage") {
        files.push("verilated_cov.cpp");
    }
    let content = format!("{files:?}\n{}", read(Path::new("src/shim/runtime.cpp")));
    if !tools.is_fresh(name, &content) {
        let mut build = tools.compiler();
        build.files(files.iter().map(|file| tools.include.join(file)));
        build.file("src/shim/runtime.cpp");
        build.compile(name);
        tools.note(name, &content);
    }
    println!("cargo:rerun-if-changed=src/shim");
    println!("cargo:rustc-link-lib=static={name}");
}
