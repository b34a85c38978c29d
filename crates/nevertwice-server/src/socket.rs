//! The socket under a connection: where hyper refuses a head before there is a request, the answer is a problem like all others.
//!
//! hyper writes a bare status then, and asks nobody. It is recognised by all of its bytes: one write that is a whole head, of one of
//! three statuses, without a body, and with no other header lines than hyper's own. No handler answers so, for each answer of
//! theirs says what its body is; what they wrote passes untouched. If hyper ever wrote it in another way, it would pass as well.
//!
//! Where a head does not come whole in time, hyper gives the connection up without a word, and the answer is written from here.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use nevertwice_api::ErrorCode;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Duration, Sleep, sleep, timeout};

use crate::app::App;
use crate::connection::head_too_large;
use crate::metrics::RouteNumber;
use crate::refusal::Refusal;
use crate::share::Share;

/// The longest path and query that hyper reads, in bytes.
const URI_BYTES_MAX: usize = 65_534;

/// How long, and how much of, what a refused client is still sending is read and thrown away: a socket that is closed on unread
/// bytes is reset, and the client might never see the answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 1 << 20;

/// The socket of a connection.
pub(crate) struct Socket<S> {
    stream: S,
    app: Share,
    /// There once a head was refused; then nothing else is written any more.
    last: Option<LastAnswer>,
}

/// The answer to a head that was refused, on its way.
struct LastAnswer {
    bytes: Vec<u8>,
    sent: usize,
    thrown_away: usize,
    until: Pin<Box<Sleep>>,
}

impl<S> Socket<S> {
    pub(crate) const fn new(stream: S, app: Share) -> Self {
        Self { stream, app, last: None }
    }

    /// Answers a head that did not come whole in time, and ends the connection.
    pub(crate) async fn end_late(mut self)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let within = self.app.limits.request_read.as_millis();
        let refusal = Refusal::new(
            ErrorCode::RequestTimeout,
            format!("The head did not arrive whole within {within} ms"),
            "Send the request again, whole, with the same key, on a new connection",
        );
        let date = httpdate::fmt_http_date(SystemTime::now());
        self.refuse(&format!("HTTP/1.1 408 Request Timeout\r\ndate: {date}"), refusal);
        // Whatever is written from now on, the answer is what goes out.
        let _sent_or_not = timeout(LINGER, async {
            self.write_all(b"-").await?;
            self.shutdown().await
        })
        .await;
    }

    fn refuse(&mut self, head: &str, refusal: Refusal) {
        self.app.metrics.requests.observe(RouteNumber::UNMATCHED, Err(refusal.code()), std::time::Duration::ZERO);
        self.last = Some(LastAnswer { bytes: with_problem(head, refusal), sent: 0, thrown_away: 0, until: Box::pin(sleep(LINGER)) });
    }
}

/// The head that hyper wrote, if it is one of its own. Whatever else is written costs one comparison.
fn bare_head(bytes: &[u8]) -> Option<(&str, u16)> {
    if !bytes.starts_with(b"HTTP/1.") || bytes.get(8..10) != Some(b" 4".as_slice()) {
        return None;
    }
    let head = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.get(9..12)?.parse().ok()?;
    let is_hypers = |line: &str| line == "connection: close" || line == "content-length: 0" || line.starts_with("date: ");
    lines.all(is_hypers).then_some((head, status))
}

fn refusal(app: &App, status: u16) -> Option<Refusal> {
    match status {
        400 => Some(Refusal::new(
            ErrorCode::HeadMalformed,
            "The request's head is not well-formed HTTP/1.1",
            "Send a line such as `GET /healthz HTTP/1.1`, a line `name: value` for each header, and an empty line, on a new connection",
        )),
        414 => Some(
            Refusal::new(
                ErrorCode::UriTooLong,
                format!("The path and query are longer than {URI_BYTES_MAX} bytes"),
                "Take the paths and parameters that /openapi.json lists, on a new connection",
            )
            .figure("uri_bytes_max", URI_BYTES_MAX),
        ),
        431 => Some(head_too_large(&app.limits)),
        _ => None,
    }
}

/// The head that hyper wrote, with a problem behind it.
fn with_problem(head: &str, refusal: Refusal) -> Vec<u8> {
    let body = serde_json::to_vec(&refusal.into_problem()).unwrap_or_default();
    let mut lines: Vec<&str> =
        head.split("\r\n").filter(|line| !line.starts_with("content-length:") && *line != "connection: close").collect();
    let length = format!("content-length: {}", body.len());
    lines.extend(["connection: close", "content-type: application/problem+json", "cache-control: no-store", &length, "\r\n"]);
    let mut bytes = lines.join("\r\n").into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

impl LastAnswer {
    /// Sends what is left of it.
    fn poll_send(&mut self, stream: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut *stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Throws away what still comes, until the client is done, or it is too much or too late.
    fn poll_linger(&mut self, stream: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 4096];
        while self.thrown_away < LINGER_BYTES_MAX {
            let mut came = ReadBuf::new(&mut scratch);
            match Pin::new(&mut *stream).poll_read(cx, &mut came) {
                Poll::Ready(Ok(())) if !came.filled().is_empty() => self.thrown_away += came.filled().len(),
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.until.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Socket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.last.is_none()
            && let Some((head, status)) = bare_head(bytes)
            && let Some(refusal) = refusal(&self.app, status)
        {
            self.refuse(head, refusal);
        }
        let Self { stream, last, .. } = &mut *self;
        match last {
            None => Pin::new(stream).poll_write(cx, bytes),
            Some(last) => {
                ready!(last.poll_send(stream, cx))?;
                Poll::Ready(Ok(bytes.len()))
            }
        }
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match pieces {
            [piece] => self.poll_write(cx, piece),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, last, .. } = &mut *self;
        ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        if let Some(last) = last {
            ready!(last.poll_linger(stream, cx));
        }
        Poll::Ready(Ok(()))
    }
}
