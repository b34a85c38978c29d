//! The names in a request's path.

use nevertwice_api::ErrorCode;
use percent_encoding::percent_decode_str;

use crate::refusal::Refusal;

/// What stands in a path for the placeholders of its route.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<(&'static str, String)>);

impl Names {
    /// Reads them from the path of a request that the route's path fits.
    pub(crate) fn of(pattern: &'static str, path: &str) -> Result<Self, Refusal> {
        let mut names = Vec::new();
        for (known, here) in pattern.split('/').zip(path.split('/')) {
            let Some(placeholder) = known.strip_prefix('{').and_then(|known| known.strip_suffix('}')) else { continue };
            let name = percent_decode_str(here).decode_utf8().map_err(|_| {
                Refusal::new(
                    ErrorCode::NameInvalid,
                    "A name in the path is not UTF-8",
                    "Names have 1 to 64 of the letters A to Z and a to z, digits, and - _ . : @",
                )
            })?;
            names.push((placeholder, name.into_owned()));
        }
        Ok(Self(names))
    }

    /// What stands there for `{placeholder}`.
    pub(crate) fn get(&self, placeholder: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == placeholder).map(|(_, name)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_where_their_placeholders_are() {
        let names = Names::of("/v1/markets/{market}/accounts/{account}", "/v1/markets/wc/accounts/a%2Fb%20c").expect("it is UTF-8");
        assert_eq!((names.get("market"), names.get("account"), names.get("sale")), (Some("wc"), Some("a/b c"), None));
        let refused = Names::of("/v1/markets/{market}", "/v1/markets/%ff").expect_err("it is not UTF-8");
        assert_eq!(refused.code(), ErrorCode::NameInvalid);
        assert!(Names::of("/healthz", "/healthz").expect("it has no names").0.is_empty());
    }
}
