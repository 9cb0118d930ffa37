//! What signals do: `SIGTERM` drains, `SIGINT` ends, `SIGHUP` changes nothing.

use std::sync::mpsc;

use async_trait::async_trait;
use pingora::server::{ShutdownSignal, ShutdownSignalWatch};
use tokio::signal::unix::{SignalKind, signal};

use super::end::End;
use super::lifecycle::Lifecycle;

/// Watches them for pingora.
pub struct Signals {
    pub lifecycle: Lifecycle,
    pub end: End,
    /// Told when the process may end.
    pub ended: mpsc::Sender<()>,
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        let watched = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let [Ok(mut term), Ok(mut int), Ok(mut hup)] = watched else {
            log::error!("signals cannot be watched; ending");
            return ShutdownSignal::FastShutdown;
        };
        loop {
            tokio::select! {
                _ = int.recv() => {
                    log::info!("ending at once");
                    self.cut_and_end();
                    return ShutdownSignal::FastShutdown;
                }
                _ = term.recv() => {
                    self.lifecycle.drains();
                    self.drain_and_end();
                    let (end, ended) = (self.end.clone(), self.ended.clone());
                    tokio::spawn(async move {
                        int.recv().await;
                        log::info!("ending at once");
                        std::thread::spawn(move || cut_and_end(&end, &ended));
                    });
                    return ShutdownSignal::GracefulTerminate;
                }
                // Its default would end the process, which nobody who sends it means.
                _ = hup.recv() => log::warn!("SIGHUP: the configuration is read at the start alone; restart to change it"),
            }
        }
    }
}

impl Signals {
    /// Before pingora is told to stop at once, which would take its runtimes down under the requests.
    fn cut_and_end(&self) {
        cut_and_end(&self.end, &self.ended);
    }

    /// pingora sleeps its whole grace; the process may end with its last connection.
    fn drain_and_end(&self) {
        let (end, ended) = (self.end.clone(), self.ended.clone());
        std::thread::spawn(move || {
            end.drain();
            cut_and_end(&end, &ended);
        });
    }
}

fn cut_and_end(end: &End, ended: &mpsc::Sender<()>) {
    end.cut();
    let _ = ended.send(());
}
