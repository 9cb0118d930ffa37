//! Who answers a request: the gateway itself, or a server, and what is asked of it there.
//!
//! The one place where a name, a URI or a door becomes a server, for requests and for their explanation.

use std::borrow::Cow;

use super::door::{Door, NoServer, Table};
use crate::protocol::{Method, NamedBy};

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination<'n> {
    /// The gateway, for the servers behind the door.
    Gateway,
    /// The server that the body's `ref` names ("Completion"): no header says it.
    Reference,
    /// A server, by its index, and what is asked for as the server calls it (empty where the request has no name).
    Server(usize, Cow<'n, str>),
}

impl Table {
    /// Who answers a request with this method and name (or URI, or task).
    pub fn destination<'n>(
        &self,
        door: Door,
        method: Method,
        name: Option<&'n str>,
    ) -> Result<Destination<'n>, NoServer> {
        if self.answers_itself(door, method) {
            return Ok(Destination::Gateway);
        }
        let (server, bare) = match (method.named_by(), door) {
            (Some(NamedBy::Name), _) => {
                let (server, bare) = self.server(door, name.unwrap_or_default())?;
                (server, Cow::Borrowed(bare))
            }
            (Some(NamedBy::Uri), _) => {
                self.server_of_uri(door, name.unwrap_or_default()).ok_or(NoServer::UnknownUri)?
            }
            (None, Door::Merged) if method == Method::Complete => return Ok(Destination::Reference),
            (_, Door::Server(server)) => (server, Cow::Borrowed(name.unwrap_or_default())),
            (_, Door::Merged) => {
                (self.unprefixed().ok_or(NoServer::Nameless)?, Cow::Borrowed(name.unwrap_or_default()))
            }
        };
        Ok(Destination::Server(server, bare))
    }

    /// Lists come from the catalog at every door, so that none shows what another leaves out. What servers are is united
    /// at the merged door; a single server without a prefix speaks for itself.
    fn answers_itself(&self, door: Door, method: Method) -> bool {
        method.is_list() || (method == Method::Discover && door == Door::Merged && self.merges())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Nothing};

    fn table(servers: &[(&str, &str)]) -> Table {
        let server = |(name, prefix): &(&str, &str)| {
            format!("[servers.{name}]\nprefix = {prefix:?}\nendpoints = [\"http://127.0.0.1:1/mcp\"]\n")
        };
        let text: String = servers.iter().map(server).collect();
        Table::new(&config::parse(&text, "test", &Nothing).unwrap())
    }

    const GATEWAY: Result<Destination<'_>, NoServer> = Ok(Destination::Gateway);
    const NAMELESS: Result<Destination<'_>, NoServer> = Err(NoServer::Nameless);

    #[test]
    fn a_table_of_methods_at_every_kind_of_door() {
        let prefixed = table(&[("a", "a"), ("b", "b")]);
        let mixed = table(&[("a", "a"), ("b", "")]);
        let (alone, bare) = (table(&[("a", "a")]), table(&[("a", "")]));
        let to = |server, bare: &'static str| Ok(Destination::Server(server, Cow::Borrowed(bare)));
        let merged = |table: &Table, method, name| {
            table.destination(Door::Merged, method, name).map(|to| match to {
                Destination::Server(server, bare) => Destination::Server(server, bare.into_owned().into()),
                other => other,
            })
        };
        for (method, name, at_prefixed, at_mixed, at_alone, at_bare) in [
            (Method::ToolsList, None, GATEWAY, GATEWAY, GATEWAY, GATEWAY),
            (Method::ResourceTemplatesList, None, GATEWAY, GATEWAY, GATEWAY, GATEWAY),
            (Method::Discover, None, GATEWAY, GATEWAY, GATEWAY, to(0, "")),
            (Method::ToolsCall, Some("a__x"), to(0, "x"), to(0, "x"), to(0, "x"), to(0, "a__x")),
            (Method::PromptsGet, Some("x"), Err(NoServer::NoPrefix), to(1, "x"), Err(NoServer::NoPrefix), to(0, "x")),
            (Method::ResourcesRead, Some("a+x:y"), to(0, "x:y"), to(0, "x:y"), to(0, "x:y"), to(0, "a+x:y")),
            (
                Method::ResourcesRead,
                Some("x:y"),
                Err(NoServer::UnknownUri),
                to(1, "x:y"),
                Err(NoServer::UnknownUri),
                to(0, "x:y"),
            ),
            (Method::TasksGet, Some("t"), NAMELESS, to(1, "t"), NAMELESS, to(0, "t")),
            (Method::Listen, None, NAMELESS, to(1, ""), NAMELESS, to(0, "")),
            (Method::Other, None, NAMELESS, to(1, ""), NAMELESS, to(0, "")),
            (
                Method::Complete,
                None,
                Ok(Destination::Reference),
                Ok(Destination::Reference),
                Ok(Destination::Reference),
                Ok(Destination::Reference),
            ),
        ] {
            let what = format!("{method:?} {name:?}");
            assert_eq!(merged(&prefixed, method, name), at_prefixed, "{what}");
            assert_eq!(merged(&mixed, method, name), at_mixed, "{what}");
            assert_eq!(merged(&alone, method, name), at_alone, "{what}");
            assert_eq!(merged(&bare, method, name), at_bare, "{what}");
            let own = if method.is_list() { GATEWAY } else { to(1, name.unwrap_or_default()) };
            assert_eq!(prefixed.destination(Door::Server(1), method, name), own, "{what}");
        }
    }
}
