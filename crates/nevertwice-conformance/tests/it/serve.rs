//! A target in this process, on a free port, and the suite asked of it.

use axum::Router;
use nevertwice_conformance::{Asked, Base, Line, Profile, Tally, Verdict, run};

/// What the suite said.
pub(crate) struct Said {
    pub(crate) tally: Tally,
    pub(crate) lines: Vec<Line>,
}

impl Said {
    /// The rules that came to this.
    pub(crate) fn with(&self, verdict: Verdict) -> Vec<&'static str> {
        self.lines.iter().filter(|line| line.verdict == verdict).map(|line| line.rule).collect()
    }

    /// All lines of what failed, for the message of a test.
    pub(crate) fn failures(&self) -> String {
        let failed = self.lines.iter().filter(|line| line.verdict == Verdict::Fail);
        failed.map(|line| format!("{line}\n")).collect()
    }
}

pub(crate) async fn serve(app: Router) -> Base {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}").parse().expect("it is an address")
}

pub(crate) async fn ask(target: Base, control: Base, profile: &str, only: &[&str]) -> Said {
    let profile = Profile::preset(profile).expect("it is a preset");
    let only = only.iter().map(|begin| (*begin).to_owned()).collect();
    let mut lines = Vec::new();
    let tally = run(&Asked { target, control, profile, only }, |line| lines.push(line.clone())).await;
    Said { tally, lines }
}
