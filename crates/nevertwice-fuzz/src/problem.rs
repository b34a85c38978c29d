//! What every refusal of the HTTP API has to be, whatever came in.

use nevertwice_api::ErrorCode;
use nevertwice_api::wire::Problem;

/// The code, after everything that can be checked was.
pub(crate) fn check(problem: &Problem) -> ErrorCode {
    let code: ErrorCode = problem.code.parse().expect("a refusal has a code of the catalogue");
    assert_ne!(code, ErrorCode::Internal, "input from outside is no fault of the server: {}", problem.detail);
    assert_eq!((problem.status, problem.retryable), (code.status(), code.retryable()));
    assert_eq!((problem.title.as_str(), &problem.kind), (code.title(), &format!("/errors/{code}")));
    assert!((400..500).contains(&problem.status), "{code}: what came in was wrong, not the server");
    assert!(problem.detail.ends_with('.') && problem.detail.contains("Nothing was done."), "{code}: {}", problem.detail);
    assert!(!problem.detail.contains(char::is_control), "{code}: {:?}", problem.detail);
    assert!(problem.detail.len() < 16 << 10, "{code}: an answer of {} bytes", problem.detail.len());
    serde_json::to_vec(problem).expect("a refusal can be written");
    code
}
