//! A resource's URI at the merged door: which server it belongs to, and what that server calls it.
//!
//! `prefix+scheme:rest` is the server's `scheme:rest`; `ui://prefix/x` is its `ui://x`, because hosts look for that
//! scheme. What no prefix claims belongs to the server without one.

use std::borrow::Cow;

use super::door::{Door, Table};

const UI: &str = "ui://";

impl Table {
    /// The server that a URI means, and the URI there.
    pub fn server_of_uri<'u>(&self, door: Door, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        if uri.is_empty() {
            return None;
        }
        if let Door::Server(index) = door {
            return Some((index, Cow::Borrowed(uri)));
        }
        let claimed = self.claimed_ui(uri).or_else(|| self.claimed(uri));
        claimed.or_else(|| Some((self.passing(uri).or(self.unprefixed())?, Cow::Borrowed(uri))))
    }

    fn claimed<'u>(&self, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        let (prefix, bare) = uri.split_once('+')?;
        let index = self.by_prefix(prefix)?;
        // Without a scheme of its own it was never a URI of that server.
        bare.contains(':').then_some((index, Cow::Borrowed(bare)))
    }

    fn claimed_ui<'u>(&self, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        let (prefix, bare) = uri.strip_prefix(UI)?.split_once('/')?;
        let index = self.by_prefix(prefix)?;
        Some((index, Cow::Owned(format!("{UI}{bare}"))))
    }
}

/// What a server's URI is called at the merged door: the way back of [`Table::server_of_uri`].
pub fn prefixed_uri(prefix: &str, uri: &str) -> String {
    match uri.strip_prefix(UI) {
        _ if prefix.is_empty() => uri.to_owned(),
        Some(rest) => format!("{UI}{prefix}/{rest}"),
        None => format!("{prefix}+{uri}"),
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

    #[test]
    fn a_uri_finds_its_server_and_its_own_spelling_there() {
        let table = table(&[("alpha", "alpha"), ("rest", "")]);
        let found = |uri| table.server_of_uri(Door::Merged, uri).map(|(index, bare)| (index, bare.into_owned()));
        for (uri, index, bare) in [
            ("alpha+file:///x", 0, "file:///x"),
            ("alpha+test://a+b", 0, "test://a+b"),
            ("ui://alpha/x/y", 0, "ui://x/y"),
            ("ui://other/x", 1, "ui://other/x"),
            ("git+ssh://x", 1, "git+ssh://x"),
            // Without a scheme it was never a URI of that server.
            ("alpha+x", 1, "alpha+x"),
        ] {
            assert_eq!(found(uri), Some((index, bare.to_owned())), "{uri}");
        }
        assert_eq!(found(""), None);
        let (index, bare) = table.server_of_uri(Door::Server(0), "alpha+file:///x").unwrap();
        assert_eq!((index, bare.as_ref()), (0, "alpha+file:///x"));
    }

    #[test]
    fn the_way_there_is_the_way_back() {
        let table = table(&[("alpha", "alpha")]);
        for uri in ["file:///x", "ui://x/y", "test://a+b", "urn:x"] {
            let full = prefixed_uri("alpha", uri);
            let (index, bare) = table.server_of_uri(Door::Merged, &full).unwrap();
            assert_eq!((index, bare.as_ref()), (0, uri), "{full}");
        }
        assert_eq!(table.server_of_uri(Door::Merged, "beta+file:///x"), None);
    }
}
