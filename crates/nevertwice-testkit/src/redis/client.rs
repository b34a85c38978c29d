//! A plain connection: one command, one reply.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// No reply to a test takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A reply.
#[derive(Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// Nothing.
    Nil,
    /// A number.
    Number(i64),
    /// A word or bytes.
    Bytes(Vec<u8>),
    /// An error, by its words.
    Error(String),
    /// Several.
    List(Vec<RedisReply>),
}

impl RedisReply {
    /// The reply as text.
    ///
    /// # Panics
    ///
    /// If it is neither bytes nor an error.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Error(words) => words.clone(),
            Self::Number(number) => number.to_string(),
            other => panic!("the reply is no text: {other:?}"),
        }
    }
}

impl fmt::Debug for RedisReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bytes(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Error(words) => write!(f, "error {words}"),
            Self::List(items) => f.debug_list().entries(items).finish(),
        }
    }
}

/// A connection to a server.
pub struct RedisClient {
    stream: BufReader<TcpStream>,
}

impl RedisClient {
    /// Connects to a port of the loopback.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    ///
    /// The operating system's; a server's error is a reply.
    pub fn ask<A: AsRef<[u8]>>(&mut self, command: &[A]) -> io::Result<RedisReply> {
        let mut bytes = format!("*{}\r\n", command.len()).into_bytes();
        for part in command {
            let part = part.as_ref();
            bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes)?;
        self.reply()
    }

    fn reply(&mut self) -> io::Result<RedisReply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let strange = || io::Error::other(format!("no reply begins with {line:?}"));
        let (kind, rest) = line.split_at_checked(1).ok_or_else(strange)?;
        let number = || rest.parse::<i64>().map_err(|_| strange());
        match kind {
            "+" => Ok(RedisReply::Bytes(rest.as_bytes().to_vec())),
            "-" => Ok(RedisReply::Error(rest.to_owned())),
            ":" => Ok(RedisReply::Number(number()?)),
            "$" => self.bytes(number()?),
            "*" => match usize::try_from(number()?) {
                Ok(count) => (0..count).map(|_| self.reply()).collect::<io::Result<_>>().map(RedisReply::List),
                Err(_) => Ok(RedisReply::Nil),
            },
            _ => Err(strange()),
        }
    }

    fn bytes(&mut self, length: i64) -> io::Result<RedisReply> {
        let Ok(length) = usize::try_from(length) else { return Ok(RedisReply::Nil) };
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(RedisReply::Bytes(bytes))
    }
}
