//! Where a request would go, in words: which prefix, which route, what was passed over and why.
//!
//! Goes over the configuration step by step, apart from the compiled tables, and is tested to come to the same end.

use std::fmt;

use serde::Serialize;

use crate::config::{Condition, Config, Route, Server};
use crate::protocol::Method;

use super::destination::Destination;
use super::door::{Door, NoServer, Table};
#[cfg(test)]
use super::routes::Choice;

/// A request as someone imagines it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub door: Door,
    /// `tools/call` is routed by parameters; every other method that a server answers goes where lists go.
    pub method: &'a str,
    pub name: &'a str,
    /// Names (the part after `Mcp-Param-`) and decoded values.
    pub params: &'a [(String, String)],
}

/// Where it would go and why.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    pub method: String,
    pub name: String,
    /// The path of the door.
    pub path: String,
    pub server: ServerStep,
    /// The routes in order, up to the one that matches; empty if none were asked.
    pub routes: Vec<RouteStep>,
    /// Parameters of the request that no route of the server looks at.
    pub unused_params: Vec<String>,
    pub pool: Pool,
    pub endpoints: Vec<String>,
}

/// How the name found its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum ServerStep {
    /// The text before the first `__`.
    Prefix { server: String, prefix: String, bare: String },
    /// No prefix claims the name, and this server has none.
    Unprefixed { server: String, bare: String },
    /// The request came in by the server's own path.
    Door { server: String, bare: String },
    /// The gateway answers, for all servers behind the door.
    Gateway,
    /// What the body's `ref` names decides.
    Reference,
    /// Nobody's name.
    None { reason: String, prefixes: Vec<String> },
}

/// One route that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouteStep {
    pub route: String,
    pub matches: bool,
    /// Why it matches, or the first reason why not.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "pool")]
pub enum Pool {
    Route {
        route: String,
        why: String,
    },
    Default {
        why: String,
    },
    /// Refused; the words say how.
    None {
        why: String,
    },
}

impl Table {
    /// Where a request would go in the configuration that this table was compiled from.
    pub fn explain(&self, config: &Config, asked: &Asked<'_>) -> Explanation {
        let found = self.destination(asked.door, Method::parse(asked.method), Some(asked.name));
        let server = match &found {
            Ok(Destination::Server(index, _)) => config.servers.get(*index),
            _ => None,
        };
        let (routes, pool) = match (&found, server) {
            (Ok(Destination::Server(_, bare)), Some(server)) if is_hidden(server, asked, bare) => {
                let why = "the server's `tools` hide it: error -32602".to_owned();
                (Vec::new(), Pool::None { why })
            }
            (_, Some(server)) => routes_and_pool(server, asked),
            (found, None) => (Vec::new(), Pool::None { why: nobody(found, asked) }),
        };
        Explanation {
            method: asked.method.to_owned(),
            name: asked.name.to_owned(),
            path: self.path(config, asked.door),
            server: server_step(config, asked, found),
            unused_params: server.map(|server| unused_params(server, asked.params)).unwrap_or_default(),
            endpoints: server.map(|server| endpoints(server, &pool)).unwrap_or_default(),
            routes,
            pool,
        }
    }

    fn path(&self, config: &Config, door: Door) -> String {
        match door {
            Door::Merged => self.mount().to_owned(),
            Door::Server(index) => {
                let name = config.servers.get(index).map(|server| server.name.as_str()).unwrap_or_default();
                format!("{}/{name}", self.mount().trim_end_matches('/'))
            }
        }
    }
}

/// Why no server gets it, and what the client is told.
fn nobody(found: &Result<Destination<'_>, NoServer>, asked: &Asked<'_>) -> String {
    match found {
        Ok(Destination::Gateway) => "none is chosen: the answer is put together from what the servers last said",
        Ok(Destination::Reference) => "the one of the server that `ref` names",
        _ if Method::parse(asked.method).named_by().is_some() => "the name is unknown: error -32602",
        _ => "a method without a name goes to a server's own endpoint, or to the server without a prefix: error -32601",
    }
    .to_owned()
}

fn is_hidden(server: &Server, asked: &Asked<'_>, bare: &str) -> bool {
    Method::parse(asked.method) == Method::ToolsCall && !server.tools.shows(bare)
}

fn server_step(config: &Config, asked: &Asked<'_>, found: Result<Destination<'_>, NoServer>) -> ServerStep {
    let (index, bare) = match found {
        Ok(Destination::Server(index, bare)) => (index, bare.into_owned()),
        Ok(Destination::Gateway) => return ServerStep::Gateway,
        Ok(Destination::Reference) => return ServerStep::Reference,
        Err(reason) => {
            let prefixes = config.servers.iter().map(|server| server.prefix.clone());
            let prefixes = prefixes.filter(|prefix| !prefix.is_empty()).collect();
            return ServerStep::None { reason: reason.to_string(), prefixes };
        }
    };
    let server = config.servers.get(index);
    let name = server.map(|server| server.name.clone()).unwrap_or_default();
    let prefix = server.map(|server| server.prefix.clone()).unwrap_or_default();
    match asked.door {
        Door::Server(_) => ServerStep::Door { server: name, bare },
        Door::Merged if prefix.is_empty() => ServerStep::Unprefixed { server: name, bare },
        Door::Merged => ServerStep::Prefix { server: name, prefix, bare },
    }
}

fn routes_and_pool(server: &Server, asked: &Asked<'_>) -> (Vec<RouteStep>, Pool) {
    if asked.method != "tools/call" {
        return (Vec::new(), pool_without_params(server, asked.method));
    }
    let mut steps = Vec::new();
    for route in &server.routes {
        let step = route_step(route, asked.params);
        let matches = step.matches;
        steps.push(step);
        if matches {
            let why = "the first route that matches".to_owned();
            return (steps, Pool::Route { route: route.name.clone(), why });
        }
    }
    let why = if server.routes.is_empty() { "the server has no routes" } else { "no route matches" };
    let pool = if server.endpoints.is_empty() {
        Pool::None { why: format!("{why} and there is no default pool: error -32602") }
    } else {
        Pool::Default { why: why.to_owned() }
    };
    (steps, pool)
}

fn pool_without_params(server: &Server, method: &str) -> Pool {
    let why = format!("{method} has no parameters");
    match server.routes.iter().find(|route| route.lists) {
        Some(route) => {
            Pool::Route { route: route.name.clone(), why: format!("{why}, and this route is marked `lists`") }
        }
        None => Pool::Default { why },
    }
}

fn route_step(route: &Route, params: &[(String, String)]) -> RouteStep {
    let mut reasons = Vec::new();
    for condition in &route.when {
        match judge(condition, params) {
            Ok(reason) => reasons.push(reason),
            Err(why) => return RouteStep { route: route.name.clone(), matches: false, why },
        }
    }
    RouteStep { route: route.name.clone(), matches: true, why: reasons.join(", ") }
}

fn unused_params(server: &Server, params: &[(String, String)]) -> Vec<String> {
    let conditions = || server.routes.iter().flat_map(|route| &route.when);
    let looked_at = |name: &str| conditions().any(|condition| condition.header.eq_ignore_ascii_case(name));
    params.iter().map(|(name, _)| name.clone()).filter(|name| !looked_at(name)).collect()
}

/// Why the condition is met, or why not.
fn judge(condition: &Condition, params: &[(String, String)]) -> Result<String, String> {
    let header = &condition.header;
    let wanted: Vec<String> = condition.patterns.iter().map(|pattern| format!("`{pattern}`")).collect();
    let wanted = wanted.join(" or ");
    let Some((_, value)) = params.iter().find(|(name, _)| name.eq_ignore_ascii_case(header)) else {
        return Err(format!("it wants {header} to be {wanted}, and there is no {header}"));
    };
    match condition.patterns.iter().find(|pattern| pattern.matches(value)) {
        Some(pattern) => Ok(format!("{header} is `{value}`, which `{pattern}` matches")),
        None => Err(format!("it wants {header} to be {wanted}, and it is `{value}`")),
    }
}

fn endpoints(server: &Server, pool: &Pool) -> Vec<String> {
    let endpoints = match pool {
        Pool::Route { route: name, .. } => server.routes.iter().find(|route| route.name == *name).map(|r| &r.endpoints),
        Pool::Default { .. } => Some(&server.endpoints),
        Pool::None { .. } => None,
    };
    endpoints.into_iter().flatten().map(ToString::to_string).collect()
}

impl Explanation {
    /// The same end as a choice of the compiled tables, to be compared.
    #[cfg(test)]
    pub(super) fn choice(&self, server: &Server) -> Option<Choice> {
        match &self.pool {
            Pool::Route { route: name, .. } => {
                server.routes.iter().position(|route| route.name == *name).map(Choice::Route)
            }
            Pool::Default { .. } => Some(Choice::Default),
            Pool::None { .. } => None,
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} `{}` at {}", self.method, self.name, self.path)?;
        writeln!(f, "  server    {}", self.server)?;
        for step in &self.routes {
            let verdict = if step.matches { "matches" } else { "passed over" };
            writeln!(f, "  route     `{}` {verdict}: {}", step.route, step.why)?;
        }
        for param in &self.unused_params {
            writeln!(f, "  param     `{param}`: no route looks at it")?;
        }
        writeln!(f, "  pool      {}", self.pool)?;
        for endpoint in &self.endpoints {
            writeln!(f, "  endpoint  {endpoint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ServerStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { server, prefix, bare } => {
                write!(f, "`{server}`, whose prefix is `{prefix}`; the name there is `{bare}`")
            }
            Self::Unprefixed { server, bare } => {
                write!(f, "`{server}`, which has no prefix and gets what no prefix claims; the name there is `{bare}`")
            }
            Self::Door { server, bare } => write!(f, "`{server}`, by its own path; the name there is `{bare}`"),
            Self::Gateway => f.write_str("the gateway itself, for the servers behind this path"),
            Self::Reference => f.write_str("the one whose prompt or resource the body's `ref` names"),
            Self::None { reason, prefixes } => {
                let prefixes: Vec<String> = prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
                write!(f, "none: {reason}; the prefixes are {}", prefixes.join(", "))
            }
        }
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { route, why } => write!(f, "of route `{route}`: {why}"),
            Self::Default { why } => write!(f, "the default one: {why}"),
            Self::None { why } => write!(f, "none: {why}"),
        }
    }
}
