//! Health and metrics, at an address of their own: no path of the service behind the proxy is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::metrics::ProxyMetrics;

const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers until the process ends.
pub(super) async fn serve(listener: TcpListener, metrics: Arc<ProxyMetrics>, is_stopping: Arc<AtomicBool>) {
    let ready = move || async move {
        if is_stopping.load(Ordering::Relaxed) { (StatusCode::SERVICE_UNAVAILABLE, "stopping\n") } else { (StatusCode::OK, "ready\n") }
    };
    let scrape = move || async move {
        match metrics.text() {
            Ok(text) => ([(CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    };
    let router = Router::new().route("/healthz", get(|| async { "alive\n" })).route("/readyz", get(ready)).route("/metrics", get(scrape));
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "health and metrics are not served any more");
    }
}
