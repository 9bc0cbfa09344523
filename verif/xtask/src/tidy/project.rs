//! What belongs to the project as a whole: licences, the lock file, and nothing of one machine.

use super::code::line_of;
use super::{File, Problem, Tree};

/// Files without which the project is not whole, with words that they hold.
const PRESENT: &[(&str, &str)] = &[
    ("LICENSE-MIT", "Permission is hereby granted, free of charge"),
    ("LICENSE-APACHE", "Version 2.0, January 2004"),
    ("Cargo.lock", "[[package]]"),
    ("clippy.toml", "std::collections::HashMap"),
    ("clippy.toml", "std::collections::HashSet"),
    ("clippy.toml", "std::time::Instant::now"),
    ("clippy.toml", "std::time::SystemTime::now"),
];

/// Top folders of a machine, without their slash so that this list does not name them.
const TOP: &[&str] = &["work", "home", "root", "tmp", "Users"];

/// Parts of names of hosts that serve packages, likewise in two halves.
const HOSTS: &[(&str, &str)] = &[
    ("index.", "crates.io"),
    ("static.", "crates.io"),
    ("sparse+", "http"),
    ("artifact", "ory"),
    ("proxy.", "golang.org"),
    ("files.", "pythonhosted.org"),
];

/// Where locked packages come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, words) in PRESENT {
        match tree.file(path) {
            None => problems.push(Problem::new(*path, 0, "missing")),
            Some(f) if !f.text.contains(words) => {
                problems.push(Problem::new(*path, 0, format!("lacks `{words}`")));
            }
            Some(_) => {}
        }
    }
    for file in &tree.files {
        problems.extend(machine_paths(file));
        problems.extend(hosts(file));
        problems.extend(without_lints(file));
    }
    problems.dedup();
    problems
}

/// Places like a slash and `home`, where a path begins.
fn machine_paths(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for top in TOP {
        let path = format!("/{top}");
        for (at, _) in file.text.match_indices(&path) {
            let before = file.text[..at].chars().next_back();
            let after = file.text[at + path.len()..].chars().next();
            let begins = !before.is_some_and(|c| c.is_alphanumeric() || "_-./*}>$)".contains(c));
            let ends = after.is_none_or(|c| !c.is_alphanumeric() && !"_-.".contains(c));
            if begins && ends {
                let line = line_of(&file.text, at);
                problems.push(Problem::new(
                    &file.path,
                    line,
                    format!("a path of a machine, {path}"),
                ));
            }
        }
    }
    problems
}

fn hosts(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (head, tail) in HOSTS {
        let host = format!("{head}{tail}");
        for (at, _) in file.text.match_indices(&host) {
            let line = line_of(&file.text, at);
            problems.push(Problem::new(&file.path, line, format!("names a registry, {host}")));
        }
    }
    if file.path == "Cargo.lock" {
        for (i, line) in file.text.lines().enumerate() {
            let source = line.strip_prefix("source = ").map(|s| s.trim_matches('"'));
            if source.is_some_and(|s| s != REGISTRY) {
                problems.push(Problem::new(&file.path, i + 1, "not from the common registry"));
            }
        }
    }
    problems
}

fn without_lints(file: &File) -> Option<Problem> {
    let is_package = file.path.ends_with("/Cargo.toml") && file.text.contains("[package]");
    let has = file.text.replace(' ', "").contains("[lints]\nworkspace=true");
    (is_package && !has).then(|| Problem::new(&file.path, 0, "lacks the lints of the workspace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    /// A project that is whole, with one file more or changed.
    fn problems(path: &str, text: &str) -> Vec<String> {
        let mut files = vec![file(path, text)];
        for (path, words) in PRESENT {
            let present = files.iter().position(|f| f.path == *path);
            match present {
                Some(0) => {}
                Some(i) => files[i].text.push_str(words),
                None => files.push(file(path, words)),
            }
        }
        check(&Tree { files, packages: Vec::new() }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_whole_project_has_no_problem() {
        let text = "src/work a.rs ../home root / tmp docs/tmp-x /working";
        assert_eq!(problems("README.md", text), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_told() {
        assert_eq!(
            problems("LICENSE-MIT", "mine"),
            ["LICENSE-MIT: lacks `Permission is hereby granted, free of charge`"]
        );
        let found = check(&Tree::default());
        assert!(found.iter().any(|p| p.place == "Cargo.lock" && p.what == "missing"));
    }

    #[test]
    fn paths_of_a_machine_are_told() {
        for top in TOP {
            for text in [format!("a\ncd /{top}/x"), format!("\n\"/{top}\"")] {
                assert_eq!(
                    problems("a.sh", &text),
                    [format!("a.sh:2: a path of a machine, /{top}")]
                );
            }
        }
    }

    #[test]
    fn registries_are_told() {
        for (head, tail) in HOSTS {
            assert_eq!(problems("a.toml", &format!("{head}{tail}")).len(), 1);
        }
        let locked = "[[package]]\nsource = \"registry+https://example.org/index\"\n";
        assert_eq!(problems("Cargo.lock", locked), ["Cargo.lock:2: not from the common registry"]);
    }

    #[test]
    fn a_package_without_lints_is_told() {
        let found = problems("verif/x/Cargo.toml", "[package]\nname = \"x\"\n");
        assert_eq!(found, ["verif/x/Cargo.toml: lacks the lints of the workspace"]);
    }
}
