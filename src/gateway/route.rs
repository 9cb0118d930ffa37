//! From a request's head to the server, the pool and the plan by which its body is judged.

use std::sync::Arc;

use http::HeaderMap;
use pingora::http::RequestHeader;

use super::exchange::Target;
use super::server::{Known, Server};
use super::snapshot::Snapshot;
use crate::agreement::Plan;
use crate::catalog::{Caller, Doubt, RuleSet};
use crate::protocol::{Head, Method, NamedBy};
use crate::refusal::Refusal;
use crate::routing::{Choice, Door};

/// A decided route, as long as the body keeps it.
#[derive(Debug)]
pub struct Decision {
    pub target: Target,
    pub plan: Arc<Plan>,
    /// The rules that the plan came from, if they could turn out to be old.
    pub rules: Option<Arc<RuleSet>>,
    pub asked: Asked,
}

/// What is asked of which server, before its parameters are looked at.
#[derive(Debug)]
pub struct Asked {
    pub server: Arc<Server>,
    /// The name as the server knows it.
    pub name: Option<String>,
    /// Whether that differs from what the client said.
    pub is_renamed: bool,
    credentials: HeaderMap,
    caller: Option<Caller>,
}

/// Which server takes this request, by its name or, where it has none, by its door.
pub fn ask(snapshot: &Snapshot, door: Door, head: &Head, request: &RequestHeader) -> Result<Asked, Refusal> {
    let (index, name) = match (head.method.named_by(), head.name()) {
        (Some(NamedBy::Name), Some(name)) => by_name(snapshot, door, name)?,
        (Some(NamedBy::Uri), Some(uri)) => by_uri(snapshot, door, uri)?,
        (_, name) => (without_name(snapshot, door, head)?, name.map(str::to_owned)),
    };
    let server = snapshot.servers.get(index).ok_or(Refusal::Internal)?;
    let credentials = server.forwarded_credentials(&request.headers);
    let caller = snapshot.caller(&credentials);
    let is_renamed = name.as_deref() != head.name();
    Ok(Asked { server: Arc::clone(server), name, is_renamed, credentials, caller })
}

fn by_name(snapshot: &Snapshot, door: Door, name: &str) -> Result<(usize, Option<String>), Refusal> {
    match snapshot.table.server(door, name) {
        Ok((index, bare)) => Ok((index, Some(bare.to_owned()))),
        Err(_) => Err(Refusal::NoServer { name: name.to_owned() }),
    }
}

fn by_uri(snapshot: &Snapshot, door: Door, uri: &str) -> Result<(usize, Option<String>), Refusal> {
    match snapshot.table.server_of_uri(door, uri) {
        Some((index, bare)) => Ok((index, Some(bare.into_owned()))),
        None => Err(Refusal::NoServer { name: uri.to_owned() }),
    }
}

fn without_name(snapshot: &Snapshot, door: Door, head: &Head) -> Result<usize, Refusal> {
    match door {
        Door::Server(index) => Ok(index),
        Door::Merged => snapshot.unprefixed.ok_or_else(|| match head.name() {
            Some(name) => Refusal::NoServer { name: name.to_owned() },
            None => Refusal::NoMethod { method: head.method_text().to_owned() },
        }),
    }
}

impl Asked {
    /// The pool and the plan. For calls this may fetch the server's list.
    pub async fn decide(self, snapshot: &Snapshot, head: &Head) -> Result<Decision, Refusal> {
        if head.method != Method::ToolsCall {
            let plan = Plan::plain(head.method.named_by());
            let pool = self.server.lists_pool;
            return Ok(self.decided(pool, plan, None));
        }
        let tool = self.name.clone().unwrap_or_default();
        let known = self.server.know(&tool, &self.credentials, self.caller).await;
        let known = self.look_again_if_unlisted(known, &tool).await;
        self.decide_call(snapshot, head, known).await
    }

    /// The same request, with rules younger than those its body disagreed with.
    pub async fn decide_again(
        self,
        snapshot: &Snapshot,
        head: &Head,
        seen: &RuleSet,
    ) -> Result<Option<Decision>, Refusal> {
        let tool = self.name.clone().unwrap_or_default();
        match self.server.know_better((seen, Doubt::Disagrees), &tool, &self.credentials, self.caller).await {
            Some(known) => self.settle(snapshot, head, known).map(Some),
            None => Ok(None),
        }
    }

    async fn look_again_if_unlisted(&self, known: Known, tool: &str) -> Known {
        let Known::Unlisted { from } = &known else { return known };
        let better = self.server.know_better((from, Doubt::Unlisted), tool, &self.credentials, self.caller).await;
        better.unwrap_or(known)
    }

    async fn decide_call(self, snapshot: &Snapshot, head: &Head, known: Known) -> Result<Decision, Refusal> {
        let undeclared = self.undeclared(snapshot, head, &known);
        let (Some(header), Known::Plan { from: Some(seen), .. }) = (undeclared, &known) else {
            return self.settle(snapshot, head, known);
        };
        // The tool may declare the header since we looked.
        let tool = self.name.clone().unwrap_or_default();
        match self.server.know_better((seen, Doubt::Disagrees), &tool, &self.credentials, self.caller).await {
            Some(known) => self.settle(snapshot, head, known),
            None => Err(Refusal::Undeclared { header }),
        }
    }

    fn settle(self, snapshot: &Snapshot, head: &Head, known: Known) -> Result<Decision, Refusal> {
        if let Some(header) = self.undeclared(snapshot, head, &known) {
            return Err(Refusal::Undeclared { header });
        }
        let (plan, rules) = match known {
            Known::Plan { plan, from } => (plan, from),
            // Nobody knows where a call of such a tool belongs.
            Known::Unlisted { .. } if self.server.has_routes && self.server.declared_plan.is_plain() => {
                return Err(Refusal::NoServer { name: head.name().unwrap_or_default().to_owned() });
            }
            Known::Unlisted { from } => (Arc::clone(&self.server.declared_plan), Some(from)),
            Known::Unlawful => return Err(Refusal::NoServer { name: head.name().unwrap_or_default().to_owned() }),
            Known::NotToBeHad if self.server.has_routes => {
                return Err(Refusal::RulesUnavailable { server: self.server.name.clone() });
            }
            Known::NotToBeHad => {
                self.server.metrics.unproven.inc();
                (Plan::plain(Some(NamedBy::Name)), None)
            }
        };
        let pool = self.choose(snapshot, head, &plan)?;
        Ok(self.decided(pool, plan, rules))
    }

    /// A header that chooses a route although the tool does not declare it.
    fn undeclared(&self, snapshot: &Snapshot, head: &Head, known: &Known) -> Option<String> {
        let routes = snapshot.table.routes(self.server.index)?;
        let plan = match known {
            Known::Plan { plan, .. } => plan,
            Known::Unlisted { .. } => &self.server.declared_plan,
            Known::NotToBeHad | Known::Unlawful => return None,
        };
        routes.params().find(|header| head.param(header).is_some() && !plan.declares(header)).map(str::to_owned)
    }

    fn choose(&self, snapshot: &Snapshot, head: &Head, plan: &Plan) -> Result<usize, Refusal> {
        let Some(routes) = snapshot.table.routes(self.server.index) else {
            return self.server.default_pool.ok_or(Refusal::Internal);
        };
        // Only what the tool's rules declare will be proven; a value that cannot be decoded will be refused.
        let declared = routes.params().filter(|header| plan.declares(header));
        let values: Vec<_> = declared.filter_map(|header| Some((header, plan.routed(header, head)?))).collect();
        let value = |header: &str| {
            values.iter().find(|(name, _)| name.eq_ignore_ascii_case(header)).map(|(_, value)| value.as_ref())
        };
        match routes.choose(value) {
            Choice::Route(index) => Ok(index),
            Choice::Default => self.server.default_pool.ok_or(Refusal::Internal),
            Choice::None { params } => Err(Refusal::NoRoute { params }),
        }
    }

    fn decided(self, pool: usize, plan: Arc<Plan>, rules: Option<Arc<RuleSet>>) -> Decision {
        let target = Target {
            server: Arc::clone(&self.server),
            pool,
            endpoint: None,
            failed_connects: 0,
            new_name: self.name.clone().filter(|_| self.is_renamed),
        };
        Decision { target, plan, rules, asked: self }
    }
}
