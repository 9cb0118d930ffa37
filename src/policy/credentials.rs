//! Credentials: which of a client's go to a server, which of the gateway's own, and who a caller is to a server.
//!
//! Must never send a server what was not meant for it, and never keep a credential to tell callers apart.

use std::hash::{BuildHasher, Hash, RandomState};

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::fields::Fields;
use crate::config::{self, Secret};
use crate::protocol::header;

const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);

/// Never forwarded, unless the server's `credential_headers` name them and its `authorization` is `forward`.
const WITHHELD: [HeaderName; 4] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SESSION_ID];

/// What one server is sent of credentials.
#[derive(Debug)]
pub struct Credentials {
    /// What identifies a caller to it, lower case.
    names: Vec<HeaderName>,
    are_forwarded: bool,
    /// Added to each request: configured headers and the gateway's own credentials.
    own: HeaderMap,
}

impl Credentials {
    /// `None` if a configured header cannot be sent.
    pub fn of(server: &config::Server) -> Option<Self> {
        let mut own = HeaderMap::new();
        for added in &server.headers {
            own.append(added.name.clone(), sensitive(added.value.reveal())?);
        }
        if let config::Authorization::Bearer { token, .. } = &server.authorization {
            own.insert(AUTHORIZATION, sensitive(&format!("Bearer {}", token.reveal()))?);
        }
        let are_forwarded = matches!(server.authorization, config::Authorization::Forward);
        Some(Self { names: server.credential_headers.clone(), are_forwarded, own })
    }

    pub fn names(&self) -> &[HeaderName] {
        &self.names
    }

    /// What of a client's headers goes to the server as its credentials.
    pub fn forwarded(&self, headers: &HeaderMap) -> HeaderMap {
        let mut forwarded = HeaderMap::new();
        for name in self.names.iter().filter(|_| self.are_forwarded) {
            for value in headers.get_all(name) {
                forwarded.append(name.clone(), value.clone());
            }
        }
        forwarded
    }

    /// What a request of the gateway's own carries, for a caller with these credentials.
    pub fn for_own_request(&self, forwarded: &HeaderMap) -> HeaderMap {
        let mut headers = forwarded.clone();
        self.add_own(&mut headers);
        headers
    }

    /// Makes the credentials of a client's request those that the server is meant to get. `came` is the request's head as
    /// it came: a credential that is hop-by-hop is off `head` already; it is named, so it is meant for the server.
    pub fn apply(&self, head: &mut impl Fields, came: &HeaderMap) {
        let is_forwarded = |name: &HeaderName| self.are_forwarded && self.names.contains(name);
        for name in WITHHELD.iter().chain(&self.names).filter(|name| !is_forwarded(name)) {
            head.remove(name);
        }
        for name in self.names.iter().filter(|name| is_forwarded(name)) {
            if !head.map().contains_key(name) {
                came.get_all(name).iter().for_each(|value| head.add(name, value.clone()));
            }
        }
        self.add_own(head);
    }

    fn add_own(&self, head: &mut impl Fields) {
        for name in self.own.keys() {
            head.remove(name);
        }
        for (name, value) in &self.own {
            head.add(name, value.clone());
        }
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Tells callers apart by keyed hashes, with a key that this process alone knows.
#[derive(Debug)]
pub struct Callers([RandomState; 2]);

impl Default for Callers {
    fn default() -> Self {
        Self([RandomState::new(), RandomState::new()])
    }
}

impl Callers {
    /// Who calls, as far as a server is told: `None` where no credentials go to it.
    pub fn caller(&self, forwarded: &HeaderMap) -> Option<u128> {
        let pairs = || forwarded.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect::<Vec<_>>();
        (!forwarded.is_empty()).then(|| self.hash(&pairs()))
    }

    /// Who calls, as far as any of these servers is told.
    pub fn caller_of_all<'s>(
        &self,
        servers: impl Iterator<Item = &'s Credentials>,
        headers: &HeaderMap,
    ) -> Option<u128> {
        let mut sent = Vec::new();
        for (index, server) in servers.enumerate().filter(|(_, server)| server.are_forwarded) {
            for name in &server.names {
                sent.extend(headers.get_all(name).iter().map(|value| (index, name.as_str(), value.as_bytes())));
            }
        }
        (!sent.is_empty()).then(|| self.hash(&sent))
    }

    fn hash(&self, value: &impl Hash) -> u128 {
        let half = |hasher: &RandomState| u128::from(hasher.hash_one(value));
        (half(&self.0[0]) << 64) | half(&self.0[1])
    }
}

/// The token that clients must send, where one is configured.
#[derive(Debug)]
pub struct Bearer {
    token: Secret,
    key: Callers,
}

impl Bearer {
    pub fn new(token: Secret) -> Self {
        Self { token, key: Callers::default() }
    }

    /// Whether these headers carry it, once. Compared as keyed hashes, so that time tells nothing.
    pub fn admits(&self, headers: &HeaderMap) -> bool {
        let mut all = headers.get_all(AUTHORIZATION).iter();
        let sent = all.next().filter(|_| all.next().is_none()).map(HeaderValue::as_bytes);
        let sent = sent.and_then(|value| value.split_at_checked(7));
        sent.is_some_and(|(scheme, token)| {
            let is_token = self.key.hash(&token) == self.key.hash(&self.token.reveal().as_bytes());
            scheme.eq_ignore_ascii_case(b"bearer ") && is_token
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Nothing;

    fn credentials(lines: &str) -> Credentials {
        let text = format!("[servers.s]\nendpoints = [\"http://127.0.0.1:1/mcp\"]\n{lines}");
        Credentials::of(&config::parse(&text, "test", &Nothing).unwrap().servers[0]).unwrap()
    }

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    const FORWARD: &str = "authorization = \"forward\"\ncredential_headers = [\"authorization\", \"cookie\"]";

    #[test]
    fn a_table_of_what_a_server_gets() {
        let sent = [("authorization", "Bearer c"), ("cookie", "a=b"), ("mcp-session-id", "s"), ("x-api-key", "k")];
        for (lines, expected) in [
            ("", &[("x-api-key", "k")][..]),
            ("credential_headers = [\"authorization\", \"x-api-key\"]", &[]),
            (FORWARD, &[("authorization", "Bearer c"), ("cookie", "a=b"), ("x-api-key", "k")]),
            (
                "headers = { Authorization = \"own\", X-Fleet = \"blue\" }",
                &[("authorization", "own"), ("x-api-key", "k"), ("x-fleet", "blue")],
            ),
            ("headers = { X-Api-Key = \"own\" }", &[("x-api-key", "own")]),
        ] {
            let mut head = map(&sent);
            credentials(lines).apply(&mut head, &map(&sent));
            assert_eq!(head, map(expected), "{lines}");
        }
    }

    #[test]
    fn a_named_credential_that_was_taken_off_as_hop_by_hop_is_put_back() {
        let came = map(&[("proxy-authorization", "Basic x")]);
        let lines = "authorization = \"forward\"\ncredential_headers = [\"authorization\", \"proxy-authorization\"]";
        let mut head = HeaderMap::new();
        credentials(lines).apply(&mut head, &came);
        assert_eq!(head, came);
        let mut head = HeaderMap::new();
        credentials(FORWARD).apply(&mut head, &came);
        assert!(head.is_empty());
    }

    #[test]
    fn the_gateways_own_headers_go_before_a_callers_on_its_own_requests_too() {
        let own = credentials(&format!("{FORWARD}\nheaders = {{ Cookie = \"own=1\" }}"));
        let forwarded = own.forwarded(&map(&[("authorization", "Bearer c"), ("cookie", "a=b"), ("x", "y")]));
        assert_eq!(forwarded, map(&[("authorization", "Bearer c"), ("cookie", "a=b")]));
        let expected = map(&[("authorization", "Bearer c"), ("cookie", "own=1")]);
        assert_eq!(own.for_own_request(&forwarded), expected);
        let mut head = forwarded.clone();
        own.apply(&mut head, &forwarded);
        assert_eq!(head, expected);
    }

    #[test]
    fn callers_are_told_apart_by_what_is_forwarded_alone() {
        let callers = Callers::default();
        let (strips, forwards) = (credentials(""), credentials(FORWARD));
        let of = |pairs: &[(&str, &str)]| callers.caller(&forwards.forwarded(&map(pairs)));
        assert_eq!(of(&[("x-api-key", "k")]), None);
        assert_eq!(callers.caller(&strips.forwarded(&map(&[("authorization", "Bearer a")]))), None);
        assert_eq!(of(&[("authorization", "Bearer a"), ("x", "1")]), of(&[("authorization", "Bearer a"), ("x", "2")]));
        let all = [
            of(&[("authorization", "Bearer a")]),
            of(&[("authorization", "Bearer b")]),
            of(&[("cookie", "Bearer a")]),
            of(&[("authorization", "Bearer a"), ("cookie", "c")]),
            of(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let of_all = |pairs: &[(&str, &str)]| callers.caller_of_all([&strips, &forwards].into_iter(), &map(pairs));
        assert_eq!(of_all(&[("x-api-key", "k")]), None);
        assert_ne!(of_all(&[("authorization", "a")]), of_all(&[("authorization", "b")]));
    }

    #[test]
    fn the_gateways_token_is_sent_once_as_a_bearer() {
        let bearer = Bearer::new(Secret::new("t0ken".into()));
        for (pairs, admits) in [
            (&[("authorization", "Bearer t0ken")][..], true),
            (&[("authorization", "bEARER t0ken")], true),
            (&[], false),
            (&[("authorization", "t0ken")], false),
            (&[("authorization", "Basic t0ken")], false),
            (&[("authorization", "Bearer t0ke")], false),
            (&[("authorization", "Bearer t0ken ")], false),
            (&[("authorization", "Bearer t0ken"), ("authorization", "Bearer t0ken")], false),
            (&[("cookie", "Bearer t0ken")], false),
        ] {
            assert_eq!(bearer.admits(&map(pairs)), admits, "{pairs:?}");
        }
    }
}
