//! Where in a server's messages a resource's URI stands that a client would use: the closed table, as data.
//!
//! Taken from the schema of revision 2026-07-28 and, for tasks, from SEP-2663. What is not here is never touched: text,
//! `structuredContent`, `_meta`, `icons`, `inputRequests`, errors.

use crate::protocol::Method;

use Place::{Each, Object, OneOrEach, Uri};

/// A value that is on the way to a URI, or one.
#[derive(Debug)]
pub(super) enum Place {
    Uri,
    /// The members that matter of an object.
    Object(&'static [(&'static str, Place)]),
    /// Every element of an array.
    Each(&'static Place),
    /// An object, or an array of such.
    OneOrEach(&'static Place),
    /// The name of the message's method, which says what its `params` are.
    MethodName,
    /// What a notification's `params` are, as far as the method is known by then.
    Params,
    /// What the `result` is, which the request's method says.
    Result,
}

/// `TextResourceContents`, `BlobResourceContents`.
const CONTENTS: Place = Object(&[("uri", Uri)]);
/// `ContentBlock`: a resource link has a URI, an embedded resource has contents.
const BLOCK: Place = Object(&[("uri", Uri), ("resource", CONTENTS)]);
/// `PromptMessage`. The schema has one block; some servers send several.
const MESSAGE: Place = Object(&[("content", OneOrEach(&BLOCK))]);

/// `ReadResourceResult`
const READ: Place = Object(&[("contents", Each(&CONTENTS))]);
/// `CallToolResult`
const CALLED: Place = Object(&[("content", Each(&BLOCK))]);
/// `GetPromptResult`
const PROMPT: Place = Object(&[("messages", Each(&MESSAGE))]);
/// `DetailedTask` ("Task Status"). Only calls become tasks today; a server may be ahead of that.
const TASK: Place = Object(&[("result", FINISHED)]);
const FINISHED: Place =
    Object(&[("contents", Each(&CONTENTS)), ("content", Each(&BLOCK)), ("messages", Each(&MESSAGE))]);

/// `ResourceUpdatedNotificationParams`
const UPDATED: Place = Object(&[("uri", Uri)]);
/// `SubscriptionsAcknowledgedNotificationParams`: the client looks for what it asked for.
const ACKNOWLEDGED: Place = Object(&[("notifications", FILTER)]);
const FILTER: Place = Object(&[("resourceSubscriptions", Each(&Uri))]);

static NOTHING: Place = Object(&[]);

static RESULTS: [(Method, Place); 4] = [
    (Method::ResourcesRead, READ),
    (Method::ToolsCall, CALLED),
    (Method::PromptsGet, PROMPT),
    (Method::TasksGet, TASK),
];

static NOTIFICATIONS: [(&str, Place); 3] = [
    ("notifications/resources/updated", UPDATED),
    ("notifications/subscriptions/acknowledged", ACKNOWLEDGED),
    // Carries what `tasks/get` would have answered ("Task Status Notifications").
    ("notifications/tasks", TASK),
];

/// What `params` are as long as the method is not known: all of the above at once. They do not contradict each other,
/// and no other notification of the schema has members of these names.
pub(super) static ANY_PARAMS: Place = Object(&[("uri", Uri), ("notifications", FILTER), ("result", FINISHED)]);

/// The one message of a JSON answer.
pub(super) static RESPONSE: Place = Object(&[("result", Place::Result)]);
/// A message of a stream.
pub(super) static ANY_MESSAGE: Place =
    Object(&[("result", Place::Result), ("method", Place::MethodName), ("params", Place::Params)]);

/// The longest name of a member or method above.
pub(super) const LONGEST_NAME: usize = "notifications/subscriptions/acknowledged".len();
/// How many objects and arrays of the table stand in one another at most.
pub(super) const DEEPEST: usize = 8;

/// Where the result of a request with this method has its URIs.
pub(super) fn result_of(request: Method) -> &'static Place {
    RESULTS.iter().find(|(method, _)| *method == request).map_or(&NOTHING, |(_, place)| place)
}

/// Whether results of requests with this method have URIs.
pub(super) fn has_uris(request: Method) -> bool {
    RESULTS.iter().any(|(method, _)| *method == request)
}

/// Where the params of a notification with this method have their URIs.
pub(super) fn params_of(notification: &[u8]) -> &'static Place {
    let mut rows = NOTIFICATIONS.iter();
    rows.find(|(method, _)| method.as_bytes() == notification).map_or(&NOTHING, |(_, place)| place)
}

impl Place {
    /// The place of an object that stands here.
    pub(super) fn as_object(&'static self) -> Option<&'static Self> {
        match self {
            Object(_) => Some(self),
            OneOrEach(one) => Some(one),
            _ => None,
        }
    }

    /// The place of an array that stands here.
    pub(super) fn as_array(&'static self) -> Option<&'static Self> {
        matches!(self, Each(_) | OneOrEach(_)).then_some(self)
    }

    pub(super) fn member(&'static self, name: &[u8]) -> Option<&'static Self> {
        let Object(members) = self else { return None };
        members.iter().find(|(member, _)| member.as_bytes() == name).map(|(_, place)| place)
    }

    pub(super) fn element(&'static self) -> Option<&'static Self> {
        match self {
            Each(one) | OneOrEach(one) => Some(one),
            _ => None,
        }
    }
}
