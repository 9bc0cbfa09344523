//! docs/RULES.md, written from the catalogue so that it can not go stale.

use anyhow::{bail, Context, Result};
use pollproof_rules::{RuleInfo, CATALOGUE};
use std::fmt::Write as _;
use std::path::Path;

/// Where the document lies.
pub const RULES_MD: &str = "docs/RULES.md";

const HEAD: &str = "# Rules

<!-- Written by `cargo xtask gen-docs` from verif/rules/src/catalogue.rs; edit that. -->

What must hold of every run. A rule is a pure function of the event stream; some are enforced below
the events, by the engine's race detector or by the run-time context. A pass means something only
when the points that a rule must reach were reached. `pollproof explain ID` prints one of them.

";

/// The document.
pub fn rules_md() -> String {
    let mut text = String::from(HEAD);
    for rule in CATALOGUE {
        let anchor = rule.id.to_lowercase();
        let _ = writeln!(text, "- [{}](#{anchor})", rule.id);
    }
    for rule in CATALOGUE {
        section(&mut text, rule);
    }
    text
}

fn section(text: &mut String, rule: &RuleInfo) {
    let points = match rule.must_reach {
        [] => "none".to_owned(),
        points => points.iter().map(|p| format!("`{p}`")).collect::<Vec<_>>().join(", "),
    };
    let _ = write!(text, "\n## {}\n\n{}\n\n", rule.id, wrapped(rule.sentence, ""));
    let blind = upper_first(rule.blind_spots);
    for (name, what) in [("Source", rule.source), ("Blind spots", &blind), ("Must reach", &points)]
    {
        let _ = writeln!(text, "{}", wrapped(&format!("- {name}: {what}"), "  "));
    }
}

/// Breaks text into lines of at most a hundred columns; `indent` starts all but the first.
fn wrapped(text: &str, indent: &str) -> String {
    const COLUMNS: usize = 100;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |l| l.chars().count());
        if line > indent.len() && line + 1 + word.chars().count() > COLUMNS {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if !line.trim().is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// Writes the document.
pub fn write(root: &Path) -> Result<()> {
    let path = root.join(RULES_MD);
    std::fs::write(&path, rules_md()).with_context(|| format!("cannot write {RULES_MD}"))
}

/// Fails when the document is not what [`write`] would write.
pub fn check(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join(RULES_MD)).unwrap_or_default();
    if text != rules_md() {
        bail!("{RULES_MD} is stale: run `cargo xtask gen-docs`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_line_and_its_section() {
        let text = rules_md();
        for rule in CATALOGUE {
            assert!(text.contains(&format!("\n## {}\n", rule.id)), "{}", rule.id);
            assert!(text.contains(&format!("(#{})\n", rule.id.to_lowercase())), "{}", rule.id);
        }
    }

    #[test]
    fn sentences_begin_with_a_capital() {
        assert_eq!(upper_first("enforced by"), "Enforced by");
        assert_eq!(upper_first(""), "");
    }
}
