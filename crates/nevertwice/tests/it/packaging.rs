//! What packages the server: the image, the compose file, the unit and the examples of settings, as far as they can be tried
//! without the program that runs them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nevertwice_idempotency::proxy::ProxyConfig;
use nevertwice_server::config::{Config, SETTINGS, Sources, load};
use serde_json::Value;
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::Serving;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The Dockerfile's instructions, each with the rest of its lines.
fn instructions() -> Vec<(String, String)> {
    let whole = text("Dockerfile").replace("\\\n", " ");
    let lines = whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).map(|(word, rest)| (word.to_owned(), rest.trim().to_owned())).collect()
}

/// The list of words of an instruction in exec form.
fn words(list: &str) -> Vec<String> {
    serde_json::from_str(list).unwrap_or_else(|error| panic!("{list}: {error}"))
}

fn one<'a>(instructions: &'a [(String, String)], word: &str) -> &'a str {
    let found: Vec<&str> = instructions.iter().filter(|(known, _)| known == word).map(|(_, rest)| rest.as_str()).collect();
    assert_eq!(found.len(), 1, "{word}");
    found[0]
}

#[test]
fn the_image_copies_what_is_there_and_is_not_left_out() {
    let instructions = instructions();
    let ignored = text(".dockerignore");
    assert!(ignored.lines().any(|line| line == "*"), "only what is named gets into the context");
    let taken: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let mut from_here = 0;
    for (_, rest) in instructions.iter().filter(|(word, _)| word == "COPY") {
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        if words.first().is_some_and(|word| word.starts_with("--from=")) {
            continue;
        }
        words.pop().expect("a COPY has a destination");
        for source in words {
            from_here += 1;
            assert!(root().join(source).exists(), "{source} is not there");
            let first = source.split('/').next().unwrap_or(source);
            let is_taken = taken.iter().any(|taken| taken.strip_suffix('*').map_or(*taken == first, |begin| first.starts_with(begin)));
            assert!(is_taken, "{source} is left out by .dockerignore");
        }
    }
    assert!(from_here >= 6);
    // Whatever is made part of the binary from outside of the crates is copied before it is built.
    let needed = included_from_outside(&root().join("crates"));
    assert!(needed.len() >= 3, "{needed:?}");
    for needed in needed {
        assert!(instructions.contains(&("COPY".to_owned(), format!("{needed} {needed}"))), "{needed}");
    }
}

/// The folders beside `crates` from which sources of the crates include files.
fn included_from_outside(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests" && name != "target") {
                found.extend(included_from_outside(&path));
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(&path).expect("a source is text");
            let includes = source.split("include_str!(").chain(source.split("include_bytes!(")).skip(1);
            let outside =
                includes.filter_map(|rest| rest.split('"').nth(1)?.split_once("../../../")?.1.split('/').find(|part| *part != ".."));
            found.extend(outside.filter(|name| root().join(name).is_dir() && *name != "crates").map(str::to_owned));
        }
    }
    found
}

#[test]
fn the_image_builds_as_this_workspace_asks_and_runs_as_nobody_in_particular() {
    let instructions = instructions();
    let stages: Vec<&str> = instructions.iter().filter(|(word, _)| word == "FROM").map(|(_, rest)| rest.as_str()).collect();
    let [build, run] = stages[..] else { panic!("two stages: {stages:?}") };
    let manifest = text("Cargo.toml");
    let (_, version) = manifest.split_once("rust-version = \"").expect("a version of Rust");
    let version = version.split('"').next().expect("its end");
    assert!(build.starts_with(&format!("rust:{version}-")) && build.ends_with(" AS build"), "{build}");
    assert!(run.starts_with("debian:") && run.contains("slim") && !run.contains("latest"), "{run}");
    // What is linked in one must run in the other.
    assert!(build.contains("bookworm") && run.contains("bookworm"));
    let user = one(&instructions, "USER");
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "a number, so that it can be checked: {user}");
    let last_stage = instructions.iter().rposition(|(word, _)| word == "FROM").expect("a stage");
    let user_at = instructions.iter().position(|(word, _)| word == "USER").expect("a user");
    assert!(
        user_at > last_stage && !instructions[user_at..].iter().any(|(word, _)| word == "RUN" || word == "ADD"),
        "nothing runs as another"
    );
    assert!(!instructions.iter().any(|(word, _)| word == "ADD"));
    let no_secret = |rest: &str| !["_KEY=", "PASSWORD", "SECRET"].iter().any(|word| rest.contains(word));
    assert!(instructions.iter().all(|(_, rest)| no_secret(rest)), "a secret in a layer stays there");
    let started: Vec<String> = words(one(&instructions, "ENTRYPOINT")).into_iter().chain(words(one(&instructions, "CMD"))).collect();
    assert_eq!(started[..2], ["nevertwice", "serve"]);
    assert_eq!(started.last().map(String::as_str), Some("/etc/nevertwice/nevertwice.toml"));
    let config = example("container.toml", &[("NEVERTWICE_OPERATOR_KEY", "0123456789abcdef")]);
    let volumes = words(one(&instructions, "VOLUME"));
    assert!(
        config.data.starts_with(&volumes[0]) && config.person_key_path().starts_with(&volumes[0]),
        "what has to stay lies in the volume"
    );
    assert_eq!(one(&instructions, "EXPOSE"), config.listen.port().to_string());
}

#[test]
#[cfg(unix)]
fn the_image_s_health_check_tells_a_ready_server_from_none() {
    let instructions = instructions();
    let (_, check) = one(&instructions, "HEALTHCHECK").split_once("CMD ").expect("a command");
    let mut command = words(check);
    let folder = TempDir::new().expect("a folder can be made");
    let serving = Serving::start(&folder.path().join("data"), &[]);
    let (_, port) = serving.address().rsplit_once(':').expect("a port");
    let script = command.pop().expect("a script");
    assert!(script.contains("/dev/tcp/127.0.0.1/8080"), "{script}");
    let script = script.replace("8080", port);
    let is_healthy = || {
        let mut check = Command::new(&command[0]);
        check.args(&command[1..]).arg(&script).output().expect("it starts").status.success()
    };
    assert!(is_healthy());
    assert!(serving.signal("-TERM").status.success());
    assert!(!is_healthy());
}

#[test]
fn the_compose_file_gives_the_container_little_and_keeps_its_data() {
    let compose: Value = serde_saphyr::from_str(&text("compose.yml")).expect("it is YAML");
    let service = &compose["services"]["nevertwice"];
    let config = example("container.toml", &[("NEVERTWICE_OPERATOR_KEY", "0123456789abcdef")]);
    let volume = service["volumes"][0].as_str().expect("a volume");
    let (name, at) = volume.split_once(':').expect("a name and a place");
    assert!(compose["volumes"].as_object().expect("volumes").contains_key(name) && config.data.starts_with(at), "{volume}");
    assert_eq!((&service["read_only"], &service["cap_drop"][0]), (&Value::Bool(true), &Value::from("ALL")));
    assert_eq!(service["security_opt"][0], "no-new-privileges:true");
    assert!(service["ulimits"]["nofile"].as_u64().expect("a limit") >= config.connections_max as u64 + 100);
    let grace = service["stop_grace_period"].as_str().and_then(|grace| grace.strip_suffix('s')?.parse::<u64>().ok()).expect("seconds");
    assert!(grace * 1_000 > config.drain_ms);
    let port = service["ports"][0].as_str().expect("a port");
    assert!(port.starts_with("127.0.0.1:") && port.ends_with(&format!(":{}", config.listen.port())), "{port}");
    let environment = service["environment"].as_object().expect("settings");
    for (variable, value) in environment {
        let setting = variable.strip_prefix("NEVERTWICE_").expect(variable).to_lowercase();
        assert!(SETTINGS.iter().any(|known| known.key == setting), "{variable}");
        assert!(value.as_str().is_some_and(|value| value.starts_with(&format!("${{{variable}:"))), "it comes from outside: {variable}");
    }
}

#[test]
fn the_compose_file_s_pair_is_a_primary_and_a_standby_that_follows_it() {
    let compose: Value = serde_saphyr::from_str(&text("compose.yml")).expect("it is YAML");
    let config = example("container.toml", &[("NEVERTWICE_OPERATOR_KEY", "0123456789abcdef")]);
    let alone = &compose["services"]["nevertwice"];
    assert!(alone["profiles"].is_null(), "one node needs no profile");
    let mut ports = vec![alone["ports"][0].clone()];
    for name in ["primary", "standby"] {
        let service = &compose["services"][name];
        assert_eq!(service["profiles"][0], "pair");
        // What keeps one node in its place keeps these.
        for member in ["restart", "stop_grace_period", "read_only", "cap_drop", "security_opt", "ulimits", "image"] {
            assert_eq!(service[member], alone[member], "{name} {member}");
        }
        let port = &service["ports"][0];
        assert!(
            port.as_str().is_some_and(|port| port.starts_with("127.0.0.1:") && port.ends_with(":8080")) && !ports.contains(port),
            "{port}"
        );
        ports.push(port.clone());
        let (volume, at) = service["volumes"][0].as_str().and_then(|volume| volume.split_once(':')).expect("a volume");
        assert!(volume == name && compose["volumes"].as_object().expect("volumes").contains_key(name) && config.data.starts_with(at));
        let environment = service["environment"].as_object().expect("settings");
        let setting = |variable: &String| variable.strip_prefix("NEVERTWICE_").expect(variable).to_lowercase();
        assert!(environment.keys().all(|variable| SETTINGS.iter().any(|known| known.key == setting(variable))), "{environment:?}");
        assert_eq!(environment["NEVERTWICE_PERSON_KEY_FILE"], "/run/secrets/person_key");
        // A secret is mounted under its name.
        let secrets = service["secrets"].as_array().expect("secrets");
        assert!(secrets.iter().all(|secret| !compose["secrets"][secret.as_str().expect("a name")]["environment"].is_null()));
        let command = service["command"].as_array().expect("a command").iter().map(|word| word.as_str().expect("a word"));
        let mentioned = command.clone().filter_map(|word| word.strip_prefix("/run/secrets/"));
        assert!(mentioned.chain(["person_key"]).all(|secret| secrets.contains(&Value::from(secret))), "{secrets:?}");
        // The binary understands the command; what it names is not on this machine.
        let output = Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(command).ran();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains("/etc/nevertwice/nevertwice.toml"), "{name}: {told}");
    }
    let follows = &compose["services"]["standby"]["command"][2];
    assert_eq!(follows, "http://primary:8080", "by the name of the other service");
}

#[test]
fn the_compose_file_s_proxy_is_one_that_starts() {
    let compose: Value = serde_saphyr::from_str(&text("compose.yml")).expect("it is YAML");
    let (service, alone) = (&compose["services"]["proxy"], &compose["services"]["nevertwice"]);
    assert_eq!(service["profiles"][0], "proxy");
    for member in ["restart", "read_only", "cap_drop", "security_opt", "image"] {
        assert_eq!(service[member], alone[member], "{member}");
    }
    let (volume, at) = service["volumes"][0].as_str().and_then(|volume| volume.split_once(':')).expect("a volume");
    assert!(compose["volumes"].as_object().expect("volumes").contains_key(volume));
    let command: Vec<&str> = service["command"].as_array().expect("a command").iter().filter_map(Value::as_str).collect();
    let flag = |name: &str| command.iter().skip_while(|word| **word != name).nth(1).copied().unwrap_or_else(|| panic!("no {name}"));
    assert!(Path::new(flag("--data")).starts_with(at), "keys lie in the volume");
    let secret = flag("--secret-file").strip_prefix("/run/secrets/").expect("a secret is mounted under its name");
    assert!(service["secrets"].as_array().expect("secrets").contains(&Value::from(secret)));
    assert!(!compose["secrets"][secret]["environment"].is_null());
    let ports: Vec<&str> = service["ports"].as_array().expect("ports").iter().filter_map(Value::as_str).collect();
    for (name, port) in [("--listen", ports[0]), ("--admin", ports[1])] {
        let inside = flag(name).rsplit_once(':').expect("a port").1;
        assert!(port.starts_with("127.0.0.1:") && port.ends_with(&format!(":{inside}")), "{port}");
    }
    let check = service["healthcheck"]["test"].to_string();
    assert!(check.contains(&format!("/dev/tcp/127.0.0.1/{}", flag("--admin").rsplit_once(':').expect("a port").1)), "{check}");
    let config = ProxyConfig::default();
    let grace = service["stop_grace_period"].as_str().and_then(|grace| grace.strip_suffix('s')?.parse::<u64>().ok()).expect("seconds");
    assert!(grace * 1_000 > config.drain_ms);
    // The binary understands the command; the secret that it names is not on this machine.
    let upstream = "${NEVERTWICE_UPSTREAM:-http://127.0.0.1:9000}";
    let words = command.iter().map(|word| if *word == upstream { "http://127.0.0.1:9000" } else { word });
    let output = Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(words).ran();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("/run/secrets/proxy_secret"), "{told}");
}

/// Has systemd look at a unit, and gives what it sets.
#[cfg(target_os = "linux")]
fn analysed(name: &str) -> impl Fn(&str) -> Option<String> {
    let unit = text(&format!("ops/{name}"));
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join(name);
    // The binary is where it was built.
    let here = unit.replace("/usr/local/bin/nevertwice", env!("CARGO_BIN_EXE_nevertwice"));
    assert!(here != unit);
    fs::write(&file, here).expect("it can be written");
    for arguments in [&["verify", "--man=no"][..], &["security", "--offline=true", "--threshold=20", "--no-pager"]] {
        let output = Command::new("systemd-analyze").args(arguments).arg(&file).output();
        let output = output.unwrap_or_else(|error| panic!("systemd-analyze does not start ({error}): `cargo xtask test` brings it"));
        let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {told}");
    }
    move |key: &str| unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).next_back().map(str::to_owned)
}

#[test]
#[cfg(target_os = "linux")]
fn systemd_takes_the_proxy_s_unit_and_finds_it_closed() {
    let set = analysed("nevertwice-proxy.service");
    let example = text("ops/config/proxy.toml");
    let config = ProxyConfig::from_toml("proxy.toml", &example).expect("they are settings");
    config.check().expect("they fit each other");
    let files = set("LimitNOFILE").and_then(|files| files.parse::<usize>().ok()).expect("a limit");
    assert!(files >= 3 * config.connections_max + config.requests_max + config.idle_connections_max + 100);
    let stop = set("TimeoutStopSec").and_then(|stop| stop.strip_suffix('s')?.parse::<u64>().ok()).expect("seconds");
    assert!(stop * 1_000 > config.drain_ms);
    let started = set("ExecStart").expect("a command");
    let configuration = Path::new("/etc").join(set("ConfigurationDirectory").expect("a folder"));
    assert!(started.ends_with(&configuration.join("proxy.toml").display().to_string()), "{started}");
    assert!(config.data.expect("a folder").starts_with(Path::new("/var/lib").join(set("StateDirectory").expect("a folder"))));
    assert!(config.secret_file.expect("a secret").starts_with(configuration));
    assert_ne!(set("User"), analysed("nevertwice.service")("User"), "each has a user of its own");
}

#[test]
#[cfg(target_os = "linux")]
fn systemd_takes_the_unit_and_finds_it_closed() {
    let set = analysed("nevertwice.service");
    let config = Config::default();
    assert!(set("LimitNOFILE").and_then(|files| files.parse::<usize>().ok()).expect("a limit") >= config.connections_max + 100);
    let stop = set("TimeoutStopSec").and_then(|stop| stop.strip_suffix('s')?.parse::<u64>().ok()).expect("seconds");
    assert!(stop * 1_000 > config.drain_ms);
    assert!(set("User").is_some_and(|user| user != "root"));
    let settings = example("behind-a-proxy.toml", &[]);
    assert!(settings.data.starts_with(Path::new("/var/lib").join(set("StateDirectory").expect("a folder"))));
}

/// An example of settings, read like `serve` reads it.
fn example(name: &str, environment: &[(&str, &str)]) -> Config {
    let environment: HashMap<String, String> = environment.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let file = root().join("ops/config").join(name);
    load(&Sources { file: Some(file), environment, ..Sources::default() }).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn each_example_of_settings_is_one_that_serve_takes() {
    let mut seen = 0;
    for file in fs::read_dir(root().join("ops/config")).expect("it can be listed").flatten() {
        let name = file.file_name().into_string().expect("a name");
        seen += 1;
        if name == "proxy.toml" {
            // Another program's settings: they are read in its tests.
            assert!(text("docs/proxy.md").contains("ops/config/proxy.toml"));
            continue;
        }
        // A container has its keys from the environment, and nothing starts without.
        let environment: &[_] = if name == "container.toml" { &[("NEVERTWICE_SERVICE_KEY", "0123456789abcdef")] } else { &[] };
        let config = example(&name, environment);
        assert_ne!(config, Config::default(), "{name} says nothing");
        let written = fs::read_to_string(file.path()).expect("it can be read");
        assert!(written.starts_with("# "), "{name} does not say what it is for");
        assert!(
            !written.lines().any(|line| line.starts_with("operator_key") || line.starts_with("service_key")),
            "{name}: a key in an example is used"
        );
        let page = text("docs/operation.md");
        assert!(page.contains(&format!("ops/config/{name}")), "docs/operation.md does not name {name}");
    }
    assert!(seen >= 4);
    let sources = Sources { file: Some(root().join("ops/config/container.toml")), ..Sources::default() };
    assert!(load(&sources).is_err(), "an open address without keys is refused");
}
