//! Who takes part in a list, and what operators ask about lists.

use std::sync::Arc;

use http::HeaderMap;

use super::server::Server;
use super::snapshot::Snapshot;
use crate::catalog::kind::Kind;
use crate::catalog::list::List;
use crate::catalog::merged::{NoListing, Party, Rendered, Wanted};
use crate::catalog::offer::{Ask, Question};
use crate::catalog::omission::LeftOut;
use crate::catalog::variants::Variant;
use crate::catalog::view::{Names, Part, View};
use crate::routing::Door;

impl Snapshot {
    /// The servers behind a door.
    pub fn members(&self, door: Door) -> &[Arc<Server>] {
        match door {
            Door::Merged => &self.servers,
            Door::Server(index) => self.servers.get(index..=index).unwrap_or_default(),
        }
    }

    /// What each server behind a door is asked for this client, and with which credentials.
    pub fn parties(&self, door: Door, headers: &HeaderMap, variant: &Variant) -> Vec<Party<Server>> {
        self.members(door).iter().map(|server| self.party(door, server, headers, variant)).collect()
    }

    fn party(&self, door: Door, server: &Arc<Server>, headers: &HeaderMap, variant: &Variant) -> Party<Server> {
        let credentials = server.credentials.forwarded(headers);
        let ask = Ask {
            caller: self.callers.caller(&credentials),
            credentials: Arc::new(credentials),
            variant: variant.clone(),
        };
        let names = match door {
            Door::Merged => Names::Merged(Arc::clone(&server.prefix)),
            Door::Server(_) => Names::Bare,
        };
        Party { member: Arc::clone(&server.member), names, ask, source: Arc::clone(server) }
    }

    /// All tools as a client without credentials and capabilities sees them at the merged endpoint.
    ///
    /// # Errors
    /// As that client would be refused.
    pub async fn merged_tools(&self) -> Result<Arc<Rendered>, NoListing> {
        let variant = Variant::own();
        let question = Question::List(Kind::Tools);
        let parties = || self.parties(Door::Merged, &HeaderMap::new(), &variant);
        let wanted = Wanted { door: None, question, variant: variant.clone(), caller: None, after: None };
        let listing = self.catalog.listing(&wanted, parties).await?;
        Ok(Arc::clone(listing.merged.rendered()))
    }

    /// Why a server gave no list of tools the last time, for an operator; `None` if it did.
    pub fn trouble(&self, server: &Server) -> Option<String> {
        let ask = Ask { caller: None, credentials: Arc::default(), variant: Variant::own() };
        let failure = server.member.cache.failure(Question::List(Kind::Tools), &ask)?;
        Some(failure.for_operator())
    }

    /// What the merged endpoint leaves out of a server's list besides what the list itself does.
    pub fn left_out_of(&self, server: &Server, list: &Arc<List>) -> Vec<LeftOut> {
        let part = Part {
            server: Arc::clone(&server.member.name),
            position: server.index,
            names: Names::Merged(Arc::clone(&server.prefix)),
            list: Arc::clone(list),
            shown: Arc::clone(&server.member.shown),
            uris: Arc::clone(&server.member.uris),
        };
        let view = View::merge(list.kind(), vec![part], &self.catalog.naming);
        view.left_out().iter().flat_map(|(_, items)| items.clone()).collect()
    }
}
