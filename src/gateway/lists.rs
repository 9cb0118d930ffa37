//! The lists of all servers as one, at the merged endpoint, where several servers or prefixes make it necessary.
//!
//! Asked anew for each request; nothing is kept. Items come in the order of the configuration, each server's in its own
//! order, with the names and URIs by which they can be asked for at this endpoint.

use std::collections::HashSet;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::server::Server;
use super::snapshot::Snapshot;
use crate::catalog::rules;
use crate::protocol::Method;
use crate::refusal::Refusal;
use crate::routing::{prefixed_name, prefixed_uri};

/// Where a result says which servers are missing in it.
const UNAVAILABLE: &str = "mcp-signpost/unavailable";

/// A kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub fn of(method: Method) -> Option<Self> {
        match method {
            Method::ToolsList => Some(Self::Tools),
            Method::PromptsList => Some(Self::Prompts),
            Method::ResourcesList => Some(Self::Resources),
            Method::ResourceTemplatesList => Some(Self::Templates),
            _ => None,
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Tools => Method::ToolsList.label(),
            Self::Prompts => Method::PromptsList.label(),
            Self::Resources => Method::ResourcesList.label(),
            Self::Templates => Method::ResourceTemplatesList.label(),
        }
    }

    /// The member of the result that holds the items.
    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The result for this caller; a server that does not give its list is named in it. An error only if none does.
    pub async fn merged(self, snapshot: &Snapshot, headers: &HeaderMap) -> Result<String, Refusal> {
        let asked = snapshot.servers.iter().map(|server| self.of_server(server, headers));
        let answers = futures::future::join_all(asked).await;
        let mut items = Vec::new();
        let mut unavailable = Vec::new();
        for (server, answer) in snapshot.servers.iter().zip(answers) {
            match answer {
                Some(listed) => items.extend(listed),
                None => unavailable.push(server.name.as_str()),
            }
        }
        if unavailable.len() == snapshot.servers.len() {
            return Err(Refusal::ListUnavailable);
        }
        Ok(self.result(items, &unavailable))
    }

    fn result(self, items: Vec<Value>, unavailable: &[&str]) -> String {
        let mut result = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
        if let Some(members) = result.as_object_mut() {
            members.insert(self.member().into(), items.into());
            if !unavailable.is_empty() {
                members.insert("_meta".into(), json!({ UNAVAILABLE: unavailable }));
            }
        }
        result.to_string()
    }

    async fn of_server(self, server: &Arc<Server>, headers: &HeaderMap) -> Option<Vec<Value>> {
        let credentials = server.forwarded_credentials(headers);
        match server.list(self.method(), &credentials).await {
            Ok(pages) => Some(self.items(&pages, &server.prefix)),
            // A server without prompts or resources says that it has no such method.
            Err(error) if error.is_no_method() => Some(Vec::new()),
            Err(error) => {
                log::warn!("{} of server {} cannot be had: {error}", self.method(), server.name);
                None
            }
        }
    }

    fn items(self, pages: &[Value], prefix: &str) -> Vec<Value> {
        let listed = pages.iter().filter_map(|page| page.get(self.member())?.as_array()).flatten();
        let lawful = lawful_tools(pages);
        let is_shown = |item: &Value| {
            self != Self::Tools || item.get("name").and_then(Value::as_str).is_some_and(|name| lawful.contains(name))
        };
        listed
            .filter(|item| is_shown(item))
            .filter_map(|item| self.renamed(item.as_object()?.clone(), prefix))
            .collect()
    }

    /// The item under the name or URI that leads back to its server.
    fn renamed(self, mut item: Map<String, Value>, prefix: &str) -> Option<Value> {
        let member = match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        };
        let own = item.get(member)?.as_str()?;
        let full = match self {
            Self::Tools | Self::Prompts => prefixed_name(prefix, own),
            Self::Resources | Self::Templates => prefixed_uri(prefix, own),
        };
        item.insert(member.into(), full.into());
        Some(item.into())
    }
}

/// The names of the tools that may be listed: "MUST exclude" those whose headers break the rules, and doubled names.
fn lawful_tools(pages: &[Value]) -> HashSet<&str> {
    let mut tools = rules::Tools::default();
    for page in pages {
        if let Ok(page) = rules::page(page) {
            tools.append(page.tools);
        }
    }
    let names = pages.iter().filter_map(|page| page.get("tools")?.as_array()).flatten();
    let names = names.filter_map(|tool| tool.get("name")?.as_str());
    names.filter(|name| tools.get(name).is_some_and(Result::is_ok)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_get_the_names_that_lead_back_to_them() {
        let schema = json!({ "type": "object" });
        let pages = [
            json!({ "tools": [{ "name": "b", "inputSchema": schema, "x": 1 }, { "name": "a", "inputSchema": schema }] }),
            json!({ "tools": [{ "name": "bad", "inputSchema": { "type": "object", "properties": { "n": { "type": "number", "x-mcp-header": "N" } } } }] }),
        ];
        let items = List::Tools.items(&pages, "alpha");
        assert_eq!(items[0], json!({ "name": "alpha__b", "inputSchema": schema, "x": 1 }));
        assert_eq!(items.len(), 2);
        assert_eq!(List::Tools.items(&pages, "")[1]["name"], "a");
        let resources = [json!({ "resources": [{ "uri": "ui://x/y" }, { "uri": "file:///x" }, { "name": "no uri" }] })];
        let uris: Vec<_> = List::Resources.items(&resources, "alpha").iter().map(|item| item["uri"].clone()).collect();
        assert_eq!(uris, ["ui://alpha/x/y", "alpha+file:///x"]);
    }

    #[test]
    fn a_result_names_the_servers_that_it_lacks() {
        let result: Value = serde_json::from_str(&List::Prompts.result(vec![], &["beta"])).unwrap();
        assert_eq!(result["_meta"][UNAVAILABLE], json!(["beta"]));
        assert_eq!(result["prompts"], json!([]));
    }
}
