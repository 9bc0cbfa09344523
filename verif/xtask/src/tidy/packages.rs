//! Who may depend on whom.

use super::{Package, Problem};
use std::collections::BTreeMap;

/// Shared by models and drivers, since there is no behaviour in them that both could get wrong in
/// the same way: layout facts, the vocabulary of events, and the types that engines stand behind.
const FLOORS: &[&str] = &["pollproof-regs", "pollproof-events", "pollproof-sync"];

/// Dev-dependencies between models and driver, with the reason. None is needed.
const DEV_ALLOWED: &[(&str, &str, &str)] = &[];

/// Crates from outside that only some packages may use.
const CONFINED: &[(&str, &[&str])] = &[
    ("clap", &["pollproof-cli", "pollproof-xtask"]),
    ("clap_complete", &["pollproof-cli"]),
    ("clap_mangen", &["pollproof-cli"]),
    ("anyhow", &["pollproof-cli", "pollproof-xtask"]),
    ("loom", &["pollproof-engines"]),
    ("shuttle", &["pollproof-engines"]),
    // engines needs a bigger stack for what loom runs at a thread's end.
    ("corosensei", &["pollproof-explore", "pollproof-engines"]),
    ("serde", &["pollproof-report", "pollproof-cli", "pollproof-xtask"]),
    ("serde_json", &["pollproof-report", "pollproof-cli", "pollproof-xtask"]),
    ("rand_chacha", &["pollproof-sim"]),
    ("pcap-file", &["pollproof-wire"]),
    ("cc", &["pollproof-verilated"]),
    ("vcd", &["pollproof-lockstep"]),
    // The RTL is met beside the model of the same engine, and nowhere else.
    ("pollproof-verilated", &["pollproof-lockstep"]),
];

/// Crates that only tests may use.
const TESTS_ONLY: &[&str] = &["proptest", "proptest-state-machine", "wellen"];

/// Packages whose place in the house allows them these of ours and no other.
const ONLY: &[(&str, &[&str], &str)] = &[
    ("pollproof-sync", &[], "it is the lowest floor"),
    ("pollproof-regs", &[], "layout facts need nothing"),
    ("pollproof-events", &["pollproof-sync"], "a vocabulary knows nobody"),
    ("pollproof-explore", &[], "the model checker knows no program"),
    ("pollproof-engines", &["pollproof-sync", "pollproof-explore"], "adapters know no NIC"),
    ("pollproof-rules", &["pollproof-events"], "rules see events, never internals"),
    ("pollproof-report", &["pollproof-events", "pollproof-rules"], "a report decides nothing"),
    ("pollproof-verilated", &[], "the RTL knows no model"),
    (
        "pollproof-lockstep",
        &[
            "pollproof-verilated",
            "pollproof-connectx-3",
            "pollproof-intel-82599",
            "pollproof-events",
            "pollproof-pcie",
            "pollproof-regs",
            "pollproof-sim",
            "pollproof-sync",
            "pollproof-wire",
        ],
        "lock-step knows models and RTL, and no driver",
    ),
    ("pollproof-xtask", &["pollproof-rules"], "tasks look at the tree"),
];

pub(super) fn check(packages: &[Package]) -> Vec<Problem> {
    let folders: BTreeMap<&str, &str> =
        packages.iter().map(|p| (p.name.as_str(), p.folder.as_str())).collect();
    let mut problems = Vec::new();
    for package in packages {
        if !package.name.starts_with("pollproof-") {
            problems.push(Problem::new(&package.folder, 0, "its name lacks the prefix pollproof-"));
        }
        for (name, kind) in &package.dependencies {
            let wrong = [
                across(package, name, kind, &folders),
                confined(package, name, kind),
                only(package, name, kind),
            ];
            let found = wrong.into_iter().flatten();
            problems.extend(found.map(|what| Problem::new(&package.folder, 0, what)));
        }
    }
    problems.extend(floors_are_shared(packages));
    problems
}

fn area(folder: &str) -> &str {
    folder.split('/').next().unwrap_or_default()
}

/// Models and drivers never see each other, and neither sees verif.
fn across(
    package: &Package,
    name: &str,
    kind: &str,
    folders: &BTreeMap<&str, &str>,
) -> Option<String> {
    let (from, to) = (area(&package.folder), area(folders.get(name)?));
    let allowed = from == to
        || from == "verif"
        || (to != "verif" && FLOORS.contains(&name))
        || (kind == "dev" && DEV_ALLOWED.iter().any(|a| (a.0, a.1) == (&package.name, name)));
    (!allowed).then(|| format!("{from}/ may not depend on {to}/: {name} ({kind})"))
}

fn confined(package: &Package, name: &str, kind: &str) -> Option<String> {
    if TESTS_ONLY.contains(&name) && kind != "dev" {
        return Some(format!("{name} is for tests"));
    }
    let (_, users) = CONFINED.iter().find(|c| c.0 == name)?;
    let allowed = users.contains(&package.name.as_str());
    (!allowed).then(|| format!("{name} may be used by {} alone", users.join(" and ")))
}

fn only(package: &Package, name: &str, kind: &str) -> Option<String> {
    let (_, allowed, why) = ONLY.iter().find(|o| o.0 == package.name)?;
    let wrong = name.starts_with("pollproof-") && kind != "dev" && !allowed.contains(&name);
    wrong.then(|| format!("{} may not depend on {name}: {why}", package.name))
}

/// A floor that only one side stands on is not a floor and belongs to that side.
fn floors_are_shared(packages: &[Package]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for floor in FLOORS {
        for side in ["models", "driver"] {
            let uses = |p: &Package| {
                area(&p.folder) == side
                    && (p.name == *floor || p.dependencies.iter().any(|d| d.0 == *floor))
            };
            if !packages.iter().any(uses) {
                problems.push(Problem::new(
                    *floor,
                    0,
                    format!("a floor that {side}/ does not use"),
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, name: &str, dependencies: &[(&str, &str)]) -> Package {
        let dependencies = dependencies.iter().map(|d| (d.0.to_owned(), d.1.to_owned())).collect();
        Package { name: name.into(), folder: folder.into(), dependencies }
    }

    /// The smallest workspace that is in order, and one more package.
    fn with(extra: Package) -> Vec<String> {
        let floors: &[(&str, &str)] = &[
            ("pollproof-regs", "normal"),
            ("pollproof-events", "normal"),
            ("pollproof-sync", "normal"),
        ];
        let packages = [
            package("models/regs", "pollproof-regs", &[]),
            package("models/events", "pollproof-events", &[("pollproof-sync", "normal")]),
            package("models/nic", "pollproof-nic", floors),
            package("driver/sync", "pollproof-sync", &[]),
            package("driver/nic", "pollproof-nic-driver", floors),
            package("verif/bench", "pollproof-bench", &[("pollproof-nic", "normal")]),
            extra,
        ];
        check(&packages).into_iter().map(|p| p.to_string()).collect()
    }

    #[test]
    fn a_workspace_in_order_has_no_problem() {
        let both = [("pollproof-nic", "normal"), ("pollproof-nic-driver", "normal")];
        assert_eq!(with(package("verif/x", "pollproof-x", &both)), Vec::<String>::new());
    }

    #[test]
    fn sides_that_see_each_other_are_told() {
        for kind in ["normal", "build", "dev"] {
            let model = package("models/x", "pollproof-x", &[("pollproof-nic-driver", kind)]);
            assert_eq!(
                with(model),
                [format!(
                    "models/x: models/ may not depend on driver/: pollproof-nic-driver ({kind})"
                )]
            );
            let driver = package("driver/x", "pollproof-x", &[("pollproof-nic", kind)]);
            assert_eq!(with(driver).len(), 1);
            let driver = package("driver/x", "pollproof-x", &[("pollproof-bench", kind)]);
            assert_eq!(with(driver).len(), 1);
        }
    }

    #[test]
    fn crates_from_outside_stay_where_they_belong() {
        for name in ["clap", "loom", "shuttle", "corosensei", "serde", "serde_json"] {
            let found = with(package("verif/x", "pollproof-x", &[(name, "normal")]));
            assert_eq!(found.len(), 1, "{name}: {found:?}");
        }
        assert_eq!(with(package("verif/x", "pollproof-x", &[("proptest", "normal")])).len(), 1);
        assert!(with(package("verif/x", "pollproof-x", &[("proptest", "dev")])).is_empty());
    }

    #[test]
    fn the_rtl_is_met_in_lockstep_alone_and_knows_nobody() {
        let rtl = |user, folder| {
            let user = package(folder, user, &[("pollproof-verilated", "normal")]);
            let packages = [package("rtl-sim/verilated", "pollproof-verilated", &[]), user];
            check(&packages).into_iter().map(|p| p.what).collect::<Vec<_>>()
        };
        let told = |found: &[String], what: &str| found.iter().any(|f| f.contains(what));
        let found = rtl("pollproof-lockstep", "verif/lockstep");
        assert!(!told(&found, "pollproof-verilated"), "{found:?}");
        let found = rtl("pollproof-bench", "verif/bench");
        assert!(told(&found, "may be used by pollproof-lockstep alone"), "{found:?}");
        let found = rtl("pollproof-nic", "models/nic");
        assert!(told(&found, "models/ may not depend on rtl-sim/"), "{found:?}");
        let knows = [("pollproof-nic", "normal")];
        let found = with(package("rtl-sim/verilated", "pollproof-verilated", &knows));
        assert!(told(&found, "rtl-sim/ may not depend on models/"), "{found:?}");
    }

    #[test]
    fn a_report_that_could_decide_is_told() {
        let report = package("verif/report", "pollproof-report", &[("pollproof-bench", "normal")]);
        assert!(with(report)[0].contains("decides nothing"));
    }

    #[test]
    fn names_carry_the_prefix() {
        assert!(with(package("verif/x", "x", &[]))[0].contains("prefix"));
    }

    #[test]
    fn a_floor_that_one_side_does_not_use_is_told() {
        let found = check(&[package("driver/sync", "pollproof-sync", &[])]);
        assert!(found.iter().any(|p| p.place == "pollproof-sync" && p.what.contains("models/")));
    }
}
