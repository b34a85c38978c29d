//! Settings that had another name in an earlier version: the old one is refused with the new one, wherever it stands.

use super::load::Sources;

/// Old names, and what they are now.
const RENAMED: &[(&str, &str)] = &[("keys_bodies_bytes_max", "keys_answers_bytes_max")];

/// What to say of the first old name that somebody sets; none if nobody does.
pub(super) fn old_name(file: Option<&toml::Table>, sources: &Sources) -> Option<String> {
    let is_set = |name: &str| {
        let variable = format!("NEVERTWICE_{}", name.to_uppercase());
        file.is_some_and(|file| file.contains_key(name))
            || sources.environment.contains_key(&variable)
            || sources.flags.iter().any(|(key, _)| key == name)
    };
    let (old, new) = RENAMED.iter().find(|(old, _)| is_set(old))?;
    Some(format!("`{old}` is called `{new}` now: give it that name"))
}
