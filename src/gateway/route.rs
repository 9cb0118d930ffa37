//! From a request's head to the server, the pool and the plan by which its body is judged.

use std::borrow::Cow;
use std::sync::Arc;

use http::HeaderMap;
use pingora::http::RequestHeader;

use super::exchange::Target;
use crate::agreement::{Edit, Plan, Reference, Referent};
use crate::catalog::kind::Kind;
use crate::catalog::names::may_be_shortened;
use crate::catalog::offer::Ask;
use crate::catalog::schemas::Schemas;
use crate::catalog::variants::Variant;
use crate::catalog::{Call, Caller, Judging, RuleSet, Settled};
use crate::fleet::Snapshot;
use crate::fleet::{Restored, Server};
use crate::protocol::{Head, Method};
use crate::refusal::Refusal;
use crate::routing::{Choice, Destination, Door, NoServer};
use crate::upstream::Way;

/// A decided route, as long as the body keeps it.
#[derive(Debug)]
pub struct Decision {
    pub target: Target,
    pub plan: Arc<Plan>,
    /// The rules that the plan came from, if they could turn out to be old.
    pub rules: Option<Arc<RuleSet>>,
    /// What its arguments must be, where they are checked.
    pub arguments: Option<Arc<Schemas>>,
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
    door: Door,
    credentials: HeaderMap,
    caller: Option<Caller>,
}

/// The server that takes this request, and what it calls what is asked for.
pub async fn ask(
    snapshot: &Snapshot,
    door: Door,
    head: &Head,
    (server, bare): (usize, Cow<'_, str>),
    request: &RequestHeader,
) -> Result<Asked, Refusal> {
    let name = head.name().map(|_| bare.into_owned());
    let mut asked = Asked::of(snapshot, (door, server), name, &request.headers)?;
    if let (Door::Merged, Some(kind)) = (door, named_in(head.method)) {
        asked.restore(snapshot, kind).await?;
    }
    asked.is_renamed = asked.name.as_deref() != head.name();
    Ok(asked)
}

/// What a client is told of a request that is for nobody.
pub fn nobody(head: &Head, reason: NoServer) -> Refusal {
    match (reason, head.name()) {
        (NoServer::Nameless, None) => Refusal::NoMethod { method: head.method_text().to_owned() },
        (_, name) => Refusal::NoServer { name: name.unwrap_or_default().to_owned() },
    }
}

/// Where a completion at the merged door goes, and what must change in its body.
pub async fn complete(
    snapshot: &Snapshot,
    reference: &Reference,
    request: &RequestHeader,
) -> Result<(Target, Option<Edit>), Refusal> {
    // A completion for a prompt or a resource goes where a request for it would go.
    let method = match reference.to {
        Referent::Prompt => Method::PromptsGet,
        Referent::Resource => Method::ResourcesRead,
    };
    let nobody = || Refusal::NoServer { name: reference.text.clone() };
    let destination = snapshot.table.destination(Door::Merged, method, Some(&reference.text)).map_err(|_| nobody())?;
    let Destination::Server(index, name) = destination else { return Err(nobody()) };
    let mut asked = Asked::of(snapshot, (Door::Merged, index), Some(name.into_owned()), &request.headers)?;
    if reference.to == Referent::Prompt {
        asked.restore(snapshot, Kind::Prompts).await?;
    }
    let own = asked.name.clone().unwrap_or_default();
    let edit = (own != reference.text).then(|| {
        let growth = Edit::growth(&reference.text, &own);
        Edit { range: reference.range.clone(), value: own, growth }
    });
    let target =
        Target { growth: edit.as_ref().map_or(0, |edit| edit.growth), ..asked.target(asked.server.lists_pool) };
    Ok((target, edit))
}

/// The list in which a request's name stands.
fn named_in(method: Method) -> Option<Kind> {
    match method {
        Method::ToolsCall => Some(Kind::Tools),
        Method::PromptsGet => Some(Kind::Prompts),
        _ => None,
    }
}

impl Asked {
    fn of(
        snapshot: &Snapshot,
        (door, index): (Door, usize),
        name: Option<String>,
        headers: &HeaderMap,
    ) -> Result<Self, Refusal> {
        let server = Arc::clone(snapshot.servers.get(index).ok_or(Refusal::Internal)?);
        let credentials = server.credentials.forwarded(headers);
        let caller = snapshot.callers.caller(&credentials);
        Ok(Self { server, name, is_renamed: false, door, credentials, caller })
    }

    /// Puts the server's own name in the place of a shortened one.
    async fn restore(&mut self, snapshot: &Snapshot, kind: Kind) -> Result<(), Refusal> {
        let max = snapshot.catalog.naming.max_name_length;
        let Some(name) = self.name.as_deref().filter(|name| may_be_shortened(name, &self.server.prefix, max)) else {
            return Ok(());
        };
        let ask = Ask { caller: self.caller, credentials: Arc::new(self.credentials.clone()), variant: Variant::own() };
        match self.server.restore(&snapshot.catalog, kind, &ask, name).await {
            Restored::To(own) => self.name = Some(own),
            Restored::NotShortened => {}
            Restored::Unknown => return Err(Refusal::NamesUnavailable { server: self.server.name.clone() }),
        }
        Ok(())
    }

    /// The pool and the plan. For calls this may fetch the server's list.
    pub async fn decide(self, snapshot: &Snapshot, head: &Head) -> Result<Decision, Refusal> {
        let is_call = head.method == Method::ToolsCall;
        if is_call && !self.name.as_deref().is_some_and(|tool| self.server.member.shows(tool)) {
            return Err(Refusal::NoServer { name: head.name().unwrap_or_default().to_owned() });
        }
        if !is_call {
            let plan = Plan::plain(head.method.named_by());
            let pool = self.server.lists_pool;
            return Ok(self.decided(head, pool, Judging { plan, schemas: None, rules: None, is_proven: true }));
        }
        let settled = self.server.plan_for(&self.call(), &self.credentials).await;
        self.decide_call(snapshot, head, settled).await
    }

    /// The same request, by rules younger than those its body disagreed with.
    pub async fn decide_again(
        self,
        snapshot: &Snapshot,
        head: &Head,
        doubted: &RuleSet,
    ) -> Result<Option<Decision>, Refusal> {
        match self.server.plan_after_doubt(&self.call(), doubted, &self.credentials).await {
            Some(settled) => self.settle(snapshot, head, settled).map(Some),
            None => Ok(None),
        }
    }

    fn call(&self) -> Call<'_> {
        Call { tool: self.name.as_deref().unwrap_or_default(), caller: self.caller }
    }

    async fn decide_call(self, snapshot: &Snapshot, head: &Head, settled: Settled) -> Result<Decision, Refusal> {
        let Settled::Plan(judging) = &settled else { return self.settle(snapshot, head, settled) };
        let (Some(header), Some(doubted)) = (self.undeclared(snapshot, head, &judging.plan), &judging.rules) else {
            return self.settle(snapshot, head, settled);
        };
        // The tool may declare the header since we looked.
        match self.server.plan_after_doubt(&self.call(), doubted, &self.credentials).await {
            Some(settled) => self.settle(snapshot, head, settled),
            None => Err(Refusal::Undeclared { header }),
        }
    }

    fn settle(self, snapshot: &Snapshot, head: &Head, settled: Settled) -> Result<Decision, Refusal> {
        let judging = match settled {
            Settled::Plan(judging) => judging,
            Settled::NoSuchTool => return Err(no_such(head)),
            Settled::NotToBeHad => return Err(Refusal::RulesUnavailable { server: self.server.name.clone() }),
        };
        if let Some(header) = self.undeclared(snapshot, head, &judging.plan) {
            return Err(Refusal::Undeclared { header });
        }
        if !judging.is_proven {
            self.server.metrics.unproven.inc();
        }
        let pool = self.choose(snapshot, head, &judging.plan)?;
        Ok(self.decided(head, pool, judging))
    }

    /// A header that chooses a route although the tool does not declare it.
    fn undeclared(&self, snapshot: &Snapshot, head: &Head, plan: &Plan) -> Option<String> {
        let routes = snapshot.table.routes(self.server.index)?;
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

    fn decided(self, head: &Head, pool: usize, judging: Judging) -> Decision {
        let Judging { plan, schemas, rules, .. } = judging;
        let new_name = self.name.clone().filter(|_| self.is_renamed);
        let growth = new_name.as_deref().zip(head.name()).map_or(0, |(new, said)| Edit::growth(said, new));
        let arguments = schemas.clone().filter(|schemas| schemas.input.is_some());
        let target = Target { new_name, growth, schemas, ..self.target(pool) };
        Decision { target, plan, rules, arguments, asked: self }
    }

    fn target(&self, pool: usize) -> Target {
        let is_rewritten =
            self.door == Door::Merged && !self.server.prefix.is_empty() && self.server.member.uris.is_rewritten();
        Target {
            server: Arc::clone(&self.server),
            pool,
            way: Way::default(),
            new_name: None,
            growth: 0,
            uri_prefix: is_rewritten.then(|| Arc::clone(&self.server.prefix)),
            schemas: None,
        }
    }
}

fn no_such(head: &Head) -> Refusal {
    Refusal::NoServer { name: head.name().unwrap_or_default().to_owned() }
}
