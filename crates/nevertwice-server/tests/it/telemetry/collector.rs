//! A collector of traces, as small as can be: OTLP over HTTP/1.1, one request after the other on each connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use nevertwice_server::Config;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::house::eventually;

/// What a collector answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It takes everything.
    Fine,
    /// It takes a batch, but for so many spans of it.
    Picky(i64),
    /// It is busy, once.
    BusyOnce,
    /// It refuses for good.
    Refusing,
    /// It says nothing, ever.
    Silent,
}

#[derive(Default)]
struct Came {
    heads: Vec<String>,
    requests: Vec<ExportTraceServiceRequest>,
}

/// A collector, and what came.
pub(crate) struct Collector {
    pub(crate) addr: SocketAddr,
    came: Arc<Mutex<Came>>,
}

impl Collector {
    pub(crate) async fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("it binds");
        let addr = listener.local_addr().expect("an address");
        let came = Arc::new(Mutex::new(Came::default()));
        let (kept, mood) = (Arc::clone(&came), Arc::new(Mutex::new(mood)));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&mood)));
            }
        });
        Self { addr, came }
    }

    /// Settings of a server that sends to it, soon.
    pub(crate) fn configure(&self, config: &mut Config) {
        config.otlp_endpoint = Some(format!("http://{}", self.addr));
        config.otlp_flush_ms = 10;
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).heads.clone()
    }

    pub(crate) fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// All spans that came.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// The span of that name, once it is there.
    pub(crate) async fn span(&self, name: &str) -> Span {
        eventually(name, async || self.spans().into_iter().find(|span| span.name == name)).await
    }
}

async fn serve(mut stream: TcpStream, came: Arc<Mutex<Came>>, mood: Arc<Mutex<Mood>>) {
    while let Some((head, body)) = read(&mut stream).await {
        let request = ExportTraceServiceRequest::decode(body.as_slice()).expect("a message of OTLP");
        let present = {
            let mut mood = mood.lock().unwrap_or_else(PoisonError::into_inner);
            let present = *mood;
            if present == Mood::BusyOnce {
                *mood = Mood::Fine;
            }
            present
        };
        {
            let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
            came.heads.push(head);
            if matches!(present, Mood::Fine | Mood::Picky(_)) {
                came.requests.push(request);
            }
        }
        let (status, rejected_spans) = match present {
            Mood::Fine => ("200 OK", 0),
            Mood::Picky(refused) => ("200 OK", refused),
            Mood::BusyOnce => ("503 Service Unavailable", 0),
            Mood::Refusing => ("400 Bad Request", 0),
            Mood::Silent => std::future::pending().await,
        };
        let partial_success = Some(ExportTracePartialSuccess { rejected_spans, ..ExportTracePartialSuccess::default() });
        let body = ExportTraceServiceResponse { partial_success }.encode_to_vec();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).await.expect("it can be answered");
    }
}

/// The head and the body of a request; none at the end of the connection.
async fn read(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).expect("a head is a text");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).expect("a length");
            let mut body = bytes.split_off(at + 4);
            let had = body.len();
            body.resize(length, 0);
            stream.read_exact(&mut body[had..]).await.expect("the body comes whole");
            return Some((head, body));
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// The text of an attribute, or its number as a text.
pub(crate) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let value = attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref()?;
    match value.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}
