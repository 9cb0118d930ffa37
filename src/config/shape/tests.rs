use super::*;

fn node_of(text: &'static str) -> Node {
    tree::literal(text, Span::default()).unwrap_or_else(|| panic!("{text} is no TOML"))
}

/// Every key of a kind, with all keys below it.
fn keys_below(kind: &'static Kind, found: &mut Vec<&'static Key>) {
    match kind {
        Kind::Table(keys) => keys.iter().for_each(|key| {
            found.push(key);
            keys_below(&key.kind, found);
        }),
        Kind::List(each) | Kind::OneOrList(each) | Kind::Names { each, .. } => keys_below(each, found),
        Kind::Either(kinds) => kinds.iter().for_each(|kind| keys_below(kind, found)),
        Kind::Text { .. } | Kind::Word(_) | Kind::Boolean | Kind::Integer { .. } | Kind::Duration { .. } => {}
    }
}

fn all_keys() -> Vec<&'static Key> {
    let mut found = Vec::new();
    for key in FILE {
        found.push(key);
        keys_below(&key.kind, &mut found);
    }
    found
}

#[test]
fn every_default_and_every_example_is_of_its_keys_kind() {
    let keys = all_keys();
    assert!(keys.len() > 40, "only {} keys", keys.len());
    for key in keys {
        let default = match key.presence {
            Presence::Defaulted(default) => Some(default),
            Presence::Required | Presence::Optional => None,
        };
        for text in default.into_iter().chain([key.example]) {
            let mut findings = Findings::default();
            let place = Place { path: key.name.to_owned(), span: Span::default() };
            node(node_of(text), key, &key.kind, &place, &mut findings);
            assert!(findings.is_empty(), "{} = {text}: {findings:?}", key.name);
        }
    }
}

#[test]
fn every_key_says_what_it_is_for() {
    for key in all_keys() {
        assert!(key.about.ends_with('.') && key.about.len() > 10, "{}: {}", key.name, key.about);
    }
}

#[test]
fn what_is_left_out_stands_at_its_default() {
    let mut findings = Findings::default();
    let file = check(Table::default(), &mut findings);
    assert!(findings.is_empty());
    let Some(Value::Table(gateway)) = file.node("gateway").map(|node| &node.value) else { panic!("no gateway") };
    assert!(matches!(gateway.node("path").map(|node| &node.value), Some(Value::Text(path)) if path == "/mcp"));
    assert!(gateway.entry("bearer_file").is_none() && file.entry("admin").is_none());
}

#[test]
fn numbers_are_grouped() {
    for (number, text) in [(0, "0"), (999, "999"), (1_000, "1_000"), (16_777_216, "16_777_216")] {
        assert_eq!(grouped(number), text);
    }
}
