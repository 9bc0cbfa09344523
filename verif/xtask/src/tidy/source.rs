//! What one source file looks like.

use super::code::{line_of, strip, words, Keep};
use super::{File, Problem};

const LINES_MAX: usize = 500;
const LINES_HABIT: usize = 400;
const COLUMNS_MAX: usize = 100;

/// Words that no source may hold.
const NEVER: &[(&str, &str)] = &[
    ("todo!", "work that is not done is no source"),
    ("unimplemented!", "work that is not done is no source"),
    ("dbg!", "left over from debugging"),
    ("#[ignore", "a test that does not run tests nothing"),
    ("fn test_", "a test is named by a sentence, without test_"),
];

/// What makes two runs differ.
const NOT_REPEATABLE: &[&str] = &[
    "Instant::now",
    "SystemTime",
    "thread_rng",
    "from_entropy",
    "from_os_rng",
    "OsRng",
    "getrandom",
    "RandomState",
    "HashMap",
    "HashSet",
];

/// Words that look the same and are not, or that a file is there for: file, word. Shuttle's own
/// draws from the run's seed; a kernel may run in real time, and must not run for ever.
const REPEATABLE: &[(&str, &str)] =
    &[("verif/engines/src/shuttle.rs", "thread_rng"), ("verif/linux/src/wall.rs", "Instant::now")];

/// Where time and order of the world may show: in what talks to people, in benches, and in a guest,
/// whose clock is its kernel's.
fn may_differ(path: &str) -> bool {
    let folders = ["verif/cli/", "verif/xtask/", "verif/linux/guest/"];
    folders.iter().any(|folder| path.starts_with(folder)) || path.contains("/benches/")
}

/// Where `unsafe` may stand: a cell without a lock, the coroutines, and the bridge to loom, whose
/// types are not `Send`.
const UNSAFE: &[&str] = &[
    "driver/sync/",
    "verif/explore/",
    "verif/engines/src/loom.rs",
    // What a child does before it becomes a kernel.
    "verif/linux/src/boot.rs",
    // System calls of the guest that std has no name for.
    "verif/linux/guest/src/sys.rs",
    // Calls into the Verilated RTL.
    "rtl-sim/verilated/",
];

pub(super) fn check(file: &File) -> Vec<Problem> {
    if !file.path.ends_with(".rs") {
        return Vec::new();
    }
    let mut problems = shape(file);
    let code = strip(&file.text, Keep::Code);
    let mut found = |word: &str, what: String| {
        let lines = words(&code, word).map(|at| line_of(&code, at));
        problems.extend(lines.map(|line| Problem::new(&file.path, line, what.clone())));
    };
    for (word, why) in NEVER {
        found(word, format!("{word}: {why}"));
    }
    if !may_differ(&file.path) {
        let repeats = |word: &str| REPEATABLE.contains(&(file.path.as_str(), word));
        for word in NOT_REPEATABLE.iter().filter(|w| !repeats(w)) {
            found(word, format!("{word}: two runs must not differ"));
        }
    }
    problems.extend(unsafe_places(file, &code));
    problems
}

fn shape(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !file.text.starts_with("//!") {
        problems.push(Problem::new(&file.path, 1, "a file begins with what it is for (//!)"));
    }
    let lines = file.text.lines().count();
    if lines > LINES_HABIT {
        let is_warning = lines <= LINES_MAX;
        let limit = if is_warning { LINES_HABIT } else { LINES_MAX };
        let what = format!("{lines} lines, more than {limit}");
        problems.push(Problem { is_warning, ..Problem::new(&file.path, 0, what) });
    }
    for (i, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX {
            let what = format!("{columns} columns, more than {COLUMNS_MAX}");
            problems.push(Problem::new(&file.path, i + 1, what));
        }
        if line.contains('\t') {
            problems.push(Problem::new(&file.path, i + 1, "a tab"));
        }
    }
    problems
}

fn unsafe_places(file: &File, code: &str) -> Vec<Problem> {
    let allowed = UNSAFE.iter().any(|place| file.path.starts_with(place));
    let is_word = |at: &usize| {
        !code[at + "unsafe".len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    let mut problems = Vec::new();
    for at in words(code, "unsafe").filter(is_word) {
        let line = line_of(code, at);
        if !allowed {
            problems.push(Problem::new(&file.path, line, "unsafe does not belong here"));
        } else if !reasoned(&file.text, line) && !code[at..].starts_with("unsafe fn") {
            problems.push(Problem::new(&file.path, line, "unsafe without a SAFETY comment"));
        }
    }
    problems
}

/// Whether a SAFETY comment stands close above a line.
fn reasoned(text: &str, line: usize) -> bool {
    const ABOVE: usize = 8;
    let first = line.saturating_sub(ABOVE + 1);
    text.lines().skip(first).take(line - first).any(|l| l.contains("SAFETY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.into(), text: text.into() };
        check(&file).into_iter().map(|p| p.to_string()).collect()
    }

    fn in_model(body: &str) -> Vec<String> {
        problems("models/x/src/lib.rs", &format!("//! X.\n{body}\n"))
    }

    #[test]
    fn words_in_comments_and_strings_are_no_code() {
        assert!(in_model("// todo!() unsafe\nconst A: &str = \"HashMap dbg!\";").is_empty());
        assert!(problems("docs/x.md", "todo!").is_empty());
    }

    #[test]
    fn a_file_without_its_purpose_is_told() {
        assert_eq!(
            problems("models/x/src/lib.rs", "fn a() {}\n"),
            ["models/x/src/lib.rs:1: a file begins with what it is for (//!)"]
        );
    }

    #[test]
    fn long_files_are_warned_of_and_then_refused() {
        let of = |lines: usize| in_model(&"//\n".repeat(lines - 2)).join("");
        assert_eq!(of(400), "");
        assert_eq!(of(401), "models/x/src/lib.rs: warning: 401 lines, more than 400");
        assert_eq!(of(501), "models/x/src/lib.rs: 501 lines, more than 500");
    }

    #[test]
    fn long_lines_and_tabs_are_told() {
        assert!(in_model(&"x".repeat(100)).is_empty());
        assert!(in_model(&"x".repeat(101))[0].ends_with(":2: 101 columns, more than 100"));
        assert!(in_model("\tx")[0].ends_with(":2: a tab"));
    }

    #[test]
    fn unfinished_work_is_told() {
        for word in ["todo!()", "unimplemented!()", "dbg!(1)", "#[ignore]", "fn test_a() {}"] {
            assert_eq!(in_model(word).len(), 1, "{word}");
        }
    }

    #[test]
    fn what_makes_runs_differ_is_told_outside_cli_and_benches() {
        for word in NOT_REPEATABLE {
            assert_eq!(in_model(word).len(), 1, "{word}");
            let text = format!("//! X.\n{word}\n");
            assert!(problems("verif/cli/src/main.rs", &text).is_empty());
            assert!(problems("driver/sync/benches/a.rs", &text).is_empty());
        }
    }

    #[test]
    fn unsafe_is_told_where_it_does_not_belong_or_has_no_reason() {
        assert!(in_model("unsafe {}")[0].ends_with(":2: unsafe does not belong here"));
        assert!(in_model("#![allow(unsafe_code)]").is_empty());
        let bare = problems("driver/sync/src/a.rs", "//! X.\nunsafe {}\n");
        assert!(bare[0].ends_with(":2: unsafe without a SAFETY comment"));
        let reasoned = "//! X.\n// SAFETY: nobody else.\nunsafe {}\n";
        assert!(problems("verif/explore/src/a.rs", reasoned).is_empty());
    }
}
