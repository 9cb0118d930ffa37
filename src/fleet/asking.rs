//! What is asked of a server's catalog on a request's way: the plan of a call, and what a shortened name stands for.
//!
//! Whether rules are young enough is decided in [`crate::catalog::Rules`]; this only fetches when told to.

use std::sync::Arc;

use http::HeaderMap;
use tokio::time::Instant;

use super::server::Server;
use crate::catalog::cache::Got;
use crate::catalog::kind::Kind;
use crate::catalog::merged::Catalog;
use crate::catalog::names;
use crate::catalog::offer::{Ask, Offer, Question};
use crate::catalog::variants::{Admission, Variant};
use crate::catalog::{Call, Caller, RuleSet, Ruling, Settled};

/// What a name that may be a shortened one stands for.
#[derive(Debug)]
pub enum Restored {
    To(String),
    NotShortened,
    /// The list that would tell cannot be had.
    Unknown,
}

impl Server {
    /// What holds for a call; fetches the server's list where it must.
    pub async fn plan_for(self: &Arc<Self>, call: &Call<'_>, credentials: &HeaderMap) -> Settled {
        match self.rules.plan_for(call, Instant::now()) {
            Ruling::Settled(settled) => settled,
            Ruling::SettledForNow(settled) => {
                self.member.cache.refetch_in_background(TOOLS, &own_ask(credentials, call.caller), self);
                settled
            }
            Ruling::AskFirst => {
                self.member.cache.refetch(TOOLS, &own_ask(credentials, call.caller), self).await;
                self.rules.settle(call, Instant::now())
            }
        }
    }

    /// What holds for a call by rules younger than those that it did not hold to; `None` where there are none.
    pub async fn plan_after_doubt(
        self: &Arc<Self>,
        call: &Call<'_>,
        doubted: &RuleSet,
        credentials: &HeaderMap,
    ) -> Option<Settled> {
        match self.rules.plan_after_doubt(call, doubted, Instant::now())? {
            Ruling::Settled(settled) | Ruling::SettledForNow(settled) => Some(settled),
            Ruling::AskFirst => {
                self.member.cache.refetch(TOOLS, &own_ask(credentials, call.caller), self).await;
                self.rules.settle_after_doubt(call, doubted)
            }
        }
    }

    /// The server says (-32020) that its tools changed: its list and rules are fetched again, in the background.
    pub fn revalidate(self: &Arc<Self>, credentials: &HeaderMap, caller: Option<Caller>) {
        if self.rules.should_revalidate(Instant::now()) {
            let server = Arc::clone(self);
            let ask = own_ask(credentials, caller);
            tokio::spawn(async move { server.member.cache.revalidate(TOOLS, &ask, &server).await });
        }
    }

    /// The server's own name for one that may be shortened, looked for in everything that this caller can see.
    pub async fn restore(self: &Arc<Self>, catalog: &Catalog, kind: Kind, ask: &Ask, name: &str) -> Restored {
        let question = Question::List(kind);
        let max = catalog.naming.max_name_length;
        let find = |offer: &Offer| {
            let list = &offer.content.list()?.list;
            names::restore(list, &self.prefix, max, name).map(str::to_owned)
        };
        let got = self.member.cache.get(question, ask, Admission::Kept, self).await;
        if let Got::Offer(offer, _) = &got
            && let Some(own) = find(offer)
        {
            return Restored::To(own);
        }
        // Clients with capabilities may have been shown more.
        let others = catalog.variants.digests().into_iter();
        let mut others = others.filter_map(|digest| self.member.cache.last(question, digest, ask.caller));
        match others.find_map(|offer| find(&offer)) {
            Some(own) => Restored::To(own),
            None if matches!(got, Got::Failed(_)) => Restored::Unknown,
            None => Restored::NotShortened,
        }
    }
}

/// What the rules of calls are read from.
const TOOLS: Question = Question::List(Kind::Tools);

/// The gateway's own question: for a client without any capabilities.
fn own_ask(credentials: &HeaderMap, caller: Option<Caller>) -> Ask {
    Ask { caller, credentials: Arc::new(credentials.clone()), variant: Variant::own() }
}
