//! What is checked: the tracked files and the packages of the workspace.

use crate::run;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A tracked file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path relative to the root, with `/`.
    pub path: String,
    /// Its text; empty when it is not text.
    pub text: String,
}

/// A package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its folder, such as `models/regs`.
    pub folder: String,
    /// What it depends on: name, and `normal`, `dev` or `build`.
    pub dependencies: Vec<(String, String)>,
}

/// Files and packages.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Tracked files.
    pub files: Vec<File>,
    /// Packages.
    pub packages: Vec<Package>,
}

impl Tree {
    /// Reads the tree at `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for path in tracked(root)? {
            // A file that was removed and not committed yet is nobody's problem.
            let Ok(bytes) = std::fs::read(root.join(&path)) else { continue };
            files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
        }
        Ok(Self { files, packages: packages(root)? })
    }

    /// The file with a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|f| f.path == path)
    }
}

/// Paths of the tracked files; of all files where there is no git, as in an unpacked archive.
fn tracked(root: &Path) -> Result<Vec<String>> {
    let listed = run::output(Command::new("git").args(["ls-files", "-z"]).current_dir(root));
    if let Ok(listed) = listed {
        return Ok(listed.split('\0').filter(|p| !p.is_empty()).map(str::to_owned).collect());
    }
    let mut paths = Vec::new();
    walk(root, "", &mut paths)?;
    paths.sort();
    Ok(paths)
}

fn walk(root: &Path, below: &str, paths: &mut Vec<String>) -> Result<()> {
    let folder = root.join(below);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot list {below}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {below}"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let kind = entry.file_type().with_context(|| format!("cannot look at {path}"))?;
        if kind.is_dir() && name != "target" && name != ".git" {
            walk(root, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let args = ["metadata", "--no-deps", "--format-version", "1"];
    let text = run::output(&mut run::cargo(root, &args))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let base = metadata["workspace_root"].as_str().context("cargo metadata names no root")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    Ok(packages.iter().map(|p| package(p, base)).collect())
}

fn package(value: &Value, base: &str) -> Package {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let manifest = text(&value["manifest_path"]).replace('\\', "/");
    let manifest = manifest.strip_prefix(&base.replace('\\', "/")).unwrap_or(&manifest);
    let dependency = |d: &Value| (text(&d["name"]), d["kind"].as_str().unwrap_or("normal").into());
    Package {
        name: text(&value["name"]),
        folder: manifest.trim_matches('/').trim_end_matches("/Cargo.toml").to_owned(),
        dependencies: value["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .map(dependency)
            .collect(),
    }
}
