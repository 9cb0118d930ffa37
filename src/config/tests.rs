use std::fmt::Write;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// One of everything, to be broken in every way.
const WHOLE: &str = r#"
[gateway]
listen = ["0.0.0.0:8080", "[::1]:81"]
timeouts = { head = "10s" }
protected_resource = { resource = "https://a/b", authorization_servers = ["https://c"] }
unauthenticated = true
[admin]
[servers.sql]
prefix = "" # ä日
headers = { "X-A" = "b" }
params = { Region = "a.b" }
[[servers.sql.routes]]
name = "us"
when = { Region = ["us-*", "a"], "T" = "\u00e4*" }
endpoints = ["http://a:1/mcp"]
lists = true
[servers.b]
endpoints = ["http://b/mcp"]
authorization = 'forward'
"#;

#[test]
fn the_whole_holds() {
    let config = parse(WHOLE, "x", &Nothing).unwrap_or_else(|complaints| panic!("{complaints}"));
    assert_eq!(config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["sql", "b"]);
    assert_eq!(config.servers[0].timeouts.idle, Duration::from_secs(300));
    assert_eq!(config.gateway.loopback_listeners().map(|a| a.port()).collect::<Vec<_>>(), [81]);
    assert_eq!(config.admin.expect("admin").listen.port(), 9090);
}

#[test]
fn a_configuration_can_be_shared() {
    fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Config>();
    shareable::<Complaints>();
    shareable::<crate::routing::Table>();
}

#[test]
fn mapped_loopback_is_loopback() {
    for (address, loopback) in [
        ("127.0.0.2:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("0.0.0.0:1", false),
        ("10.0.0.1:1", false),
    ] {
        assert_eq!(settings::is_loopback(&address.parse().expect("an address")), loopback, "{address}");
    }
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    assert!(parse(&format!("\u{feff}{WHOLE}"), "x", &Nothing).is_ok());
}

#[test]
fn every_server_is_read_in_reasonable_time() {
    let mut text = String::new();
    for index in 0..20_000 {
        let _ = writeln!(text, "[servers.s{index}]\nendpoints = [\"http://10.0.0.1:{}/mcp\"]", index + 1);
    }
    let start = Instant::now();
    let config = parse(&text, "x", &Nothing).unwrap_or_else(|complaints| panic!("{complaints}"));
    assert_eq!(config.servers.len(), 20_000);
    assert!(config.servers.iter().enumerate().all(|(index, server)| server.name == format!("s{index}")));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Each complaint's place is a place of the text.
fn places_hold(text: &str, complaints: &Complaints) {
    assert!(!complaints.is_empty());
    let mut last = (0, 0);
    for Complaint { place, message, help } in complaints {
        let line = text.split('\n').nth(place.line - 1).expect("a line of the text").trim_end_matches('\r');
        assert_eq!(line, place.text, "{message}");
        assert!(place.length >= 1 && place.column >= 1);
        let end = place.column - 1 + place.length;
        assert!(end <= line.chars().count().max(place.column), "{message}: {place:?}");
        assert!(last <= (place.line, place.column), "{message} is out of order");
        last = (place.line, place.column);
        assert!(!message.ends_with('.') && !help.ends_with('.') && !help.is_empty(), "{message}: {help}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// A file broken anywhere is read or complained about, never more.
    #[test]
    fn no_text_makes_it_panic(from in 0_usize..700, length in 0_usize..12, put in "[\\PC\n]{0,6}|[\\[\\]{}\"'=,.\n]{0,4}") {
        let chars: Vec<char> = WHOLE.chars().collect();
        let from = from.min(chars.len());
        let to = (from + length).min(chars.len());
        let text: String = chars[..from].iter().copied().chain(put.chars()).chain(chars[to..].iter().copied()).collect();
        if let Err(complaints) = parse(&text, "x", &Nothing) {
            places_hold(&text, &complaints);
            prop_assert!(!complaints.to_string().contains("this is a defect"), "{complaints}");
        }
    }

    #[test]
    fn no_value_makes_it_panic(line in 0_usize..25, value in "-?[0-9]{1,22}|\"\\PC{0,9}\"|\\[\\]|\\{\\}|true|1\\.5|\\[\"[a-z:/]{0,9}\"\\]") {
        let lines: Vec<&str> = WHOLE.lines().collect();
        let replaced = lines.iter().enumerate().map(|(number, text)| match text.split_once(" = ") {
            Some((key, _)) if number == line => format!("{key} = {value}\n"),
            _ => format!("{text}\n"),
        });
        let text: String = replaced.collect();
        if let Err(complaints) = parse(&text, "x", &Nothing) {
            places_hold(&text, &complaints);
            prop_assert!(!complaints.to_string().contains("this is a defect"), "{complaints}");
        }
    }
}
