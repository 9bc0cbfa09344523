//! How an edit finds its function and changes it.

use super::{Change, Edit};
use std::ops::Range;
use thiserror::Error;

/// Why an edit could not be made. The kernel is then another one than the edits were written for.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum EditError {
    /// The function is not there, or more than once.
    #[error("{file}: {count} definitions of {function}, one was expected")]
    Function {
        /// File.
        file: &'static str,
        /// Function.
        function: &'static str,
        /// How many there are.
        count: usize,
    },
    /// The word is not in the function exactly once.
    #[error("{file}: {function} has {count} times '{word}', one was expected")]
    Word {
        /// File.
        file: &'static str,
        /// Function.
        function: &'static str,
        /// Word.
        word: &'static str,
        /// How many times it is there.
        count: usize,
    },
}

/// `text` with the edit made. An edit that is there already changes nothing.
pub fn apply(text: &str, edit: &Edit) -> Result<String, EditError> {
    match edit.change {
        Change::Wrap { inner, outer } => wrap(text, edit, inner, outer),
        Change::Word { from, to } => word(text, edit, from, to),
        Change::Append { text: more } if text.ends_with(more) => Ok(text.into()),
        Change::Append { text: more } => Ok([text, more].concat()),
    }
}

fn wrap(text: &str, edit: &Edit, inner: &str, outer: &str) -> Result<String, EditError> {
    if !definitions(text, inner).is_empty() {
        return Ok(text.into());
    }
    let found = only(text, edit)?;
    let body = &text[found.clone()];
    let at = words(body, edit.function).next().unwrap_or(0);
    let (before, after) = (&body[..at], &body[at + edit.function.len()..]);
    // Nobody else may call it under a name that is ours.
    let linkage = if before.starts_with("static") { "" } else { "static " };
    let mut edited = text[..found.start].to_owned();
    for part in [linkage, before, inner, after, "\n", outer, &text[found.end..]] {
        edited.push_str(part);
    }
    Ok(edited)
}

fn word(
    text: &str,
    edit: &Edit,
    from: &'static str,
    to: &'static str,
) -> Result<String, EditError> {
    let found = only(text, edit)?;
    let body = &text[found.clone()];
    let places: Vec<_> = words(body, from).collect();
    match places[..] {
        [at] => {
            let at = found.start + at;
            Ok([&text[..at], to, &text[at + from.len()..]].concat())
        }
        [] if words(body, to).count() == 1 => Ok(text.into()),
        _ => {
            let (file, function, count) = (edit.file, edit.function, places.len());
            Err(EditError::Word { file, function, word: from, count })
        }
    }
}

fn only(text: &str, edit: &Edit) -> Result<Range<usize>, EditError> {
    let found = definitions(text, edit.function);
    match &found[..] {
        [one] => Ok(one.clone()),
        _ => {
            let (file, function, count) = (edit.file, edit.function, found.len());
            Err(EditError::Function { file, function, count })
        }
    }
}

/// Definitions of a function: a line that begins at its left edge, has the name before a bracket,
/// and comes to a brace before it comes to a semicolon. Ends with the brace at the left edge.
fn definitions(text: &str, function: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for at in words(text, function) {
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let after = &text[at + function.len()..];
        let begins_line = text[start..at].starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !text[start..at].contains(['(', '=', '*', '/'])
            || start == at;
        let opens = after.find('{').filter(|&b| after.find(';').is_none_or(|s| b < s));
        let ends = after.find("\n}\n").map(|end| at + function.len() + end + 3);
        if let (true, true, Some(_), Some(end)) = (begins_line, after.starts_with('('), opens, ends)
        {
            found.push(start..end);
        }
    }
    found
}

/// Where a word stands by itself.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
static int turn(int a);

static int turn(int a)
{
\tif (a) {
\t\treturn LEFT;
\t}
\treturn turn(a - 1);
}

long other(void)
{
\treturn turn(LEFT);
}
";

    fn wrap_edit(function: &'static str) -> Edit {
        let change = Change::Wrap { inner: "inner", outer: "OURS\n" };
        Edit { file: "a.c", function, change }
    }

    #[test]
    fn a_wrapped_function_keeps_its_body_and_ours_follows() {
        let edited = apply(SOURCE, &wrap_edit("turn")).unwrap();
        assert_eq!(edited.matches("static int inner(int a)\n{").count(), 1);
        assert_eq!(edited.matches("return turn(a - 1);\n}\n\nOURS\n\nlong other").count(), 1);
        assert!(edited.starts_with("static int turn(int a);\n"));
        let edited = apply(SOURCE, &wrap_edit("other")).unwrap();
        assert!(edited.contains("static long inner(void)\n{") && edited.ends_with("}\n\nOURS\n"));
    }

    #[test]
    fn an_edit_made_twice_is_made_once() {
        let append = Change::Append { text: "more\n" };
        let append = Edit { file: "a.c", function: "", change: append };
        assert!(apply(SOURCE, &append).unwrap().ends_with("}\nmore\n"));
        for edit in [wrap_edit("turn"), word_edit("turn"), append] {
            let once = apply(SOURCE, &edit).unwrap();
            assert_ne!(once, SOURCE);
            assert_eq!(apply(&once, &edit).unwrap(), once);
        }
    }

    fn word_edit(function: &'static str) -> Edit {
        Edit { file: "a.c", function, change: Change::Word { from: "LEFT", to: "RIGHT" } }
    }

    #[test]
    fn a_word_is_changed_in_its_function_alone() {
        let edited = apply(SOURCE, &word_edit("turn")).unwrap();
        assert!(edited.contains("return RIGHT;") && edited.contains("turn(LEFT)"));
    }

    #[test]
    fn what_is_not_there_exactly_once_is_named() {
        let error = apply(SOURCE, &wrap_edit("tur")).unwrap_err().to_string();
        assert_eq!(error, "a.c: 0 definitions of tur, one was expected");
        let twice = format!("{SOURCE}\n{SOURCE}");
        let error = apply(&twice, &wrap_edit("turn")).unwrap_err().to_string();
        assert_eq!(error, "a.c: 2 definitions of turn, one was expected");
        let lacks = SOURCE.replace("LEFT", "UP");
        let error = apply(&lacks, &word_edit("turn")).unwrap_err().to_string();
        assert_eq!(error, "a.c: turn has 0 times 'LEFT', one was expected");
    }
}
