//! Content-Type and Accept, as far as this protocol needs them.

use http::HeaderValue;
use http::header::GetAll;

/// `application/json`, with any parameters but a charset other than UTF-8.
pub(super) fn is_json(value: Option<&HeaderValue>) -> bool {
    let Some(text) = value.and_then(|value| value.to_str().ok()) else { return false };
    let mut parts = text.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"));
    is_json && parts.all(|parameter| !is_foreign_charset(parameter))
}

fn is_foreign_charset(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("charset") && !value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
    })
}

/// Whether at least one of the two forms of an answer is accepted. Without the header everything is (RFC 9110, 12.5.1).
pub(super) fn accepts_an_answer(values: &GetAll<'_, HeaderValue>) -> bool {
    let mut ranges = values.iter().flat_map(|value| value.to_str().unwrap_or_default().split(',')).peekable();
    ranges.peek().is_none() || ranges.any(takes_an_answer)
}

fn takes_an_answer(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    let refused = parts.any(|parameter| {
        parameter.split_once('=').is_some_and(|(name, weight)| {
            name.trim().eq_ignore_ascii_case("q") && weight.trim().parse::<f32>().is_ok_and(|weight| weight <= 0.0)
        })
    });
    let matches = ["*/*", "application/*", "application/json", "text/*", "text/event-stream"]
        .iter()
        .any(|form| essence.eq_ignore_ascii_case(form));
    matches && !refused
}
