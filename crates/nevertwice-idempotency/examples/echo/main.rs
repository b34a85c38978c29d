//! The conformance suite's echo endpoints behind the layer.
//!
//! ```text
//! cargo run -p nevertwice-idempotency --example echo -- ietf 127.0.0.1:8090
//! cargo run -- conformance --target http://127.0.0.1:8090 --profile ietf
//! ```

mod endpoints;
mod guards;

use std::error::Error;

use axum::Router;
use nevertwice_idempotency::KeysLayer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let profile = arguments.next().unwrap_or_else(|| "ietf".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8090".to_owned());
    let keys = guards::keys(&profile).ok_or_else(|| format!("there is no profile {profile}"))??;
    let endpoints = endpoints::Endpoints::default();
    let app: Router = endpoints.guarded().layer(KeysLayer::new(keys)).merge(endpoints.control());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
