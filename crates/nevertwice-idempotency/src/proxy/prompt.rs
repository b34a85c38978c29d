//! A connection whose first bytes have to come in time.
//!
//! Which HTTP a client speaks is told by its first bytes, and who waits for them has no clock. Later heads have their own time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The length of what tells HTTP/2 from HTTP/1 (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// A stream that fails if its first bytes don't come within a time.
pub(super) struct Prompt<S> {
    stream: S,
    left: usize,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Prompt<S> {
    pub(super) fn new(stream: S, within: Duration) -> Self {
        Self { stream, left: PREFACE_BYTES, deadline: Some(Box::pin(sleep(within))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prompt<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let prompt = self.get_mut();
        let before = buf.filled().len();
        let read = Pin::new(&mut prompt.stream).poll_read(cx, buf);
        let Some(deadline) = &mut prompt.deadline else { return read };
        if read.is_pending() {
            return deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        prompt.left = prompt.left.saturating_sub(buf.filled().len() - before);
        if prompt.left == 0 {
            prompt.deadline = None;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prompt<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn first_bytes_come_in_time_and_later_ones_when_they_come() {
        for (first, is_prompt) in [(&b""[..], false), (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r", false), (b"GET / HTTP/1.1\r\nhost: a\r\n", true)]
        {
            let (mut client, server) = duplex(64);
            client.write_all(first).await.expect("there is room");
            let mut prompt = Prompt::new(server, Duration::from_secs(1));
            let mut bytes = vec![0; first.len()];
            prompt.read_exact(&mut bytes).await.expect("they are there");
            let later = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(9)).await;
                let _ = client.write_all(b"x").await;
                client
            });
            assert_eq!(prompt.read_u8().await.is_ok(), is_prompt, "{first:?}");
            drop(later);
        }
    }
}
