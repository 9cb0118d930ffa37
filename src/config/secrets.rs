//! Values that come from the environment or from files.
//!
//! Must never put what it read into a complaint.

use std::io::ErrorKind;
use std::path::PathBuf;

use http::HeaderValue;

use super::complaint::{Span, Told};
use super::reading::Reading;
use super::settings::{Authorization, BearerFile, Secret, Source};
use super::tree::Table;

/// The token that stands in the file of this name.
pub(super) fn bearer_file(path: &str, span: Span, reading: &mut Reading<'_>) -> Result<BearerFile, Told> {
    let file = PathBuf::from(path);
    let text = reading.surroundings.read(&file).map_err(|error| {
        let message = format!("the file \"{path}\" cannot be read: {}", reason(&error));
        reading.findings.add(span, message, "write the name of a file that holds the token and that this user may read")
    })?;
    let token = token(&text).ok_or_else(|| {
        let message = format!("the file \"{path}\" holds no token");
        reading.findings.add(span, message, "let it hold the token alone: one line of visible ASCII without spaces")
    })?;
    Ok(BearerFile { path: file, token })
}

/// The text of an environment variable, not empty.
pub(super) fn variable(name: &str, span: Span, reading: &mut Reading<'_>) -> Result<String, Told> {
    match reading.surroundings.variable(name) {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) => {
            let message = format!("the environment variable `{name}` is empty");
            Err(reading.findings.add(span, message, format!("start the gateway with `{name}` set")))
        }
        None => {
            let message = format!("the environment variable `{name}` is not set");
            Err(reading.findings.add(
                span,
                message,
                format!("start the gateway with `{name}` set, or name another one"),
            ))
        }
    }
}

/// `{ bearer_env = "…" }` or `{ bearer_file = "…" }`, exactly one of the two.
pub(super) fn bearer(table: &Table, span: Span, reading: &mut Reading<'_>) -> Result<Authorization, Told> {
    match (table.entry("bearer_env"), table.entry("bearer_file")) {
        (Some(_), None) => {
            let (name, span) = reading.text(table, "bearer_env")?;
            let text = variable(name, span, reading)?;
            let token = token(&text).ok_or_else(|| {
                let message = format!("the environment variable `{name}` holds no token");
                reading.findings.add(span, message, "let it hold the token alone: visible ASCII without spaces")
            })?;
            Ok(Authorization::Bearer { source: Source::Variable(name.to_owned()), token })
        }
        (None, Some(_)) => {
            let (path, span) = reading.text(table, "bearer_file")?;
            let BearerFile { path, token } = bearer_file(path, span, reading)?;
            Ok(Authorization::Bearer { source: Source::File(path), token })
        }
        (None, None) => {
            let help = "write `{ bearer_env = \"…\" }` or `{ bearer_file = \"…\" }`";
            Err(reading.findings.add(span, "`authorization` names no token", help))
        }
        (Some(_), Some(second)) => {
            let message = "`authorization` takes one of `bearer_env` and `bearer_file`, not both";
            Err(reading.findings.add(second.name_span, message, "remove one of them"))
        }
    }
}

/// A header's value, if it is a lawful one.
pub(super) fn header_value(text: &str) -> Option<Secret> {
    // `http` would take bytes past ASCII too; what they mean to a server is anyone's guess.
    (text.is_ascii() && HeaderValue::from_str(text).is_ok()).then(|| Secret::new(text.to_owned()))
}

fn token(text: &str) -> Option<Secret> {
    let token = text.trim();
    let lawful = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    lawful.then(|| Secret::new(token.to_owned()))
}

/// The reason alone, in words that do not depend on the platform.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        kind => kind.to_string(),
    }
}
