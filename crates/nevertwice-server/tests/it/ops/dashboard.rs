//! `ops/grafana-dashboard.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{promql, repository, scrape};

fn dashboard() -> Value {
    serde_json::from_str(&repository::text("ops/grafana-dashboard.json")).expect("it is JSON")
}

fn panels(dashboard: &Value) -> &Vec<Value> {
    dashboard["panels"].as_array().expect("panels")
}

/// The expressions of all panels.
fn expressions(dashboard: &Value) -> Vec<&str> {
    let targets = panels(dashboard).iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().expect("an expression")).collect()
}

#[test]
fn panels_have_ids_of_their_own_and_do_not_lie_on_each_other() {
    let dashboard = dashboard();
    let panels = panels(&dashboard);
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |member: &str| panel["gridPos"][member].as_u64().expect("a place");
        assert!(place("x") + place("w") <= 24, "{panel}");
        for y in place("y")..place("y") + place("h") {
            for x in place("x")..place("x") + place("w") {
                assert!(taken.insert((x, y)), "something else lies there: {panel}");
            }
        }
        let is_row = panel["type"] == "row";
        assert_eq!(panel["targets"].as_array().is_some_and(|targets| !targets.is_empty()), !is_row, "{panel}");
        let references: Vec<&Value> = panel["targets"].as_array().into_iter().flatten().map(|target| &target["refId"]).collect();
        assert_eq!(references.iter().map(|reference| reference.as_str()).collect::<BTreeSet<_>>().len(), references.len(), "{panel}");
    }
    let titles: Vec<&str> = panels.iter().filter(|panel| panel["type"] == "row").filter_map(|panel| panel["title"].as_str()).collect();
    for subject in ["Markets", "Sales", "A standby", "The ledger", "Traces", "Proxies"] {
        assert!(titles.contains(&subject), "{subject} has no panels: {titles:?}");
    }
}

#[tokio::test]
async fn every_panel_looks_at_figures_that_a_server_shows() {
    let shown = scrape::names().await;
    let dashboard = dashboard();
    let rules = repository::text("ops/alerts.yml");
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: ")).map(str::to_owned).collect();
    let expressions = expressions(&dashboard);
    assert!(expressions.len() > 40);
    for expression in &expressions {
        scrape::check(expression, &shown, &recorded);
        assert!(expression.contains("instance=~\"$instance\""), "the choice of servers counts everywhere: {expression}");
        for endpoint in promql::values(expression, "endpoint") {
            let routes = nevertwice_server::routes();
            assert!(routes.iter().any(|route| route.word == endpoint), "no endpoint is called {endpoint}");
        }
    }
    // What a server shows and nobody looks at is no mistake; but of our own figures next to none should be like that.
    let used: BTreeSet<String> = expressions.iter().flat_map(|expression| promql::metrics(expression)).collect();
    let base = |name: &str| ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned();
    let used: BTreeSet<String> = used.iter().map(|name| base(name)).collect();
    let unused: Vec<&String> = shown.iter().filter(|name| name.starts_with("nevertwice_") && !used.contains(&base(name))).collect();
    assert!(unused.len() <= 12, "{unused:?}");
    let of_standbys = |name: &&String| name.starts_with("nevertwice_standby_");
    assert!(shown.iter().filter(of_standbys).count() >= 6 && !unused.iter().any(of_standbys), "{unused:?}");
}
