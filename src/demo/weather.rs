//! The weather in a few cities: one tool, one resource, one prompt, no parameters that are mirrored.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CacheScope, CallToolResult, ErrorData, Implementation, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, prompt, prompt_handler, prompt_router, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::host::{LIST_TTL_MS, Running, host, listed};

/// City, degrees Celsius, what the sky does.
const WEATHER: [(&str, i32, &str); 6] = [
    ("Berlin", 14, "cloudy"),
    ("Lisbon", 22, "sunny"),
    ("Nairobi", 25, "light rain"),
    ("Oslo", 7, "snow"),
    ("Portland", 12, "rain"),
    ("Tokyo", 19, "clear"),
];
const CITIES: &str = "weather://cities";

/// Starts the server on `addr` (port 0: any).
pub async fn start(addr: SocketAddr) -> io::Result<Running> {
    host(Weather, addr).await
}

#[derive(Clone)]
struct Weather;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The name of the city, such as Lisbon.
    city: String,
}

fn cities() -> String {
    WEATHER.map(|(city, ..)| city).join(", ")
}

#[tool_router]
impl Weather {
    /// The weather in a city right now.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    fn get_weather(Parameters(City { city }): Parameters<City>) -> Result<CallToolResult, String> {
        let found = WEATHER.iter().find(|(name, ..)| name.eq_ignore_ascii_case(city.trim()));
        let (name, celsius, sky) =
            found.ok_or_else(|| format!("no weather for {city:?}; ask for one of {}", cities()))?;
        Ok(CallToolResult::structured(json!({ "city": name, "celsius": celsius, "sky": sky })))
    }
}

#[prompt_router]
impl Weather {
    /// Asks for advice on what to wear in a city.
    #[prompt]
    async fn what_to_wear(&self, Parameters(City { city }): Parameters<City>) -> Vec<PromptMessage> {
        let text =
            format!("Look up the weather in {city} with get_weather, then say in one sentence what to wear there.");
        vec![PromptMessage::new_text(Role::User, text)]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Weather {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("weather", env!("CARGO_PKG_VERSION"));
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[ProtocolVersion::V_2026_07_28])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(listed(Self::tool_router().list_all()))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cities = Resource::new(CITIES, "cities")
            .with_description("The cities whose weather is known, one a line")
            .with_mime_type("text/plain");
        let result = ListResourcesResult::with_all_items(vec![cities]);
        Ok(result.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != CITIES {
            return Err(ErrorData::resource_not_found(
                format!("no resource {:?}; there is {CITIES}", request.uri),
                None,
            ));
        }
        let text = WEATHER.map(|(city, ..)| city).join("\n");
        let contents = ResourceContents::text(text, CITIES).with_mime_type("text/plain");
        Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public).into())
    }
}
