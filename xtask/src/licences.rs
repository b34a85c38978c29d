//! Licences of the dependencies, all of them: those of tests, of build scripts and of other platforms too.

use std::collections::BTreeMap;

use spdx::{Expression, LicenseItem, LicenseReq, ParseMode};

use crate::step::Failure;
use crate::workspace::Workspace;

/// Permissive licences: whoever uses nevertwice owes their authors a notice and nothing else.
const ALLOWED: &[&str] =
    &["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "Unicode-3.0", "Unlicense", "Zlib"];

/// Additions to a licence that only grant more.
const ALLOWED_ADDITIONS: &[&str] = &["LLVM-exception"];

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let metadata = workspace.metadata()?;
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut refused = Vec::new();
    let mut checked = 0_usize;
    for package in &metadata.packages {
        let expression = package.license.as_deref();
        match accept(expression) {
            Ok(()) => *used.entry(expression.unwrap_or_default().to_owned()).or_default() += 1,
            Err(reason) => refused.push(format!("{} {}: {reason}", package.name, package.version)),
        }
        checked += 1;
    }
    if checked <= metadata.workspace_members.len() {
        return Err(Failure::new(
            format!("only {checked} packages were found, not one of them a dependency"),
            "check that `cargo metadata` resolves the dependencies",
        ));
    }
    if !refused.is_empty() {
        return Err(Failure::new(
            refused.join("\n"),
            "choose another crate; or, if the licence is permissive, add it to ALLOWED in xtask/src/licences.rs",
        ));
    }
    Ok(format!("{checked} packages under {} expressions, all of them permissive", used.len()))
}

/// Can we choose only allowed licences out of this expression?
fn accept(expression: Option<&str>) -> Result<(), String> {
    let Some(text) = expression else {
        return Err("its manifest names no licence".into());
    };
    // Old manifests write `MIT/Apache-2.0` for `MIT OR Apache-2.0`.
    let parsed =
        Expression::parse_mode(text, ParseMode::LAX).map_err(|error| format!("`{text}` is no licence expression: {}", error.reason))?;
    if parsed.evaluate(is_allowed) { Ok(()) } else { Err(format!("`{text}` is not on the list of allowed licences")) }
}

fn is_allowed(requirement: &LicenseReq) -> bool {
    let LicenseItem::Spdx { id, .. } = &requirement.license else {
        return false;
    };
    let addition = requirement.addition.as_ref().map(ToString::to_string);
    ALLOWED.contains(&id.name) && addition.is_none_or(|name| ALLOWED_ADDITIONS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissive_expressions_pass() {
        for expression in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
        ] {
            assert_eq!(accept(Some(expression)), Ok(()), "{expression}");
        }
    }

    #[test]
    fn others_are_refused_with_what_they_say() {
        for (expression, told) in [
            (Some("GPL-3.0-only"), "`GPL-3.0-only` is not on the list"),
            (Some("MIT AND AGPL-3.0-only"), "is not on the list"),
            (Some("Apache-2.0 WITH Classpath-exception-2.0"), "is not on the list"),
            (Some("LicenseRef-house"), "is not on the list"),
            (Some("free for all"), "is no licence expression"),
            (None, "names no licence"),
        ] {
            let text = accept(expression).expect_err("this licence must be refused");
            assert!(text.contains(told), "{text}");
        }
    }

    #[test]
    fn every_allowed_name_exists() {
        for name in ALLOWED {
            assert!(spdx::license_id(name).is_some(), "{name}");
        }
        for name in ALLOWED_ADDITIONS {
            assert!(spdx::exception_id(name).is_some(), "{name}");
        }
    }
}
