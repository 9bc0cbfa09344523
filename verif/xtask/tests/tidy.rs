//! The tree is tidy, as a test, so that no other command is needed to know.

use pollproof_xtask::{root, tidy};

#[test]
fn the_tree_is_tidy() {
    let tree = tidy::Tree::read(&root().unwrap()).unwrap();
    assert!(tree.files.len() > 100 && tree.packages.len() > 15, "the tree was not read");
    let problems: Vec<String> =
        tidy::check(&tree).iter().filter(|p| !p.is_warning).map(ToString::to_string).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
