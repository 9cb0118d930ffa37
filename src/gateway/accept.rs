//! The first station: a place among the connections, and the end of those that are cut.

use std::sync::Arc;

use arc_swap::ArcSwap;
use pingora::protocols::Stream;
use pingora::proxy::{HttpProxy, ProcessCustomSession};
use pingora::server::ShutdownWatch;
use tokio::sync::watch;

use super::Gateway;
use crate::fleet::{Budget, Snapshot};
use crate::refusal::{Exhausted, Refusal};
use crate::wire::Upstreams;
use crate::wire::connection::{self, Terms};

/// The connections of one process.
#[derive(Clone, Debug)]
pub struct Connections {
    pub budget: Arc<Budget>,
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    cut: watch::Receiver<bool>,
}

impl Connections {
    /// The sender cuts every connection, now and from then on, by sending `true`.
    pub fn new(budget: Arc<Budget>, snapshot: Arc<ArcSwap<Snapshot>>) -> (Self, watch::Sender<bool>) {
        let (sender, cut) = watch::channel(false);
        (Self { budget, snapshot, cut }, sender)
    }

    async fn are_cut(mut self) {
        // Without a sender nobody cuts.
        if self.cut.wait_for(|is_cut| *is_cut).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What pingora calls for each new connection.
pub fn service(connections: Connections) -> ProcessCustomSession<Gateway, Upstreams> {
    Arc::new(move |proxy: Arc<HttpProxy<Gateway, Upstreams>>, stream: Stream, shutdown: &ShutdownWatch| {
        let (connections, shutdown) = (connections.clone(), shutdown.clone());
        Box::pin(async move {
            // What is dropped here leaves its trace: `Exchange` writes the line of a request that did not end by itself.
            tokio::select! {
                () = serve(&connections, &proxy, stream, shutdown) => {}
                () = connections.clone().are_cut() => {}
            }
            None
        })
    })
}

async fn serve(
    connections: &Connections,
    proxy: &Arc<HttpProxy<Gateway, Upstreams>>,
    mut stream: Stream,
    shutdown: ShutdownWatch,
) {
    let terms = terms(&connections.snapshot.load());
    match connections.budget.take(1) {
        Some(_place) => connection::serve(proxy, stream, shutdown, &terms).await,
        None => connection::refuse(&mut stream, &Refusal::Overloaded(Exhausted::Connections), &terms).await,
    }
}

/// A connection keeps the terms under which it began.
fn terms(snapshot: &Snapshot) -> Terms {
    let (limits, metrics) = (snapshot.limits, Arc::clone(&snapshot.metrics));
    Terms {
        head_time: limits.head_time,
        body_time: limits.body_time,
        keepalive: limits.keepalive,
        max_head_bytes: limits.max_head_bytes,
        on_refusal: Arc::new(move |refusal| metrics.rejection(refusal.reason())),
    }
}
