//! Being told to stop, by SIGTERM or Ctrl-C; and to read files again, by SIGHUP.

use std::io;

use nevertwice_server::Reloader;

/// Listens from now on; ready when the process is told to stop.
pub(crate) fn told() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Reads files again at every SIGHUP from now on. Where there are none, SIGHUP keeps its meaning: the terminal has gone.
pub(crate) fn on_hangup(reloader: Reloader) -> io::Result<()> {
    #[cfg(unix)]
    if reloader.has_files() {
        use tokio::signal::unix::{SignalKind, signal};
        let mut hangups = signal(SignalKind::hangup())?;
        tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                let reloader = reloader.clone();
                // The disk may be slow, and requests do not wait for it.
                let _ = tokio::task::spawn_blocking(move || reloader.reload()).await;
            }
        });
    }
    #[cfg(not(unix))]
    let _ = reloader;
    Ok(())
}
