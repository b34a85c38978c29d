//! `ops/alerts.yml`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{repository, scrape};

const RULES: &str = "ops/alerts.yml";
const TESTS: &str = "ops/alerts.test.yml";
const PAGE: &str = "docs/operation.md";

fn read(path: &str) -> Value {
    serde_saphyr::from_str(&repository::text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rules that have such a member, with its text.
fn rules(member: &str) -> Vec<(String, Value)> {
    let all = read(RULES);
    let groups = all["groups"].as_array().expect("groups").iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().expect("rules").clone());
    let named: Vec<_> = rules.filter_map(|rule| Some((rule[member].as_str()?.to_owned(), rule))).collect();
    assert!(!named.is_empty(), "no rule has `{member}`");
    named
}

#[test]
fn the_rules_do_what_their_tests_say() {
    for arguments in [&["check", "rules", "--lint-fatal", RULES][..], &["test", "rules", TESTS]] {
        let mut promtool = repository::program("promtool");
        let output = promtool.args(arguments).current_dir(repository::root()).output();
        let output = output.unwrap_or_else(|error| panic!("promtool does not start ({error}): `cargo xtask test` brings it"));
        let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && told.contains("SUCCESS"), "{arguments:?}: {told}");
    }
}

#[test]
fn each_alarm_is_tested_with_a_moment_at_which_it_sounds_and_one_at_which_it_does_not() {
    let tests = read(TESTS);
    let cases = tests["tests"].as_array().expect("tests").iter();
    let cases: Vec<&Value> = cases.flat_map(|test| test["alert_rule_test"].as_array().expect("cases")).collect();
    let tested = |sounds: bool| -> BTreeSet<&str> {
        let sounding = |case: &Value| case["exp_alerts"].as_array().is_some_and(|alarms| !alarms.is_empty());
        cases.iter().filter(|case| sounding(case) == sounds).filter_map(|case| case["alertname"].as_str()).collect()
    };
    let rules = rules("alert");
    let alarms: BTreeSet<&str> = rules.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(alarms.len(), rules.len(), "each alarm has a name of its own");
    assert_eq!(tested(true), alarms);
    assert_eq!(tested(false), alarms);
}

#[test]
fn each_alarm_has_a_paragraph_on_what_to_do() {
    let page = repository::text(PAGE);
    for (name, rule) in rules("alert") {
        assert_eq!(rule["annotations"]["runbook"], format!("{PAGE}#{}", name.to_lowercase()), "{name}");
        assert!(matches!(rule["labels"]["severity"].as_str(), Some("page" | "ticket")), "{name}");
        let heading = format!("\n### {name}\n\n");
        let (_, after) = page.split_once(&heading).unwrap_or_else(|| panic!("{PAGE} has no heading `### {name}`"));
        let paragraph = after.split("\n#").next().unwrap_or_default();
        let says = |what: &str| paragraph.contains(what);
        assert!(says("**Means:**") && says("**Do:**") && paragraph.len() > 200, "{name}: {paragraph}");
    }
    let alarms: BTreeSet<String> = rules("alert").into_iter().map(|(name, _)| name).collect();
    let described = page.lines().filter_map(|line| line.strip_prefix("### "));
    let described: BTreeSet<&str> = described.filter(|heading| heading.chars().all(|c| c.is_ascii_alphabetic())).collect();
    assert!(described.iter().all(|heading| alarms.contains(*heading)), "an alarm that is no more: {described:?}");
}

#[tokio::test]
async fn the_rules_look_at_figures_that_a_server_shows() {
    let shown = scrape::names().await;
    let mut more: BTreeSet<String> = rules("record").into_iter().map(|(name, _)| name).collect();
    // Prometheus itself says whether it reached a server.
    more.insert("up".to_owned());
    for (_, rule) in rules("alert").into_iter().chain(rules("record")) {
        let expression = rule["expr"].as_str().expect("an expression");
        scrape::check(expression, &shown, &more);
    }
}
