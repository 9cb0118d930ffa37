//! How a text that someone else wrote stands in a message: safe to print, and short.

/// Characters that are shown.
const SHOWN: usize = 80;

/// Quotes a value for a message: printable ASCII, everything else escaped, cut where it is long.
pub fn quote(text: &str) -> String {
    format!("'{}'", escaped(text))
}

/// The same without quotes, for fields that hold nothing else.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(SHOWN));
    for (shown, c) in text.chars().enumerate() {
        if shown == SHOWN {
            out.push('…');
            break;
        }
        match c {
            ' '..='~' if c != '\'' && c != '\\' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_one_short_printable_line() {
        for (text, expected) in [
            ("us-west1", "'us-west1'"),
            ("it's \\ \"", r#"'it\'s \\ "'"#),
            ("a\r\n\u{1b}[31m", r"'a\r\n\u{1b}[31m'"),
            ("é", r"'\u{e9}'"),
            ("", "''"),
        ] {
            assert_eq!(quote(text), expected);
        }
        let long = escaped(&"x".repeat(1_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (81, true));
    }
}
