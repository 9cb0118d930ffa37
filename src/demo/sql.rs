//! A database server that runs once in each region, with the region and the row limit mirrored into headers.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::database::{Database, MAX_ROWS};
use super::host::{Running, host, listed};

const DEFAULT_LIMIT: u32 = 20;

/// Where an instance runs; its rows are those of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    UsWest1,
    EuWest1,
}

impl Region {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UsWest1 => "us-west1",
            Self::EuWest1 => "eu-west1",
        }
    }
}

/// Starts the instance of a region on `addr` (port 0: any).
pub async fn start(region: Region, addr: SocketAddr) -> io::Result<Running> {
    let database = Database::open(region).map_err(io::Error::other)?;
    host(Sql { region, database: Arc::new(database) }, addr).await
}

#[derive(Clone)]
struct Sql {
    region: Region,
    database: Arc<Database>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// The region whose database answers: us-west1 or eu-west1.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
    /// One SELECT statement in the SQL of `SQLite`. Tables: `orders` (id, customer, item, amount, currency), `stores` (id, city).
    query: String,
    /// How many rows at most.
    // Not an Option: its schema would be of type ["integer", "null"], which cannot be mirrored.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_ROWS), extend("x-mcp-header" = "Limit"))]
    limit: u32,
}

fn default_limit() -> u32 {
    DEFAULT_LIMIT
}

#[tool_router]
impl Sql {
    /// Runs a read-only SQL query on the database of a region.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn execute_sql(&self, Parameters(asked): Parameters<Arguments>) -> Result<CallToolResult, String> {
        let here = self.region.as_str();
        if asked.region != here {
            return Err(format!("this is the server of {here}; region {:?} is not answered here", asked.region));
        }
        if !(1..=MAX_ROWS).contains(&asked.limit) {
            return Err(format!("limit must be between 1 and {MAX_ROWS}, not {}", asked.limit));
        }
        let database = Arc::clone(&self.database);
        let run = tokio::task::spawn_blocking(move || database.select(&asked.query, asked.limit));
        let answer = run.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let result = json!({ "region": here, "columns": answer.columns, "rows": answer.rows, "more": answer.more });
        Ok(CallToolResult::structured(result))
    }
}

#[tool_handler]
impl ServerHandler for Sql {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("sql", env!("CARGO_PKG_VERSION"));
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
}
