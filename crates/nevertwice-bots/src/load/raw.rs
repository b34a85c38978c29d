//! The cheapest honest HTTP/1.1 client: one write, the reads that the reply needs, no parsing beyond status and length.

use std::io::{Error, ErrorKind};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Answer, Requester, Template};
use crate::http::Target;

/// The longest reply, head and body, that is read.
const REPLY_MAX: usize = 1024 * 1024;

/// A kept connection that sends prepared bytes.
#[derive(Debug)]
pub struct RawConnection {
    target: Target,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
    body_at: usize,
}

impl RawConnection {
    /// A connection that opens when it is first used.
    pub fn new(target: Target) -> Self {
        Self { target, stream: None, buffer: Vec::with_capacity(4096), body_at: 0 }
    }

    /// Sends a whole request and reads the whole reply. After an error the next request opens a new connection.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<u16, Error> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.target.authority()).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        stream.write_all(request).await?;
        self.buffer.clear();
        let head = loop {
            Self::read_some(&mut stream, &mut self.buffer).await?;
            if let Some(head) = Head::read(&self.buffer)? {
                break head;
            }
        };
        while self.buffer.len() < head.body_at + head.body_len {
            Self::read_some(&mut stream, &mut self.buffer).await?;
        }
        self.body_at = head.body_at;
        if !head.closes {
            self.stream = Some(stream);
        }
        Ok(head.status)
    }

    /// The body of the last reply.
    pub fn body(&self) -> &[u8] {
        self.buffer.get(self.body_at..).unwrap_or_default()
    }

    async fn read_some(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(), Error> {
        if buffer.len() >= REPLY_MAX {
            return Err(Error::new(ErrorKind::InvalidData, "the reply is longer than a megabyte"));
        }
        match stream.read_buf(buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

struct Head {
    status: u16,
    body_at: usize,
    body_len: usize,
    closes: bool,
}

impl Head {
    /// Reads the head, or nothing while it is not whole.
    fn read(buffer: &[u8]) -> Result<Option<Self>, Error> {
        let broken = |what| Error::new(ErrorKind::InvalidData, what);
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&buffer[..end]).map_err(|_| broken("the reply's head is not text"))?;
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 "))
            .and_then(|line| line.get(..3)?.parse().ok())
            .ok_or_else(|| broken("the reply has no status line of HTTP/1.1"))?;
        let (mut body_len, mut closes) = (None, false);
        for line in lines {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            if name.eq_ignore_ascii_case("content-length") {
                body_len = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("connection") {
                closes = value.trim().eq_ignore_ascii_case("close");
            }
        }
        let body_len = match (body_len, status) {
            (Some(body_len), _) => body_len,
            (None, 204 | 304) => 0,
            (None, _) => return Err(broken("the reply has no content-length")),
        };
        Ok(Some(Self { status, body_at: end + 4, body_len, closes }))
    }
}

/// A requester that sends one [`Template`] again and again, changed by `fill` before each request.
pub struct RawRequester<F> {
    connection: RawConnection,
    template: Template,
    fill: F,
}

impl<F: FnMut(&mut Template, u64) + Send + 'static> RawRequester<F> {
    /// A requester on a connection of its own. `fill` gets the number of the request.
    pub fn new(target: Target, template: Template, fill: F) -> Self {
        Self { connection: RawConnection::new(target), template, fill }
    }
}

impl<F: FnMut(&mut Template, u64) + Send + 'static> Requester for RawRequester<F> {
    async fn one(&mut self, number: u64) -> Answer {
        (self.fill)(&mut self.template, number);
        match self.connection.exchange(self.template.bytes()).await {
            Ok(status) => Answer::Status(status),
            Err(_) => Answer::Broken,
        }
    }
}
