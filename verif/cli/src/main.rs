//! The `pollproof` command: parses, calls, prints, exits. It never decides what passes.

#[macro_use]
mod output;
mod args;
mod args_linux;
mod bench;
mod bench_timed;
mod check;
mod exit;
mod explore;
mod figures;
mod gro_modes;
mod linux;
mod linux_check;
mod linux_explore;
mod linux_run;
mod linux_scenarios;
mod lockstep;
mod one;
mod progress;
mod run;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no errors; clap itself knows which stream they belong to.
            let _ = error.print();
            let code = if error.use_stderr() { exit::USAGE } else { exit::CLEAN };
            return ExitCode::from(code);
        }
    };
    let outcome = std::panic::catch_unwind(|| dispatch(&args));
    ExitCode::from(match outcome {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            eprintln!("pollproof: {error:#}");
            exit::USAGE
        }
        Err(_) => {
            eprintln!("pollproof: internal error; please report it with the command that you ran");
            exit::INTERNAL
        }
    })
}

fn dispatch(args: &args::Args) -> anyhow::Result<u8> {
    use args::Command::*;
    match &args.command {
        Check(options) => check::check(options, args.quiet),
        List => Ok(one::list()),
        Explain { id } => one::explain(id),
        Replay { token } => one::replay(token),
        Explore(options) => explore::explore(options, args.quiet),
        Barriers(options) => one::barriers(options, args.quiet),
        Linux(command) => linux::linux(command, args.quiet),
        Run(options) => run::run(options),
        Lockstep(options) => lockstep::lockstep(options, args.quiet),
        Bench(options) => bench::bench(options, args.quiet),
        Figures(options) => figures::figures(options, args.quiet),
        Doctor => Ok(one::doctor()),
        Completions { shell } => Ok(one::completions(*shell)),
    }
}
