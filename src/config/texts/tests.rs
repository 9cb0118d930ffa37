use super::*;

/// What is read, or the help.
fn outcome<T: std::fmt::Debug>(result: Result<T, Fault>) -> Result<T, String> {
    result.map_err(|fault| fault.help)
}

#[test]
fn paths_lose_the_slash_at_their_end() {
    for (text, path) in [
        ("/mcp", "/mcp"),
        ("/mcp/", "/mcp"),
        ("/", "/"),
        ("/a/b-c/%20", "/a/b-c/%20"),
        ("/.well-knownish", "/.well-knownish"),
    ] {
        assert_eq!(mount(text), Ok(path.to_owned()), "{text}");
    }
    for text in ["", "mcp", "/a b", "/ä", "/a?x", "/a#x", "/.well-known", "/.well-known/x", "//a", "/a//b", "/a\n"] {
        assert!(mount(text).is_err(), "{text} was accepted");
    }
}

#[test]
fn origins_are_scheme_host_and_port() {
    for text in ["*", "http://localhost", "https://app.example:8443", "http://[::1]:3000", "vscode-webview://abc"] {
        assert_eq!(origin(text), Ok(text.to_owned()));
    }
    for text in [
        "",
        "null",
        "http://",
        "a.example",
        "http://a/",
        "http://a b",
        "http://u@a",
        "://a",
        "1x://a",
        "http://a:x",
        "**",
    ] {
        assert!(origin(text).is_err(), "{text} was accepted");
    }
}

#[test]
fn names_are_lower_case_letters_digits_and_dashes() {
    for text in ["a", "a1", "a-b", "a--b", &"a".repeat(32)] {
        assert_eq!(name(text, "x"), Ok(text.to_owned()));
    }
    for text in ["", "1", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", &"a".repeat(33)] {
        assert!(name(text, "x").is_err(), "{text} was accepted");
    }
}

#[test]
fn a_suggested_name_is_lawful() {
    for text in ["My Server", "-x-", "9to5", "Größe", "a__b", &"A".repeat(40), &format!("{}-x", "a".repeat(31))] {
        let suggestion = lawful_like(text);
        assert!(name(&suggestion, "x").is_ok(), "{text} became {suggestion}");
    }
}

#[test]
fn networks_are_kept_without_host_bits() {
    for (text, network) in
        [("10.1.2.3/8", "10.0.0.0/8"), ("10.0.0.7", "10.0.0.7/32"), ("::1", "::1/128"), ("fd00::1/8", "fd00::/8")]
    {
        assert_eq!(self::network(text).map(|network| network.to_string()), Ok(network.to_owned()));
    }
    for text in ["", "10.0.0.0/33", "a/8", "10.0.0.0/", "10.0.0"] {
        assert!(network(text).is_err(), "{text} was accepted");
    }
}

#[test]
fn parameters_are_tokens_without_the_headers_prefix() {
    for text in ["Region", "X|Y", "a.b", "1"] {
        assert_eq!(parameter(text), Ok(text.to_owned()));
    }
    assert_eq!(outcome(parameter("mcp-PARAM-Region")), Err("write what follows `Mcp-Param-`: `Region`".to_owned()));
    for text in ["", "a b", "a:b", "ä", "a\n", "(a)"] {
        assert!(parameter(text).is_err(), "{text} was accepted");
    }
}

#[test]
fn urls_are_http() {
    for text in ["https://login.example", "http://127.0.0.1:1/x?y=z", "https://[::1]/"] {
        assert_eq!(url(text), Ok(text.to_owned()));
    }
    for text in ["", "login.example", "/x", "ftp://a", "https://", "https://a#b", "https://u@a", "https://a b"] {
        assert!(url(text).is_err(), "{text} was accepted");
    }
}
