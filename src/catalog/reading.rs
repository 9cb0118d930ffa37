//! From what a server sent to what it offers: lists with the rules of their tools, and what it says of itself.
//!
//! Knows what makes a tool unlawful. May take long for a large list: not for a thread that serves requests.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::kind::Kind;
use super::list::List;
use super::offer::Listed;
use super::omission::Omission;
use super::rules::{Rule, Rules, Tool};
use super::schemas::{self, SchemaFault, Schemas, Validator};
use super::walk::Walked;
use crate::agreement::{Declared, Plan};
use crate::config::Validation;
use crate::protocol::tool::tool_rules;

/// How the lists of one server are read.
#[derive(Debug)]
pub struct Reading {
    /// Parameters that the configuration declares for all tools.
    pub declared: Vec<Declared>,
    pub validation: Validation,
}

impl Reading {
    /// The list, and for tools what their schemas demand of calls. Tools that say the same are kept once, by `rules`.
    pub fn list(&self, kind: Kind, walked: Walked, rules: &Rules) -> Listed {
        let Walked { pages, cut, .. } = walked;
        if kind != Kind::Tools {
            return Listed { list: Arc::new(List::build(kind, pages, cut, |_, _| Ok(()))), tools: None };
        }
        let said: Vec<Bytes> = pages.iter().flat_map(|page| page.items.iter().cloned()).collect();
        let mut lawful = Vec::new();
        let list = List::build(kind, pages, cut, |name, tool| {
            lawful.push((name.to_owned(), Rule::Lawful(Arc::new(self.tool(tool)?))));
            Ok(())
        });
        let left_out = list.left_out().iter().map(|item| (item.name.clone(), Rule::LeftOut(item.omission.clone())));
        let tools = rules.intern(&said, || left_out.chain(lawful).collect());
        Listed { list: Arc::new(list), tools: Some(tools) }
    }

    /// What a tool demands of its calls, or why it must not be called.
    fn tool(&self, tool: &Value) -> Result<Tool, Omission> {
        let rules = tool_rules(tool)?;
        let member =
            |name: &'static str| tool.get(name).filter(|schema| !schema.is_null()).map(|schema| (name, schema));
        if let Some((member, schema)) = member("inputSchema") {
            schemas::check_input(schema).map_err(|fault| no_schema(member, &fault))?;
        }
        let compile = |(member, schema)| Validator::compile(schema).map_err(|fault| no_schema(member, &fault));
        let input = member("inputSchema").filter(|_| self.validation.arguments).map(compile).transpose()?;
        // A result is only looked at: a schema that cannot be compiled is no reason to hide the tool.
        let output = member("outputSchema").filter(|_| self.validation.results).and_then(|found| compile(found).ok());
        let schemas = (input.is_some() || output.is_some()).then(|| Arc::new(Schemas { input, output }));
        Ok(Tool { plan: Plan::for_tool(&rules, &self.declared), rules, schemas })
    }
}

fn no_schema(member: &'static str, fault: &SchemaFault) -> Omission {
    Omission::Schema { member, why: fault.to_string() }
}
