//! The settings of `nevertwice proxy`, and what they name: what a start would refuse, and what it would take and one may not have meant.

use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use nevertwice_api::{Level, Levels};
use nevertwice_idempotency::proxy::{IdentityConfig, ProxyConfig, ProxyError, StoreDownChoice, UpstreamUrl};
use nevertwice_local::clock::{Clock as _, SystemClock};
use nevertwice_server::config::Config;

use super::finding::{Finding, Grade};
use super::permissions::{self, Kept};
use super::{disk, filesystem, limits, nearest, tls};
use crate::proxy::{check_change, check_note, settings_of};

const SETTINGS: &str = "settings";
const SECRET: &str = "secret of keys";
const SERVICE: &str = "service";

/// Looks at all of it. The folder is not opened: a proxy may run on it.
pub(super) fn look(file: &Path, now_ms: i64) -> Vec<Finding> {
    let config = match settings_of(file) {
        Ok(config) => config,
        Err(error) => return vec![refused(&error)],
    };
    let mut findings = judge(&config);
    findings.extend(look_at_secret(&config));
    // The same files and the same listener as a server's.
    let listener = Config {
        listen: config.listen,
        tls_certificate: config.tls_certificate.clone(),
        tls_key: config.tls_key.clone(),
        ..Config::default()
    };
    findings.extend(tls::look(&listener, now_ms));
    if let Some(data) = &config.data {
        let place = nearest(data);
        findings.push(filesystem::look(&place));
        findings.extend(disk::look(data, &place));
    }
    if let Some(upstream) = &config.upstream {
        findings.push(look_at_service(upstream, config.connect_ms));
    }
    findings.push(limits::look_at(&config.bodies.folder.clone().unwrap_or_else(std::env::temp_dir), "connections_max", sockets(&config)));
    findings
}

/// Files that are open at one time: a client's connection, and the service's behind each request that is worked on; those that changed
/// their protocol have both.
fn sockets(config: &ProxyConfig) -> u64 {
    let switched = config.connections_max.saturating_mul(2);
    (config.connections_max + config.requests_max + config.idle_connections_max).saturating_add(switched) as u64
}

fn refused(error: &ProxyError) -> Finding {
    let advice = format!("correct the settings; docs/proxy.md lists them, and the page of {} says more", error.code);
    Finding::new(SETTINGS, Grade::Error, error.detail.clone(), "`nevertwice proxy` would refuse to start.", advice)
}

fn judge(config: &ProxyConfig) -> Vec<Finding> {
    // What a database offers follows from how it is set up: the start asks it.
    let offers = match (&config.store.url, &config.data) {
        (Some(_), _) => Levels::reached(Level::Journaled).and(Levels::reached(Level::Replicated)),
        (None, Some(_)) => Levels::reached(Level::Journaled),
        (None, None) => Levels::reached(Level::Decided),
    };
    let lines = match config.preview(offers) {
        Ok(lines) => lines,
        Err(error) => return vec![refused(&error)],
    };
    let mut findings = Vec::new();
    let mut add = |grade, found: String, means: &str, advice: &str| findings.push(Finding::new(SETTINGS, grade, found, means, advice));
    if config.data.is_none() && config.store.url.is_none() {
        add(
            Grade::Warning,
            "neither `data` nor `store.url` is set".to_owned(),
            "Keys are kept in memory: after a restart a retry of what was carried out runs again.",
            "name a folder with `data`, and a secret with `secret_file`",
        );
    }
    if config.identity == IdentityConfig::Authorization {
        add(
            Grade::Note,
            "callers are told apart by their Authorization header".to_owned(),
            "A client that renews its token between a request and its retry is another caller, and its retry runs again.",
            "where tokens are short-lived, let the front name the caller, and set `identity` to that header",
        );
    }
    for route in config.routes.iter().filter(|route| route.store_down == Some(StoreDownChoice::Open)) {
        add(
            Grade::Warning,
            format!("the route {} has `store_down = \"open\"`", route.path),
            "While the store of keys can't be used, its requests run unguarded, and retries run again.",
            "leave it out, unless a request that runs twice is harmless there",
        );
    }
    if let Some(admin) = config.admin.filter(|admin| !admin.ip().is_loopback()) {
        add(
            Grade::Note,
            format!("`admin` is {admin}"),
            "Nobody is asked for credentials there: whoever reaches it sees the routes and how much passes.",
            "let only those who scrape it reach it",
        );
    }
    if config.admin.is_none() {
        add(
            Grade::Note,
            "`admin` is not set".to_owned(),
            "Nobody can ask whether it is ready, or see how many outcomes are unknown.",
            "set it to an address of this machine",
        );
    }
    let routes = lines.join("; ");
    findings.push(Finding::fine(SETTINGS, routes, "`nevertwice proxy` would take them. What none of the routes matches passes unguarded."));
    findings
}

fn look_at_secret(config: &ProxyConfig) -> Vec<Finding> {
    let Some(file) = &config.secret_file else { return Vec::new() };
    let mut findings = Vec::new();
    let means = "`nevertwice proxy` would refuse to start: under another secret no key would be known, and retries would run again.";
    let advice = "name the file that belongs to the folder with `secret_file`";
    let fits = config.secrets().and_then(|secrets| match (secrets, &config.data) {
        (Some(secrets), Some(data)) => check_note(data, &secrets).and_then(|()| check_change(data, &secrets, SystemClock.now_ms())),
        _ => Ok(()),
    });
    findings.push(match fits {
        Err(error) => Finding::new(SECRET, Grade::Error, error.detail, means, advice),
        Ok(()) => {
            Finding::fine(SECRET, format!("{} holds a secret", file.display()), "It is the folder's, or the first start notes it there.")
        }
    });
    for file in [Some(file), config.previous_secret_file.as_ref()].into_iter().flatten() {
        findings.extend(permissions::look(SECRET, file, Kept::Secret));
    }
    findings
}

/// Whether somebody takes a connection where the service should be. Nothing is sent.
fn look_at_service(upstream: &UpstreamUrl, connect_ms: u64) -> Finding {
    let url = upstream.to_string();
    let means = "Guarded requests would be answered `upstream_unreachable` now: nothing is done with them, and their keys are free.";
    let advice = "start the service, or correct `upstream`";
    match connect(&url, Duration::from_millis(connect_ms)) {
        Ok(()) => Finding::fine(SERVICE, format!("{url} takes connections"), "What it does with requests is not looked at."),
        Err(why) => Finding::new(SERVICE, Grade::Warning, format!("{url} can't be reached: {why}"), means, advice),
    }
}

fn connect(url: &str, within: Duration) -> Result<(), String> {
    let (scheme, authority) = url.split_once("://").unwrap_or(("http", url));
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = if scheme == "https" { 443 } else { 80 };
    let place = if has_port { authority.to_owned() } else { format!("{authority}:{port}") };
    let mut why = "its name has no address".to_owned();
    for address in place.to_socket_addrs().map_err(|error| error.to_string())? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(_) => return Ok(()),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grades(text: &str) -> Vec<(&'static str, Grade)> {
        let config = ProxyConfig::from_toml("proxy.toml", text).expect("they are settings");
        judge(&config).into_iter().map(|finding| (finding.subject, finding.grade)).collect()
    }

    #[test]
    fn settings_are_judged_by_what_they_risk() {
        let safe =
            "upstream = \"http://127.0.0.1:9000\"\nadmin = \"127.0.0.1:8081\"\nidentity = \"nobody\"\ndata = \"d\"\nsecret_file = \"s\"\n";
        assert_eq!(grades(safe), [(SETTINGS, Grade::Fine)]);
        for (change, worst) in [
            ("data = \"d\"\n", Grade::Warning),
            ("identity = \"nobody\"\n", Grade::Note),
            ("admin = \"127.0.0.1:8081\"\n", Grade::Note),
            ("upstream = \"http://127.0.0.1:9000\"\n", Grade::Error),
        ] {
            let found = grades(&safe.replace(change, ""));
            assert_eq!(found.iter().map(|(_, grade)| *grade).max(), Some(worst), "without {change}");
        }
        for (more, worst) in [
            ("[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\nstore_down = \"open\"\n", Grade::Warning),
            ("[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\nlevels = [\"journaled\"]\n", Grade::Fine),
            ("[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\nlevels = [\"replicated\"]\n", Grade::Error),
            ("[[routes]]\nmethods = [\"POST\"]\npath = \"/a\"\nlease_ms = 90000000\n", Grade::Error),
        ] {
            assert_eq!(grades(&format!("{safe}{more}")).iter().map(|(_, grade)| *grade).max(), Some(worst), "{more}");
        }
    }

    #[test]
    fn a_service_is_asked_for_a_connection_alone() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        assert_eq!(connect(&url, Duration::from_secs(5)), Ok(()));
        drop(listener);
        assert!(connect(&url, Duration::from_secs(5)).is_err());
    }
}
