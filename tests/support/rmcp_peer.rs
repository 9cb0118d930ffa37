//! A server and a client on the crate `rmcp`: real peers, written by others, on both ends of what is tested.
//!
//! [`Server`] keeps what it received, so that a test can see what a gateway made of it. [`Client`] does with a URL what
//! hosts do: lists, calls with mirrored arguments, progress, a multi round-trip, a resource, a prompt.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use rmcp::handler::server::tool::{InputResponses as Inputs, RequestState};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext, RoleClient, RoleServer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, Peer, ServerHandler, prompt, prompt_handler, prompt_router,
    tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

pub const NOTE_URI: &str = "test://note";
pub const NOTE: &str = "a note";
/// State that survives only if nothing on the way rewrites it.
const STATE: &str = "st.ate/with+special=chars \"quotes\"\n\tand 世界";
/// Between two notifications of `slow`.
pub const GAP: Duration = Duration::from_millis(100);
pub const STEPS: usize = 3;
/// Nothing here takes so long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// In which form a server answers where there is nothing to stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    Json,
    /// Everything as a stream, which is what `rmcp` does unless told otherwise.
    Sse,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    pub headers: HeaderMap,
    pub body: Value,
}

/// A server on a free port of 127.0.0.1, until it is dropped.
pub struct Server {
    pub addr: SocketAddr,
    received: Log,
    _stop: oneshot::Sender<()>,
}

type Log = Arc<Mutex<Vec<Received>>>;

impl Server {
    pub async fn start(answers: Answers) -> Self {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = tokio::net::TcpListener::bind(any).await.expect("a free port");
        let addr = listener.local_addr().expect("the port");
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_stateless_protocol_metadata_required(true)
            .with_json_response(answers == Answers::Json);
        let service = StreamableHttpService::new(|| Ok(Handler), Arc::new(NeverSessionManager::default()), config);
        let received = Log::default();
        let app =
            axum::Router::new().route_service("/mcp", service).layer(from_fn_with_state(Arc::clone(&received), keep));
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = async { drop(stopped.await) };
        tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(ended).await });
        Self { addr, received, _stop: stop }
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    /// Takes what arrived since the last time, in order.
    pub fn take_received(&self) -> Vec<Received> {
        std::mem::take(&mut self.received.lock().expect("no test panicked here"))
    }
}

async fn keep(State(log): State<Log>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        // The client (or a gateway) broke off: no request came.
        return Response::builder().status(400).body(Body::empty()).expect("a response");
    };
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let received = Received { headers: head.headers.clone(), body };
    log.lock().expect("no test panicked here").push(received);
    next.run(Request::from_parts(head, Body::from(bytes))).await
}

#[derive(Clone)]
struct Handler;

#[derive(Deserialize, JsonSchema)]
struct Lookup {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    #[schemars(extend("x-mcp-header" = "Limit"))]
    limit: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    name: String,
}

#[tool_router]
impl Handler {
    /// Says what it was asked for.
    #[tool]
    fn lookup(Parameters(asked): Parameters<Lookup>) -> String {
        format!("{}/{}", asked.region, asked.limit)
    }

    /// Reports its progress before it answers.
    #[tool]
    async fn slow(meta: RequestMetaObject, client: Peer<RoleServer>) -> Result<String, ErrorData> {
        let token = meta.get_progress_token().ok_or_else(|| ErrorData::invalid_params("no progress token", None))?;
        for step in 1..=STEPS {
            #[expect(clippy::cast_precision_loss, reason = "three steps")]
            let progress = ProgressNotificationParam::new(token.clone(), step as f64).with_message("on it");
            client
                .notify_progress(progress)
                .await
                .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            tokio::time::sleep(GAP).await;
        }
        Ok("done".into())
    }

    /// Asks for a name before it answers.
    #[tool]
    async fn ask(RequestState(state): RequestState, Inputs(inputs): Inputs) -> Result<CallToolResponse, ErrorData> {
        match state.as_deref() {
            None => {
                let requests = InputRequests::from_iter([("name".to_owned(), elicitation())]);
                Ok(InputRequiredResult::new(Some(requests), Some(STATE.into())).into())
            }
            Some(STATE) => {
                let name = inputs.as_ref().and_then(|inputs| inputs.get("name"));
                let name = name.and_then(|input| input["content"]["name"].as_str());
                let name = name.ok_or_else(|| ErrorData::invalid_params("no name was given", None))?;
                Ok(CallToolResult::success(vec![ContentBlock::text(format!("hello {name}"))]).into())
            }
            Some(other) => Err(ErrorData::invalid_params(format!("the state came back as {other:?}"), None)),
        }
    }
}

fn elicitation() -> InputRequest {
    let requested_schema = serde_json::from_value(
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
    )
    .expect("a schema");
    let params = ElicitRequestParams::FormElicitationParams { meta: None, message: "Who?".into(), requested_schema };
    InputRequest::Elicitation(ElicitRequest::new(params))
}

#[prompt_router]
impl Handler {
    /// Greets.
    #[prompt]
    async fn greet(&self, Parameters(Greeting { name }): Parameters<Greeting>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("say hello to {name}"))]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28])
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(NOTE_URI, "note")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match request.uri.as_str() {
            NOTE_URI => Ok(ReadResourceResult::new(vec![ResourceContents::text(NOTE, NOTE_URI)]).into()),
            other => Err(ErrorData::resource_not_found(format!("no resource {other:?}"), None)),
        }
    }
}

/// A client of one MCP endpoint. Each step panics with what was wrong.
pub struct Client {
    running: RunningService<RoleClient, Host>,
    progress: tokio::sync::Mutex<mpsc::UnboundedReceiver<(ProgressNotificationParam, Instant)>>,
    prefix: String,
}

/// What stands on the client's side for a person: hears of progress, says its name when asked.
struct Host {
    progress: mpsc::UnboundedSender<(ProgressNotificationParam, Instant)>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.capabilities.elicitation = Some(ElicitationCapability::default());
        info
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        // A test that has ended listens no more.
        drop(self.progress.send((params, Instant::now())));
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }
}

impl Client {
    /// Begins with `server/discover`. Names are called with `prefix` before them (`alpha__`, or nothing).
    pub async fn connect(url: &str, prefix: &str) -> Self {
        Self::connect_with(url, prefix, &[]).await
    }

    /// As [`Client::connect`], with headers added to each request: those that the client would mirror, had its list of
    /// tools these names.
    pub async fn connect_with(url: &str, prefix: &str, headers: &[(&'static str, &'static str)]) -> Self {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.custom_headers = headers
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect::<HashMap<_, _>>();
        let (sender, receiver) = mpsc::unbounded_channel();
        let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let transport = StreamableHttpClientTransport::from_config(config);
        let serving = Host { progress: sender }.serve_with_lifecycle(transport, lifecycle);
        let running = patiently("server/discover", serving).await.expect("server/discover");
        Self { running, progress: tokio::sync::Mutex::new(receiver), prefix: prefix.to_owned() }
    }

    /// All steps, in the order of a host's life.
    pub async fn do_everything(&self) {
        self.lists().await;
        self.calls().await;
        self.hears_of_progress().await;
        self.goes_two_rounds().await;
        self.reads().await;
        self.prompts().await;
    }

    pub async fn lists(&self) {
        let tools = patiently("tools/list", self.running.list_all_tools()).await.expect("tools/list");
        self.are_listed(&["ask", "lookup", "slow"], tools.iter().map(|tool| tool.name.as_ref()));
        let prompts = patiently("prompts/list", self.running.list_all_prompts()).await.expect("prompts/list");
        self.are_listed(&["greet"], prompts.iter().map(|prompt| prompt.name.as_str()));
    }

    fn are_listed<'a>(&self, expected: &[&str], listed: impl Iterator<Item = &'a str>) {
        let mut mine: Vec<&str> = listed.filter_map(|name| name.strip_prefix(self.prefix.as_str())).collect();
        mine.sort_unstable();
        assert_eq!(mine, expected, "listed with the prefix {:?}", self.prefix);
    }

    /// Calls with arguments that the tool mirrors (the client knows of them from [`Client::lists`]).
    pub async fn calls(&self) {
        for (region, limit) in [("us-west1", 42), ("eu-west1", -7), ("Hello, 世界", 0), (" padded ", 1), ("", 2)] {
            let arguments = json!({ "region": region, "limit": limit });
            assert_eq!(self.call("lookup", arguments).await.expect("tools/call"), format!("{region}/{limit}"));
        }
    }

    /// Calls a tool, going all rounds; its text.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<String, rmcp::ServiceError> {
        let result = patiently(tool, self.running.call_tool(self.params(tool, arguments))).await?;
        Ok(text(&result))
    }

    fn params(&self, tool: &str, arguments: Value) -> CallToolRequestParams {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        CallToolRequestParams::new(format!("{}{tool}", self.prefix)).with_arguments(arguments)
    }

    /// Each notification arrives when it was sent, not with the response.
    pub async fn hears_of_progress(&self) {
        let mut progress = self.progress.lock().await;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(self.params("slow", json!({}))));
        let sent =
            self.running.send_cancellable_request(request, PeerRequestOptions::no_options()).await.expect("sent");
        let token = sent.progress_token.clone();
        let response = patiently("tools/call", sent.await_response()).await.expect("tools/call");
        let ended = Instant::now();
        let ServerResult::CallToolResult(result) = response else { panic!("{response:?} is no result of a tool") };
        assert_eq!(text(&result), "done");
        let mut heard = Vec::new();
        while heard.len() < STEPS {
            let (params, at) = patiently("progress", progress.recv()).await.expect("progress");
            // What a call before this one has left is not meant.
            if params.progress_token == token {
                heard.push((params.progress, at));
            }
        }
        assert_eq!(heard.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
        let waited = ended.duration_since(heard[0].1);
        assert!(waited >= GAP, "the first notification came {waited:?} before the response: something held it back");
    }

    /// The server asks, the host answers, the state comes back as it was.
    pub async fn goes_two_rounds(&self) {
        assert_eq!(self.call("ask", json!({})).await.expect("tools/call"), "hello Ada");
    }

    /// Reads the note by the URI under which it is listed.
    pub async fn reads(&self) {
        let listed = patiently("resources/list", self.running.list_all_resources()).await.expect("resources/list");
        let note = listed.iter().find(|resource| resource.name == "note").expect("the note is listed");
        let read = self.running.read_resource(ReadResourceRequestParams::new(note.uri.clone()));
        let result = patiently("resources/read", read).await.expect("resources/read");
        let Some(ResourceContents::TextResourceContents { text, .. }) = result.contents.first() else {
            panic!("{result:?} has no text")
        };
        assert_eq!(text, NOTE);
    }

    pub async fn prompts(&self) {
        let Value::Object(arguments) = json!({"name": "Ada"}) else { unreachable!() };
        let params = GetPromptRequestParams::new(format!("{}greet", self.prefix)).with_arguments(arguments);
        let result = patiently("prompts/get", self.running.get_prompt(params)).await.expect("prompts/get");
        let first = serde_json::to_value(&result.messages[0]).expect("a message");
        assert_eq!(first["content"]["text"], "say hello to Ada");
    }
}

/// The text of a result's first block.
fn text(result: &CallToolResult) -> String {
    let first = result.content.first().and_then(|block| block.as_text());
    first.expect("the result has a text").text.clone()
}

async fn patiently<T>(what: &str, done: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, done).await.unwrap_or_else(|_| panic!("{what} took longer than {PATIENCE:?}"))
}
