//! Holds the table against the workspace.

use cargo_metadata::Metadata;

use super::reach::{self, Reach};
use super::table::{BINARY, DEVELOPMENT_FEATURES, FOR_DEVELOPMENT, MAY_BE_ABSENT, NEVER_IMPORTED, WALLS, Wall};
use super::without_std;
use crate::step::Failure;
use crate::workspace::{Workspace, capture};

const FIX_TABLE: &str = "correct xtask/src/walls/table.rs";

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let metadata = workspace.metadata()?;
    let members = reach::members(&metadata);
    let mut wrong = check_table(WALLS, &members, &|name| !reach::versions(&metadata, name).is_empty());
    wrong.extend(check_default_members(&reach::default_members(&metadata)));
    if !wrong.is_empty() {
        return Err(Failure::new(wrong.join("\n"), FIX_TABLE));
    }

    let standing: Vec<&Wall> = WALLS.iter().filter(|wall| members.iter().any(|name| name == wall.package)).collect();
    let mut asked = 0_usize;
    for (index, wall) in standing.iter().enumerate() {
        let names = forbidden(wall, &metadata);
        println!("  {} of {}: {} never reaches {} others", index + 1, standing.len(), wall.package, names.len());
        check_control(workspace, wall, &metadata)?;
        for name in names {
            let versions = reach::versions(&metadata, name);
            let answer = reach::reach(workspace, wall.package, name, &versions)?;
            asked += 1;
            wrong.extend(verdict(wall, name, &answer));
        }
    }
    if !wrong.is_empty() {
        return Err(Failure::new(
            wrong.join("\n"),
            "remove the dependency, or the feature that brings it in; the wall itself moves only with the design",
        ));
    }
    check_shipped_features(workspace)?;
    let core = without_std::check(workspace)?;
    Ok(format!("{} crates, {asked} walls, none has a hole; {core}", standing.len()))
}

/// What the table itself must satisfy, before cargo is asked anything.
fn check_table(walls: &[Wall], members: &[String], is_locked: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let may_be_absent = |name: &str| MAY_BE_ABSENT.iter().any(|(absent, _)| *absent == name);
    for member in members {
        if !walls.iter().any(|wall| wall.package == member) {
            wrong.push(format!("{member} has no walls: every crate of the workspace needs a row"));
        }
    }
    for wall in walls {
        if !members.iter().any(|member| member == wall.package) && !may_be_absent(wall.package) {
            wrong.push(format!("{} has walls, but is no crate of the workspace", wall.package));
        }
        for name in wall.never.iter().copied().flatten() {
            if !is_locked(name) && !may_be_absent(name) {
                wrong.push(format!(
                    "{} must never reach `{name}`, but Cargo.lock knows no such package: misspelt, or missing in MAY_BE_ABSENT",
                    wall.package
                ));
            }
        }
    }
    wrong
}

/// `cargo run` has to find the product, and to build it with the features that it asks for itself: those of another default
/// member would be in it as well.
fn check_default_members(names: &[String]) -> Option<String> {
    let told = || format!("the workspace's default members are {names:?}: only {BINARY} may be one, or `cargo run` runs something else");
    (names != [BINARY]).then(told)
}

/// What is shipped has no planted bugs, no steps and no open readers in it.
fn check_shipped_features(workspace: &Workspace) -> Result<(), Failure> {
    let mut command = workspace.cargo();
    command.args(["tree", "--locked", "-p", BINARY, "-e", "normal", "--prefix", "none", "-f", "{p} | {f}"]);
    let output = capture(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found = development_features(&text);
    if !output.status.success() || !text.contains("nevertwice-local v") {
        return Err(Failure::new("`cargo tree` does not tell the features of what is shipped", "run `cargo tree -p nevertwice` by hand"));
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::new(found.join("\n"), "turn the feature on where it is tested, never in a normal dependency of the product"))
}

/// The lines of `package | feature,feature` that name a feature of development.
fn development_features(tree: &str) -> Vec<String> {
    let ours = tree.lines().filter(|line| line.starts_with("nevertwice"));
    let named = ours.filter(|line| {
        let features = line.split(" | ").nth(1).unwrap_or_default();
        features.trim_end_matches(" (*)").split(',').any(|feature| DEVELOPMENT_FEATURES.contains(&feature))
    });
    named.map(|line| format!("{BINARY} is shipped with {line}")).collect()
}

/// The names that this package must not reach and that exist at all, those that nobody may reach included.
fn forbidden(wall: &Wall, metadata: &Metadata) -> Vec<&'static str> {
    let own = wall.never.iter().copied().flatten().copied();
    let common = NEVER_IMPORTED.iter().copied().filter(|name| *name != wall.package && !FOR_DEVELOPMENT.contains(&(wall.package, name)));
    own.chain(common).filter(|name| !reach::versions(metadata, name).is_empty()).collect()
}

fn check_control(workspace: &Workspace, wall: &Wall, metadata: &Metadata) -> Result<(), Failure> {
    let versions = reach::versions(metadata, wall.control);
    match reach::reach(workspace, wall.package, wall.control, &versions)? {
        Reach::Yes(_) => Ok(()),
        Reach::No | Reach::OnOtherPlatforms => Err(Failure::new(
            format!("control: {} should reach {}, but cargo says that it does not", wall.package, wall.control),
            format!("if the dependency has gone, {FIX_TABLE} with another one; else the walls are blind"),
        )),
    }
}

fn verdict(wall: &Wall, name: &str, answer: &Reach) -> Option<String> {
    match answer {
        Reach::No => None,
        Reach::OnOtherPlatforms if wall.elsewhere.contains(&name) => None,
        Reach::OnOtherPlatforms => Some(format!(
            "{} reaches {name} on another platform ({})\n  see `cargo tree -p {} -e normal --all-features --target all -i {name}`",
            wall.package, wall.why, wall.package
        )),
        Reach::Yes(way) => Some(format!("{} reaches {name} ({}), by this way:\n{way}", wall.package, wall.why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: Wall =
        Wall { package: "pure", never: &[&["runtime", "system"]], elsewhere: &["system"], control: "table", why: "it is pure" };

    fn table_says(walls: &[Wall], members: &[&str], locked: &[&str]) -> String {
        let members: Vec<String> = members.iter().map(|name| (*name).to_owned()).collect();
        check_table(walls, &members, &|name| locked.contains(&name)).join("\n")
    }

    #[test]
    fn a_planted_bug_is_not_shipped() {
        assert!(development_features("nevertwice-local v0.1.0 (/x) | default\nserde v1 | stepped").is_empty());
        assert_eq!(development_features("nevertwice-local v0.1.0 (/x) | default,mutants\n").len(), 1);
        assert_eq!(development_features("nevertwice-server v0.1.0 (/x) | stepped (*)\n").len(), 1);
    }

    #[test]
    fn a_sound_table_passes() {
        assert_eq!(table_says(&[WALL], &["pure"], &["runtime", "system"]), "");
    }

    #[test]
    fn a_misspelt_name_is_no_wall() {
        let text = table_says(&[WALL], &["pure"], &["system"]);
        assert!(text.contains("`runtime`, but Cargo.lock knows no such package"), "{text}");
    }

    #[test]
    fn a_new_crate_needs_walls_and_an_old_row_needs_its_crate() {
        let text = table_says(&[WALL], &["pure", "new"], &["runtime", "system"]);
        assert!(text.contains("new has no walls"), "{text}");
        let text = table_says(&[WALL], &[], &["runtime", "system"]);
        assert!(text.contains("pure has walls, but is no crate"), "{text}");
    }

    #[test]
    fn cargo_run_means_the_product_alone() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_default_members(&names(&[BINARY])), None);
        for wrong in [&[][..], &["xtask"], &[BINARY, "xtask"]] {
            assert!(check_default_members(&names(wrong)).is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_reached_is_told_with_its_way_and_reason() {
        let text = verdict(&WALL, "runtime", &Reach::Yes("runtime v1\n└── pure".into())).expect("a hole");
        assert!(text.contains("pure reaches runtime (it is pure)") && text.contains("└── pure"), "{text}");
        assert!(verdict(&WALL, "runtime", &Reach::OnOtherPlatforms).is_some());
        assert_eq!(verdict(&WALL, "system", &Reach::OnOtherPlatforms), None);
        assert_eq!(verdict(&WALL, "runtime", &Reach::No), None);
    }
}
