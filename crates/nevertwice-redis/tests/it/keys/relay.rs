//! A network that loses a reply when it is told to: after the server has sent it, and before anybody reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[derive(Default)]
struct Orders {
    loses: AtomicBool,
    lost: AtomicU64,
}

pub(super) struct Relay {
    port: u16,
    orders: Arc<Orders>,
}

impl Relay {
    pub(super) async fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let orders = Arc::new(Orders::default());
        let known = Arc::clone(&orders);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, Arc::clone(&known)));
            }
        });
        Self { port, orders }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) fn lose_next_reply(&self) {
        self.orders.loses.store(true, Ordering::SeqCst);
    }

    pub(super) fn lost(&self) -> u64 {
        self.orders.lost.load(Ordering::SeqCst)
    }
}

async fn carry(mut client: TcpStream, server: u16, orders: Arc<Orders>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", server)).await else { return };
    let (mut asked, mut replied) = ([0; 4_096], [0; 4_096]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(length) if length > 0 && server.write_all(&asked[..length]).await.is_ok() => {}
                _ => return,
            },
            read = server.read(&mut replied) => match read {
                Ok(0) | Err(_) => return,
                // A script that is not known yet is no reply to the command: that comes after it.
                Ok(length) if !replied[..length].starts_with(b"-NOSCRIPT") && orders.loses.swap(false, Ordering::SeqCst) => {
                    orders.lost.fetch_add(1, Ordering::SeqCst);
                    return drop((length, client));
                }
                Ok(length) => if client.write_all(&replied[..length]).await.is_err() { return },
            },
        }
    }
}
