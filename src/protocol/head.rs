//! The typed view of a request's head: what its `Mcp-*` headers say, each exactly once.
//!
//! Knows only the headers. A fault found here is one that no body could mend.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Method, VERSIONS, header, sentinel};

/// What the head of a lawful request says. Owned, but made of shared header bytes: nothing is copied per header.
#[derive(Clone, Debug)]
pub struct Head {
    pub method: Method,
    method_text: HeaderValue,
    name: Option<Text>,
    params: Vec<Param>,
}

/// One `Mcp-Param-*` header as it came. It is decoded where it is recognized, since one that nobody recognizes is
/// forwarded and otherwise ignored ("Server Behavior for Custom Headers").
#[derive(Clone, Debug)]
pub struct Param {
    name: HeaderName,
    value: HeaderValue,
}

/// A header's value: the bytes as they came, and what they say where a sentinel was decoded.
#[derive(Clone, Debug)]
struct Text {
    raw: HeaderValue,
    decoded: Option<Box<str>>,
}

/// Why a head cannot be the head of a lawful request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadFault {
    #[error("the header {0} is required and missing; send it with every request")]
    Missing(&'static str),
    #[error("the header {0} was sent more than once; send it exactly once")]
    Twice(String),
    #[error("the header {0} holds what cannot be decoded: {1}")]
    Undecodable(&'static str, sentinel::BadSentinel),
    #[error("protocol version {0:?} is not spoken here")]
    Version(String),
    /// Gateways of other kinds (CGI, WSGI) make one header of `Mcp_Name` and `Mcp-Name`.
    #[error("the header {0} is spelt with an underscore; write it with a hyphen")]
    Underscore(String),
    #[error("the header Mcp-Name is empty; name what is asked for")]
    EmptyName,
}

impl Head {
    /// Reads the head of a request.
    ///
    /// The version is judged first: what the other headers mean depends on it.
    pub fn read(headers: &HeaderMap) -> Result<Self, HeadFault> {
        let seen = Seen::collect(headers)?;
        let version = Text::literal(seen.version, header::VERSION)?;
        if !VERSIONS.contains(&version.as_str()) {
            return Err(HeadFault::Version(version.as_str().to_owned()));
        }
        let method_text = Text::literal(seen.method, header::METHOD)?;
        let method = Method::parse(method_text.as_str());
        let name = match (method.named_by(), seen.name) {
            (Some(_), None) => return Err(HeadFault::Missing(header::NAME)),
            (Some(_), Some(value)) => Some(Text::decoded(value, header::NAME)?),
            // Not defined for this method: forwarded, not interpreted.
            (None, _) => None,
        };
        if name.as_ref().is_some_and(|name| name.as_str().is_empty()) {
            return Err(HeadFault::EmptyName);
        }
        Ok(Self { method, method_text: method_text.raw, name, params: seen.params })
    }

    pub fn method_text(&self) -> &str {
        visible(&self.method_text)
    }

    /// The decoded `Mcp-Name`; there for every method that has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_ref().map(Text::as_str)
    }

    /// The decoded value of `Mcp-Param-{name}`; names compare without case, and as servers behind CGI or WSGI see them, a
    /// hyphen and an underscore being the same: what such a server reads is what is proven.
    pub fn param(&self, name: &str) -> Option<Result<std::borrow::Cow<'_, str>, sentinel::BadSentinel>> {
        self.params
            .iter()
            .find(|param| eq_folded(param.short_name(), name))
            .map(|param| sentinel::header_text(param.value.as_bytes()))
    }
}

impl Param {
    fn short_name(&self) -> &str {
        self.name.as_str().get(header::PARAM_PREFIX.len()..).unwrap_or_default()
    }
}

/// The protocol's headers, gathered in one walk over the map.
#[derive(Default)]
struct Seen {
    version: Option<HeaderValue>,
    method: Option<HeaderValue>,
    name: Option<HeaderValue>,
    params: Vec<Param>,
}

impl Seen {
    fn collect(headers: &HeaderMap) -> Result<Self, HeadFault> {
        let mut seen = Self::default();
        let mut before: Option<&HeaderName> = None;
        for (name, value) in headers {
            if is_taken_for_ours(name.as_str()) {
                return Err(HeadFault::Underscore(name.as_str().to_owned()));
            }
            if !name.as_str().starts_with(header::PREFIX) {
                continue;
            }
            // The map yields the values of one name in a row.
            if before == Some(name) {
                return Err(HeadFault::Twice(name.as_str().to_owned()));
            }
            before = Some(name);
            // Two spellings of one parameter become one header behind some servers.
            if seen.has_param(name.as_str()) {
                return Err(HeadFault::Twice(name.as_str().to_owned()));
            }
            seen.take(name, value);
        }
        Ok(seen)
    }

    /// Whether a parameter was seen under this name, a hyphen and an underscore being the same.
    fn has_param(&self, name: &str) -> bool {
        self.params.iter().any(|param| eq_folded(param.name.as_str(), name))
    }

    fn take(&mut self, name: &HeaderName, value: &HeaderValue) {
        let text = name.as_str();
        if text.eq_ignore_ascii_case(header::VERSION) {
            self.version = Some(value.clone());
        } else if text.eq_ignore_ascii_case(header::METHOD) {
            self.method = Some(value.clone());
        } else if text.eq_ignore_ascii_case(header::NAME) {
            self.name = Some(value.clone());
        } else if text.starts_with(header::PARAM_PREFIX) {
            self.params.push(Param { name: name.clone(), value: value.clone() });
        }
    }
}

impl Text {
    /// A header whose value is never encoded.
    fn literal(value: Option<HeaderValue>, name: &'static str) -> Result<Self, HeadFault> {
        let raw = value.ok_or(HeadFault::Missing(name))?;
        sentinel::visible_ascii(raw.as_bytes()).map_err(|bad| HeadFault::Undecodable(name, bad))?;
        Ok(Self { raw, decoded: None })
    }

    /// A header whose value may be in the sentinel.
    fn decoded(raw: HeaderValue, name: &'static str) -> Result<Self, HeadFault> {
        let text = sentinel::header_text(raw.as_bytes()).map_err(|bad| HeadFault::Undecodable(name, bad))?;
        let decoded = match text {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(text) => Some(text.into_boxed_str()),
        };
        Ok(Self { raw, decoded })
    }

    fn as_str(&self) -> &str {
        self.decoded.as_deref().unwrap_or_else(|| visible(&self.raw))
    }
}

/// Equal without case, and a hyphen equal to an underscore.
fn eq_folded(a: &str, b: &str) -> bool {
    let fold = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(a, b)| fold(a) == fold(b))
}

/// Whether this is one of the protocol's names but for an underscore where a hyphen belongs.
fn is_taken_for_ours(name: &str) -> bool {
    const WHOLE: [&str; 4] = [header::VERSION, header::METHOD, header::NAME, header::SESSION_ID];
    let is_whole = WHOLE.iter().any(|ours| eq_folded(ours, name) && !ours.eq_ignore_ascii_case(name));
    let prefix = name.get(..header::PARAM_PREFIX.len()).unwrap_or_default();
    is_whole || name.starts_with("mcp_") || (eq_folded(prefix, header::PARAM_PREFIX) && prefix != header::PARAM_PREFIX)
}

/// The trimmed text of a value that was found to be visible ASCII; white space around a value is not part of it (RFC 9110, 5.5).
fn visible(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default().trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            );
        }
        map
    }

    const CALL: [(&str, &str); 3] =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "alpha__x")];

    fn call_with(extra: &[(&str, &str)]) -> HeaderMap {
        map(&[&CALL[..], extra].concat())
    }

    #[test]
    fn a_call_is_read() {
        let head = Head::read(&call_with(&[("mcp-param-region", " =?base64?w6k=?= ")])).unwrap();
        assert_eq!((head.method, head.method_text(), head.name()), (Method::ToolsCall, "tools/call", Some("alpha__x")));
        assert_eq!(head.param("REGION").unwrap().unwrap(), "é");
        assert!(head.param("limit").is_none());
    }

    #[test]
    fn every_protocol_header_counts_once() {
        for (name, value) in
            CALL.into_iter().chain([("mcp-param-x", "1"), ("mcp-unknown", "1"), ("mcp-session-id", "1")])
        {
            let doubled = if CALL.contains(&(name, value)) {
                call_with(&[(name, value)])
            } else {
                call_with(&[(name, value), (name, value)])
            };
            assert_eq!(Head::read(&doubled).unwrap_err(), HeadFault::Twice(name.into()), "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (left_out, expected) in CALL.into_iter().zip([header::VERSION, header::METHOD, header::NAME]) {
            let rest: Vec<_> = CALL.into_iter().filter(|pair| *pair != left_out).collect();
            assert_eq!(Head::read(&map(&rest)).unwrap_err(), HeadFault::Missing(expected));
        }
    }

    #[test]
    fn a_foreign_version_is_judged_before_all_else() {
        let only = map(&[("mcp-protocol-version", "2025-06-18")]);
        assert_eq!(Head::read(&only).unwrap_err(), HeadFault::Version("2025-06-18".into()));
    }

    #[test]
    fn a_name_that_says_nothing_or_cannot_be_read_is_refused() {
        for (value, empty) in [("", true), ("=?base64??=", true), ("=?base64?!?=", false), ("caf\u{e9}", false)] {
            let fault = Head::read(&map(&[CALL[0], CALL[1], ("mcp-name", value)])).unwrap_err();
            assert_eq!(fault == HeadFault::EmptyName, empty, "{value}: {fault}");
        }
    }

    #[test]
    fn a_spelling_that_others_take_for_the_header_is_refused() {
        for name in
            ["mcp_name", "mcp-protocol_version", "mcp-session_id", "mcp_x", "mcp-param_region", "mcp_param-region"]
        {
            let fault = Head::read(&call_with(&[(name, "x")])).unwrap_err();
            assert_eq!(fault, HeadFault::Underscore(name.into()));
        }
    }

    #[test]
    fn a_parameter_is_one_whichever_way_it_is_spelt() {
        let head = Head::read(&call_with(&[("mcp-param-dry_run", "true")])).unwrap();
        assert_eq!(head.param("Dry-Run").unwrap().unwrap(), "true");
        assert_eq!(head.param("dry_run").unwrap().unwrap(), "true");
        let both = call_with(&[("mcp-param-dry-run", "true"), ("mcp-param-dry_run", "false")]);
        assert_eq!(Head::read(&both).unwrap_err(), HeadFault::Twice("mcp-param-dry_run".into()));
    }

    #[test]
    fn methods_without_a_name_ignore_the_header() {
        let head = Head::read(&map(&[CALL[0], ("mcp-method", "tools/list"), ("mcp-name", "=?base64?!?=")])).unwrap();
        assert_eq!((head.method, head.name()), (Method::ToolsList, None));
    }
}
