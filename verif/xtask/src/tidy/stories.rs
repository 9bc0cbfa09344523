//! Bugs in the code, stories of them, rules that catch them and the rules' document agree.

use super::code::{line_of, strings_after, strip, words, Keep};
use super::{File, Problem, Tree};
use crate::docs::RULES_MD;
use pollproof_rules::{info, CATALOGUE};
use std::collections::{BTreeMap, BTreeSet};

const STORIES: &str = "verif/bugs/src/stories/";
/// Faults in the models that lock-step with the RTL must find.
const PLANTS: &str = "verif/lockstep/src/plants.rs";

/// A name with where it stands.
type Named = BTreeMap<String, (String, usize)>;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = switches_and_stories(tree);
    problems.extend(tree.files.iter().filter(|f| names_rules(&f.path)).flat_map(unknown_rules));
    problems.extend(undocumented_rules(tree));
    problems
}

fn names_rules(path: &str) -> bool {
    path.ends_with(".rs")
        && path.contains("/src/")
        && ["driver/", "models/", "verif/bugs/", "verif/bench/"].iter().any(|p| path.starts_with(p))
}

/// Names that follow `lead` in the files that `wanted` picks.
fn named(tree: &Tree, wanted: impl Fn(&str) -> bool, lead: &str) -> Named {
    let mut names = Named::new();
    for file in tree.files.iter().filter(|f| f.path.ends_with(".rs") && wanted(&f.path)) {
        for (line, name) in strings_after(&strip(&file.text, Keep::Strings), lead) {
            names.entry(name).or_insert((file.path.clone(), line));
        }
    }
    names
}

fn switches_and_stories(tree: &Tree) -> Vec<Problem> {
    let in_code = |path: &str| {
        (path.starts_with("driver/") || path.starts_with("models/")) && path.contains("/src/")
    };
    let switches = named(tree, in_code, "bug(");
    let mut stories = named(tree, |path| path.starts_with(STORIES), "id:");
    stories.extend(named(tree, |path| path == PLANTS, "model("));
    let missing = |of: &Named, other: &Named, what: &str| {
        let problem = |(id, place): (&String, &(String, usize))| {
            Problem::new(&place.0, place.1, format!("{id} {what}"))
        };
        of.iter().filter(|(id, _)| !other.contains_key(*id)).map(problem).collect::<Vec<_>>()
    };
    let mut problems = missing(&switches, &stories, "is a bug without a story");
    problems.extend(missing(&stories, &switches, "is a story without a bug in the code"));
    problems
}

/// Rules that are named and that the catalogue does not know.
fn unknown_rules(file: &File) -> Vec<Problem> {
    let text = strip(&file.text, Keep::Strings);
    // What the house's own tests make up is theirs.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut names = strings_after(text, "rule:");
    names.extend(strings_after(text, "fault("));
    names.extend(points(text));
    let known: BTreeSet<&str> = CATALOGUE.iter().map(|r| r.id).collect();
    let unknown = names.into_iter().filter(|(_, name)| !known.contains(name.as_str()));
    unknown
        .map(|(line, name)| Problem::new(&file.path, line, format!("{name} is no known rule")))
        .collect()
}

/// Rules of points that must be reached, such as `("NAPI-ID", "hashed")`, where such lists are.
fn points(text: &str) -> Vec<(usize, String)> {
    if !text.contains("must_reach") {
        return Vec::new();
    }
    let found = |at: usize| {
        let (rule, rest) = text[at + 2..].split_once('"')?;
        let point = rest.strip_prefix(", \"")?.split('"').next()?;
        let is_rule = info(rule).is_some()
            || (rule.contains('-') && rule.chars().all(|c| c.is_ascii_uppercase() || c == '-'));
        (is_rule && !point.is_empty()).then(|| (line_of(text, at), rule.to_owned()))
    };
    words(text, "(\"").filter_map(found).collect()
}

fn undocumented_rules(tree: &Tree) -> Vec<Problem> {
    let text = tree.file(RULES_MD).map_or("", |f| f.text.as_str());
    let stale = text != crate::docs::rules_md();
    let mut problems: Vec<Problem> = CATALOGUE
        .iter()
        .filter(|rule| !text.contains(&format!("## {}\n", rule.id)))
        .map(|rule| Problem::new(RULES_MD, 0, format!("{} is not in it", rule.id)))
        .collect();
    if stale {
        problems.push(Problem::new(RULES_MD, 0, "stale: run `cargo xtask gen-docs`"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let mut files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: (*path).into(), text: (*text).into() })
            .collect();
        if !files.iter().any(|f| f.path == RULES_MD) {
            files.push(File { path: RULES_MD.into(), text: crate::docs::rules_md() });
        }
        Tree { files, packages: Vec::new() }
    }

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        check(&tree(files)).into_iter().map(|p| p.to_string()).collect()
    }

    const DRIVER: &str = "driver/x/src/lib.rs";
    const STORY: &str = "verif/bugs/src/stories/b_1.rs";

    #[test]
    fn a_bug_and_its_story_belong_together() {
        let (bug, story) = ("if bug(\"B-1\") {}", "id: \"B-1\", rule: \"NAPI-ID\"");
        assert!(problems(&[(DRIVER, bug), (STORY, story)]).is_empty());
        assert_eq!(
            problems(&[(DRIVER, bug)]),
            [format!("{DRIVER}:1: B-1 is a bug without a story")]
        );
        assert_eq!(
            problems(&[(DRIVER, "// bug(\"B-1\")"), (STORY, story)]),
            [format!("{STORY}:1: B-1 is a story without a bug in the code")]
        );
    }

    #[test]
    fn a_rule_that_nobody_knows_is_told() {
        for text in [
            "rule: \"NAPI-IDEA\"",
            "fault(\"NAPI-IDEA\", x)",
            "must_reach: &[(\"NAPI-IDEA\", \"hashed\")]",
        ] {
            assert_eq!(
                problems(&[("verif/bugs/src/scenarios/a.rs", text)]),
                ["verif/bugs/src/scenarios/a.rs:1: NAPI-IDEA is no known rule"]
            );
        }
        assert!(problems(&[("verif/explore/src/a.rs", "rule: \"NAPI-IDEA\"")]).is_empty());
    }

    #[test]
    fn a_rule_that_the_document_lacks_is_told() {
        let all = crate::docs::rules_md();
        let found = problems(&[(RULES_MD, &all.replace("## NAPI-ID\n", ""))]);
        assert_eq!(
            found,
            [
                "docs/RULES.md: NAPI-ID is not in it",
                "docs/RULES.md: stale: run `cargo xtask gen-docs`"
            ]
        );
    }
}
