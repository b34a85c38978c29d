//! The shared parts of scripts, and how a script's text is put together.

const INCLUDE: &str = "-- include ";

/// Every file of `lua/lib`, by its name.
const LIBS: &[(&str, &str)] = &[
    ("clock", include_str!("../lua/lib/clock.lua")),
    ("key_record", include_str!("../lua/lib/key_record.lua")),
    ("key_registration", include_str!("../lua/lib/key_registration.lua")),
    ("levels", include_str!("../lua/lib/levels.lua")),
    ("market", include_str!("../lua/lib/market.lua")),
    ("numbers", include_str!("../lua/lib/numbers.lua")),
    ("order", include_str!("../lua/lib/order.lua")),
    ("release", include_str!("../lua/lib/release.lua")),
    ("sale", include_str!("../lua/lib/sale.lua")),
    ("shard", include_str!("../lua/lib/shard.lua")),
];

/// The text with each line `-- include NAME` replaced by that part.
///
/// # Panics
///
/// If there is no part of that name. Every script's text is built by a test.
pub(crate) fn with_includes(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.lines() {
        match line.strip_prefix(INCLUDE) {
            Some(name) => text.push_str(lib(name)),
            None => text.push_str(line),
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

fn lib(name: &str) -> &'static str {
    let found = LIBS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no part of scripts is named {name}")).1
}
