//! The arguments of a call, checked against its tool's schema before a server sees it.
//!
//! What does not hold is a tool's result, so that the model can mend it ("server/tools", "Error Handling").

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::schemas::Schemas;
use crate::fleet::Server;
use crate::refusal::Refusal;

/// Arguments in more bytes than this are checked on a thread of their own.
const LARGE: usize = 64 * 1024;

#[derive(Deserialize)]
struct Request {
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    arguments: Option<Value>,
}

/// Checks the arguments of a call whose body was judged.
pub async fn check(server: &Server, schemas: Arc<Schemas>, body: &[u8]) -> Result<(), Refusal> {
    // What was judged is JSON; a client may leave out arguments where there are none.
    let request: Request = serde_json::from_slice(body).map_err(|_| Refusal::Internal)?;
    let arguments = request.params.arguments.unwrap_or_else(|| Value::Object(Map::new()));
    let checked = if body.len() > LARGE {
        tokio::task::spawn_blocking(move || complaint(&schemas, &arguments)).await.map_err(|_| Refusal::Internal)?
    } else {
        complaint(&schemas, &arguments)
    };
    checked.map_err(|complaint| refused(server, complaint))
}

/// The refusal of a call that is too large to be checked: it is never let through unchecked. A result needs the
/// request's id, an error does not.
pub fn too_large(server: &Server, has_id: bool) -> Refusal {
    let limit = server.reading.validation.max_bytes;
    if !has_id {
        return Refusal::BodyTooLarge { limit: limit as u64 };
    }
    refused(server, format!("The call is larger than {limit} bytes, the most that can be checked. Send less."))
}

fn complaint(schemas: &Schemas, arguments: &Value) -> Result<(), String> {
    let Some(schema) = &schemas.input else { return Ok(()) };
    schema.check(arguments).map_err(|complaint| complaint.to_string())
}

fn refused(server: &Server, complaint: String) -> Refusal {
    server.metrics.catalog.invalid_arguments.inc();
    Refusal::Arguments { complaint }
}
