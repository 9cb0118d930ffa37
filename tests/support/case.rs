//! The wire cases: one request a line and what a correct gateway does with it (`cases/README.md`).

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::inbox::{find, values};
use super::raw::Response;
use super::recorder::Seen;
use super::refusal;
use super::request::{Request, TOKEN, VERSION};
use super::world::World;

/// One case.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub verdict: String,
    pub request: Request,
}

const MALFORMED: [i64; 4] = [-32700, -32600, -32602, -32020];
/// Two ids: nobody can say which is the request's.
const WITHOUT_ID: [&str; 3] = ["dup-id", "dup-root-id-escaped", "fold-root-id"];
/// Where a case says `fill`, this text in its body stands for so many `q`.
const FILL: &[u8] = b"@FILL@";
/// Past this size the gateway has no duty to look for the id of what it refuses.
const SMALL: usize = 64 * 1024;

/// Reads a file of cases.
pub fn load(text: &str) -> Vec<Case> {
    text.lines().map(|line| parse(&serde_json::from_str(line).expect(line))).collect()
}

/// The text of a file of cases under `tests/cases`.
pub fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cases that all implementations share, if they lie beside this crate.
pub fn shared_file(name: &str) -> Option<String> {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases").join(name)).ok()
}

fn parse(line: &Value) -> Case {
    let text = |key: &str| line[key].as_str().map(str::to_owned);
    let mut body = match text("body_base64") {
        Some(encoded) => STANDARD.decode(encoded).unwrap(),
        None => text("body").unwrap().into_bytes(),
    };
    if let Some(count) = line["fill"].as_u64() {
        let at = find(&body, FILL).expect("a place to fill");
        body.splice(at..at + FILL.len(), std::iter::repeat_n(b'q', usize::try_from(count).unwrap()));
    }
    let mut request = Request::post(body).to(line["path"].as_str().unwrap_or("/mcp"));
    request.method = text("http_method").unwrap_or("POST".into());
    request.chunk = line["chunk"].as_u64().map(|size| usize::try_from(size).unwrap());
    for header in line["headers"].as_array().unwrap() {
        request.headers.push((header[0].as_str().unwrap().into(), latin1(header[1].as_str().unwrap())));
    }
    Case { name: text("case").unwrap(), verdict: text("verdict").unwrap(), request }
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("past Latin-1")).collect()
}

impl Case {
    /// The same case as a request of its own, told apart by a new token.
    pub fn fresh(&self) -> Request {
        let token = Request::post("").token();
        let mut request = self.request.clone();
        request.headers.retain(|(name, _)| name != TOKEN);
        request.headers.push((TOKEN.into(), token.into_bytes()));
        request
    }

    /// Judges an answer and what the servers saw.
    pub fn judge(&self, world: &World, request: &Request, response: &Response) -> Result<(), String> {
        match self.verdict.as_str() {
            "forward" => self.judge_forward(world, request, response),
            "forward-or-400" if response.status == 200 => self.judge_forward(world, request, response),
            "forward-or-400" => {
                refusal::check_any(response, 400, None)?;
                world.assert_never_whole(request)
            }
            "mismatch" => self.judge_refused(world, request, response, 400, |code| code == -32020),
            "malformed" => self.judge_refused(world, request, response, 400, |code| MALFORMED.contains(&code)),
            "unknown-tool" => {
                self.judge_refused(world, request, response, 200, |code| code == -32602)?;
                if world.seen(request).is_empty() { Ok(()) } else { Err("a server was asked".into()) }
            }
            "unsupported-version" => {
                self.judge_refused(world, request, response, 400, |code| code == -32022)?;
                let supported = response.json().is_some_and(|body| names_version(&body["error"]["data"]["supported"]));
                if supported { Ok(()) } else { Err(format!("no supported versions: {}", response.brief())) }
            }
            verdict => {
                let status = verdict.strip_prefix("status:").and_then(|status| status.parse().ok());
                let status = status.unwrap_or_else(|| panic!("unknown verdict {verdict}"));
                self.judge_refused(world, request, response, status, |_| true)
            }
        }
    }

    fn judge_refused(
        &self,
        world: &World,
        request: &Request,
        response: &Response,
        status: u16,
        code: impl Fn(i64) -> bool,
    ) -> Result<(), String> {
        let id = request.id().filter(|_| request.body.len() <= SMALL && !WITHOUT_ID.contains(&self.name.as_str()));
        refusal::check(response, status, code, id.as_ref())?;
        world.assert_never_whole(request)
    }

    fn judge_forward(&self, world: &World, request: &Request, response: &Response) -> Result<(), String> {
        if response.status != 200 {
            return Err(format!("refused: {}", response.brief()));
        }
        let seen = world.seen(request);
        let [seen] = seen.as_slice() else { return Err(format!("seen {} times", seen.len())) };
        let (server, bare) = self.addressee();
        let Some(at_server) = world.recorder(&server).seen(&request.token()).pop() else {
            return Err(format!("not seen by {server}"));
        };
        if at_server.answer.as_deref() != Some(&response.body) || !response.is_complete {
            return Err(format!("not the server's answer: {}", response.brief()));
        }
        same_headers(request, seen)?;
        same_name(seen, &bare)?;
        same_body(request, seen, &bare)
    }

    /// The server that the headers name, and the name as that server knows it.
    fn addressee(&self) -> (String, String) {
        let name = decode(self.request.header("mcp-name").unwrap_or_default());
        if let Some(server) = self.request.target.trim_end_matches('/').strip_prefix("/mcp/") {
            return (server.into(), name);
        }
        let (server, bare) = name.split_once("__").expect("a prefixed name");
        (server.into(), bare.into())
    }
}

fn names_version(supported: &Value) -> bool {
    supported.as_array().is_some_and(|versions| versions.iter().any(|version| version == VERSION))
}

/// A header's value without its white space and its sentinel.
fn decode(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value.trim_ascii()).into_owned();
    let encoded = text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?="));
    let decoded = encoded.and_then(|encoded| String::from_utf8(STANDARD.decode(encoded).ok()?).ok());
    decoded.unwrap_or(text)
}

/// All `Mcp-*` headers arrive as they were sent, but for the name and the session, and no others do.
fn same_headers(request: &Request, seen: &Seen) -> Result<(), String> {
    let protocol = |fields: &[(String, Vec<u8>)]| {
        let mut fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim_ascii().to_vec()))
            .filter(|(name, _)| name.starts_with("mcp-") && !matches!(name.as_str(), "mcp-name" | "mcp-session-id"))
            .collect();
        fields.sort();
        fields
    };
    let (sent, arrived) = (protocol(&request.headers), protocol(&seen.head.fields));
    if sent != arrived {
        return Err(format!("headers changed: sent {sent:?}, arrived {arrived:?}"));
    }
    if !seen.head.all("mcp-session-id").is_empty() {
        return Err("the session id was forwarded".into());
    }
    Ok(())
}

fn same_name(seen: &Seen, bare: &str) -> Result<(), String> {
    let names = values(&seen.head.fields, "mcp-name");
    match names.as_slice() {
        [name] if name.is_ascii() && decode(name) == bare => Ok(()),
        names => Err(format!("Mcp-Name arrived as {names:?} and not as {bare:?}")),
    }
}

/// The same bytes, but for the name's token and the white space that pads it.
fn same_body(request: &Request, seen: &Seen, bare: &str) -> Result<(), String> {
    let (sent, arrived) = (&request.body, &seen.body);
    if sent.len() != arrived.len() {
        return Err(format!("{} bytes became {}", sent.len(), arrived.len()));
    }
    let mut expected: Value = serde_json::from_slice(sent).map_err(|error| error.to_string())?;
    expected["params"]["name"] = bare.into();
    let found: Value = serde_json::from_slice(arrived).map_err(|error| format!("no JSON arrived: {error}"))?;
    if found != expected {
        return Err("the body means something else".into());
    }
    let differs = |index: &usize| sent[*index] != arrived[*index];
    let (Some(first), Some(last)) = ((0..sent.len()).find(differs), (0..sent.len()).rfind(differs)) else {
        return Ok(());
    };
    // The token as it came, with every character escaped at most, is the only place that may change.
    let token = 2 + 6 * (bare.chars().count() + "alpha__".len());
    if last - first < token && find(&sent[first.saturating_sub(token)..first], b"\"").is_some() {
        Ok(())
    } else {
        Err(format!("bytes {first} to {last} changed"))
    }
}
