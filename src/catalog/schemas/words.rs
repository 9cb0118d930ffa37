//! Knows how an error of validation is said in a few words.
//!
//! Must never print a value, a name or a list of them without a bound, and never a control character.

use std::fmt::Write as _;
use std::io::{self, Write};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

/// How much of a value is printed, in characters.
const MAX_VALUE: usize = 80;
/// How many values of a list, and of how many characters each.
const MAX_LISTED: usize = 12;
const MAX_LISTED_CHARS: usize = 40;
/// How many alternatives are told.
const MAX_ALTERNATIVES: usize = 4;

/// What was expected and what came, without the place.
pub(super) fn describe(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(error, context),
        // This is how the crate says that an object may have no properties at all.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            "no properties are allowed here".to_owned()
        }
        kind => of_kind(kind, error.instance()),
    }
}

fn of_kind(kind: &Kind, instance: &Value) -> String {
    let got = || value(instance, MAX_VALUE);
    match kind {
        Kind::Type { kind } => format!("expected {}, got {}", types(kind), got()),
        Kind::Required { property } => format!("{} is required", value(property, MAX_VALUE)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let are = if unexpected.len() == 1 { "is" } else { "are" };
            format!("{} {are} not allowed here", names(unexpected))
        }
        Kind::Enum { options } => format!("expected one of {}, got {}", listed(options), got()),
        Kind::Constant { expected_value } => format!("expected {}, got {}", value(expected_value, MAX_VALUE), got()),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("matches none of {} alternatives", context.len())
        }
        Kind::OneOfMultipleValid { .. } => "matches more than one alternative, and must match exactly one".to_owned(),
        Kind::PropertyNames { error } => {
            format!("a property has a bad name: {}", of_kind(error.kind(), error.instance()))
        }
        Kind::Not { schema } => format!("must not match {}, got {}", value(schema, MAX_VALUE), got()),
        Kind::FalseSchema => "no value is allowed here".to_owned(),
        Kind::Referencing(error) => clip(&error.to_string(), MAX_VALUE),
        Kind::Custom { message, .. } | Kind::RegexEngineFailure { message } => clip(message, MAX_VALUE),
        Kind::AdditionalItems { .. }
        | Kind::Contains
        | Kind::MaxItems { .. }
        | Kind::MinItems { .. }
        | Kind::UnevaluatedItems { .. }
        | Kind::UniqueItems
        | Kind::MaxProperties { .. }
        | Kind::MinProperties { .. } => of_members(kind, instance),
        _ => format!("expected {}, got {}", of_scalars(kind), got()),
    }
}

/// What is expected of a number or a text.
fn of_scalars(kind: &Kind) -> String {
    match kind {
        Kind::Maximum { limit } => format!("at most {}", value(limit, MAX_VALUE)),
        Kind::Minimum { limit } => format!("at least {}", value(limit, MAX_VALUE)),
        Kind::ExclusiveMaximum { limit } => format!("less than {}", value(limit, MAX_VALUE)),
        Kind::ExclusiveMinimum { limit } => format!("more than {}", value(limit, MAX_VALUE)),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::Pattern { pattern } => format!("text that matches {}", clip(pattern, MAX_VALUE)),
        Kind::BacktrackLimitExceeded { .. } => "text that its pattern can be tried on in bounded time".to_owned(),
        Kind::Format { format } => format!("the format {}", clip(format, MAX_VALUE)),
        Kind::ContentEncoding { content_encoding } => format!("the encoding {}", clip(content_encoding, MAX_VALUE)),
        Kind::ContentMediaType { content_media_type } => format!("the type {}", clip(content_media_type, MAX_VALUE)),
        Kind::FromUtf8 { .. } => "encoded UTF-8 text".to_owned(),
        _ => "a value that the schema allows".to_owned(),
    }
}

/// What is expected of an array's items or an object's members, which are counted and not printed.
fn of_members(kind: &Kind, instance: &Value) -> String {
    let count = instance.as_array().map_or_else(|| instance.as_object().map_or(0, serde_json::Map::len), Vec::len);
    match kind {
        Kind::AdditionalItems { limit } => format!("expected at most {limit} items, got {count}"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items, got {count}"),
        Kind::MinItems { limit } => format!("expected at least {limit} items, got {count}"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} properties, got {count}"),
        Kind::MinProperties { limit } => format!("expected at least {limit} properties, got {count}"),
        Kind::Contains => "does not have the items that it must contain".to_owned(),
        Kind::UniqueItems => "has equal items, and all must differ".to_owned(),
        _ => "has items that are not allowed".to_owned(),
    }
}

/// Each alternative is told by its first error alone, nested alternatives by their number.
fn alternatives(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> String {
    if let Some(types) = bare_types(error, context) {
        return format!("expected {types}, got {}", value(error.instance(), MAX_VALUE));
    }
    let mut text = format!("matches none of {} alternatives", context.len());
    for (index, errors) in context.iter().take(MAX_ALTERNATIVES).enumerate() {
        let Some(first) = errors.first() else { continue };
        let place = first.instance_path().as_str();
        let place = clip(&plain(place.strip_prefix(error.instance_path().as_str()).unwrap_or(place)), MAX_LISTED_CHARS);
        let gap = if place.is_empty() { "" } else { ": " };
        let what = clip(&of_kind(first.kind(), first.instance()), 2 * MAX_VALUE);
        let _ = write!(text, "{} ({}) {place}{gap}{what}", if index == 0 { ":" } else { ";" }, index + 1);
    }
    if context.len() > MAX_ALTERNATIVES {
        text.push_str("; …");
    }
    text
}

/// The types that are allowed, if a wrong type of this very value is all that each alternative says.
fn bare_types(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut allowed: Vec<String> = Vec::new();
    for errors in context {
        let [only] = errors.as_slice() else { return None };
        let Kind::Type { kind } = only.kind() else { return None };
        if only.instance_path() != error.instance_path() {
            return None;
        }
        let types = types(kind);
        if !allowed.contains(&types) {
            allowed.push(types);
        }
    }
    (!allowed.is_empty()).then(|| allowed.join(" or "))
}

fn types(kind: &TypeKind) -> String {
    let with_article = |name: String| match name.as_str() {
        "null" => name,
        "array" | "integer" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    };
    match kind {
        TypeKind::Single(only) => with_article(only.to_string()),
        TypeKind::Multiple(several) => {
            several.iter().map(|one| with_article(one.to_string())).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn names(names: &[String]) -> String {
    bounded_list(names.len(), names.iter().map(|name| text(name, MAX_LISTED_CHARS)))
}

fn listed(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    bounded_list(options.len(), options.iter().map(|option| value(option, MAX_LISTED_CHARS)))
}

fn bounded_list(count: usize, items: impl Iterator<Item = String>) -> String {
    let mut list = items.take(MAX_LISTED).collect::<Vec<_>>().join(", ");
    if count > MAX_LISTED {
        let _ = write!(list, " and {} more", count - MAX_LISTED);
    }
    list
}

/// A value as JSON, of which no more is written than is shown.
pub(super) fn value(value: &Value, max: usize) -> String {
    if let Value::String(string) = value {
        return text(string, max);
    }
    let mut shown = Shown { bytes: Vec::new(), room: 4 * max + 4 };
    // An error says no more than that there is no room left.
    let _ = serde_json::to_writer(&mut shown, value);
    clip(&plain(&String::from_utf8_lossy(&shown.bytes)), max)
}

/// A text as JSON; one that is cut keeps its closing quote.
fn text(text: &str, max: usize) -> String {
    let head = clip(text, max);
    plain(&Value::String(head).to_string())
}

/// At most `max` characters.
pub(super) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Control characters could end a line of a message or a log.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

struct Shown {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.get(..self.room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        self.room -= taken.len();
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
