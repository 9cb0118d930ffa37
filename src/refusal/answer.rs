//! A refusal as HTTP and JSON-RPC.

use serde_json::{Value, json};

use super::Refusal;
use super::table::Owes;
use crate::protocol::{HeadFault, VERSIONS};

/// Seconds after which a client that met a limit may try again.
const RETRY_AFTER: u32 = 1;

/// What goes out for a refusal.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
    /// Whether it is a tool's result that says so, which the model sees, and not an error of the protocol.
    pub is_tool_result: bool,
    /// A header that this status owes the client.
    pub header: Option<(&'static str, String)>,
}

impl Answer {
    /// The body: a JSON-RPC error response. `id` is the request's own, as written; without it the member is left out
    /// ("Sending Messages": an error response that has no id).
    pub fn body(&self, id: Option<&str>) -> Vec<u8> {
        if self.is_tool_result {
            return self.tool_result(id);
        }
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".into(), data.clone());
        }
        let id = id.map(|id| format!("\"id\":{id},")).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",{id}\"error\":{error}}}").into_bytes()
    }

    /// "server/tools", "Error Handling": what is wrong with the arguments is a result, so that the model can mend it.
    fn tool_result(&self, id: Option<&str>) -> Vec<u8> {
        let content = json!([{ "type": "text", "text": self.message }]);
        let id = id.unwrap_or("null");
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"resultType\":\"complete\",\"content\":{content},\"isError\":true}}}}"
        )
        .into_bytes()
    }
}

impl Refusal {
    /// What the client is told.
    pub fn answer(&self) -> Answer {
        let row = self.row();
        Answer {
            status: row.status,
            code: row.code,
            message: self.words(),
            data: self.data(),
            is_tool_result: matches!(self, Self::Arguments { .. }),
            header: self.owed(row.owes),
        }
    }

    /// "Error codes": which versions are spoken here.
    fn data(&self) -> Option<Value> {
        let (Self::Version { requested } | Self::Head(HeadFault::Version(requested))) = self else { return None };
        Some(json!({ "supported": VERSIONS, "requested": requested }))
    }

    fn owed(&self, owes: Owes) -> Option<(&'static str, String)> {
        match owes {
            Owes::Nothing => None,
            Owes::Allow => Some(("Allow", "POST, OPTIONS".into())),
            Owes::RetryAfter => Some(("Retry-After", RETRY_AFTER.to_string())),
            Owes::Bearer => Some(("WWW-Authenticate", "Bearer".into())),
            Owes::Challenge => Some(("WWW-Authenticate", self.challenge()?)),
        }
    }

    fn challenge(&self) -> Option<String> {
        let Self::ListUnauthorized { challenge, .. } = self else { return None };
        challenge.clone()
    }
}
