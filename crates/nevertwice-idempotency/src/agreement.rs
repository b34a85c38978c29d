//! Whether the guards and the routes that they are meant for agree. A guard that is bound to a misspelt path guards nothing, and
//! nothing fails: so this is looked at when a service starts.

use std::fmt;

use http::Method;

use crate::routes::{Route, matches};
use crate::{Keys, Routes};

/// Where guards and routes do not agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// The guard is never the first that matches a route: it guards nothing.
    GuardWithoutRoute {
        /// Its pattern.
        pattern: String,
    },
    /// The route takes keys, and no guard looks at all its requests.
    RouteWithoutGuard {
        /// Its method.
        method: Method,
        /// Its path, as the router has it.
        path: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GuardWithoutRoute { pattern } => write!(f, "the guard of {pattern} matches no route that takes keys: it guards nothing"),
            Self::RouteWithoutGuard { method, path } => write!(f, "{method} {path} takes keys, and no guard looks at them"),
        }
    }
}

impl Keys {
    /// Holds the guards against the routes whose contract has an `Idempotency-Key`, written as the router has them (`/charges/{id}`).
    #[must_use]
    pub fn check(&self, routes: &[(Method, &str)]) -> Vec<Warning> {
        check(&self.routes, routes)
    }
}

fn check(guards: &Routes, routes: &[(Method, &str)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, guard) in guards.0.iter().enumerate() {
        let before = &guards.0[..index];
        let is_first =
            |(method, path): &(Method, &str)| meets(guard, method, path) && !before.iter().any(|earlier| covers(earlier, method, path));
        if !routes.iter().any(is_first) {
            warnings.push(Warning::GuardWithoutRoute { pattern: guard.pattern.clone() });
        }
    }
    let unguarded = routes.iter().filter(|(method, path)| !guards.0.iter().any(|guard| covers(guard, method, path)));
    warnings.extend(unguarded.map(|(method, path)| Warning::RouteWithoutGuard { method: method.clone(), path: (*path).to_owned() }));
    warnings
}

/// Whether the guard looks at every request of the route.
pub(crate) fn covers(guard: &Route, method: &Method, path: &str) -> bool {
    // A segment in braces is one that only a segment in braces matches.
    guard.methods.contains(method) && matches(&guard.pattern, path)
}

/// Whether the guard looks at some request of the route.
fn meets(guard: &Route, method: &Method, path: &str) -> bool {
    let (mut wanted, mut given) = (guard.pattern.split('/'), path.split('/'));
    let any = |segment: &str| segment.starts_with('{') && segment.ends_with('}');
    let rest = |segment: &str| segment.starts_with("{*");
    let meet = loop {
        match (wanted.next(), given.next()) {
            (Some(a), Some(b)) if rest(a) || rest(b) => break true,
            (Some(a), Some(b)) if a == b || (any(a) && !b.is_empty()) || (any(b) && !a.is_empty()) => {}
            (None, None) => break true,
            _ => break false,
        }
    };
    meet && guard.methods.contains(method)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn told(guards: &[(&[Method], &str)], routes: &[(Method, &str)]) -> Vec<String> {
        let add = |guards: Routes, (methods, pattern): &(&[Method], &str)| guards.guard(methods, pattern, Policy::ietf());
        check(&guards.iter().fold(Routes::new(), add), routes).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn guards_and_routes_that_agree_say_nothing() {
        for (guard, route) in
            [("/{*rest}", "/charges"), ("/charges/{id}", "/charges/{charge}"), ("/v1/{*rest}", "/v1/{*path}"), ("/charges", "/charges")]
        {
            assert_eq!(told(&[(&[Method::POST], guard)], &[(Method::POST, route)]), [""; 0], "{guard} and {route}");
        }
    }

    #[test]
    fn a_misspelt_guard_and_the_route_that_it_leaves_open_are_told() {
        let told =
            told(&[(&[Method::POST], "/charge"), (&[Method::POST], "/refunds")], &[(Method::POST, "/charges"), (Method::POST, "/refunds")]);
        let expected = [
            "the guard of /charge matches no route that takes keys: it guards nothing",
            "POST /charges takes keys, and no guard looks at them",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn another_method_is_another_route() {
        let routes = [(Method::PUT, "/charges"), (Method::POST, "/charges")];
        assert_eq!(told(&[(&[Method::POST], "/{*rest}")], &routes), ["PUT /charges takes keys, and no guard looks at them"]);
    }

    #[test]
    fn a_guard_behind_another_guards_nothing_and_one_of_some_requests_is_not_enough() {
        let post: &[Method] = &[Method::POST];
        let behind = [(post, "/{*rest}"), (post, "/charges")];
        assert_eq!(
            told(&behind, &[(Method::POST, "/charges")]),
            ["the guard of /charges matches no route that takes keys: it guards nothing"]
        );
        let some = told(&[(post, "/charges/7")], &[(Method::POST, "/charges/{id}")]);
        assert_eq!(some, ["POST /charges/{id} takes keys, and no guard looks at them"]);
    }
}
