//! Tables of bodies, each fed whole, byte by byte and cut in two at every place: the outcome must not depend on it.

#![allow(clippy::expect_used, reason = "a test ends where what it needs is missing")]

use std::sync::Arc;

use super::{Capture, Kind, Limits, ScanError, ScanErrorKind, Scanner, Slot, Text, Watch, WatchBuilder};

const LIMITS: Limits = Limits { max_depth: 4, max_trailing_space: 3 };
const PLAIN: Capture = Capture { max_bytes: 64, held: false, text: Text::Decoded };
const RAW: Capture = Capture { text: Text::Raw, ..PLAIN };
const HELD: Capture = Capture { max_bytes: 16, held: true, text: Text::Decoded };

/// A value as found: kind, text, range, cut.
type Value = (Kind, String, std::ops::Range<u64>, bool);

fn value(scanner: &Scanner, slot: Slot) -> Option<Value> {
    scanner.found(slot).map(|found| {
        let text = std::str::from_utf8(found.text).expect("text is UTF-8").to_owned();
        (found.kind, text, found.range, found.cut)
    })
}

/// Feeds pieces one after another; checks on the way what must hold at every border.
fn feed(watch: &Arc<Watch>, pieces: &[&[u8]]) -> (Scanner, Result<(), ScanError>) {
    let mut scanner = Scanner::new(Arc::clone(watch), LIMITS);
    let mut safe = 0;
    for piece in pieces {
        let fed = scanner.feed(piece);
        assert!(scanner.safe() >= safe && scanner.safe() <= scanner.fed(), "safe never falls");
        if let Err(error) = fed {
            assert_eq!(scanner.safe(), safe, "a wrong chunk does not move safe");
            assert_eq!(scanner.feed(b" "), Err(error.clone()));
            assert_eq!(scanner.finish(), Err(error.clone()));
            return (scanner, Err(error));
        }
        safe = scanner.safe();
    }
    let end = scanner.finish();
    assert_eq!(scanner.safe(), safe, "the end does not move safe");
    (scanner, end)
}

/// All values and the verdict, which every way of cutting must give alike.
fn outcome(watch: &Arc<Watch>, slots: &[Slot], body: &[u8]) -> (Vec<Option<Value>>, Result<(), ScanError>) {
    let values = |scanner: &Scanner| slots.iter().map(|slot| value(scanner, *slot)).collect::<Vec<_>>();
    let (scanner, whole) = feed(watch, &[body]);
    let expected = (values(&scanner), whole);
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    let halves = (0..=body.len()).map(|at| body.split_at(at)).map(|(front, back)| vec![front, &[][..], back]);
    for pieces in halves.chain([bytes]) {
        let (scanner, end) = feed(watch, &pieces);
        assert_eq!((values(&scanner), end), expected, "cut as {pieces:?}");
    }
    expected
}

fn verdict(body: &[u8]) -> Result<(), (ScanErrorKind, u64)> {
    let watch = Arc::new(Watch::builder().build());
    outcome(&watch, &[], body).1.map_err(|error| (error.kind, error.at))
}

fn watched(build: impl FnOnce(&mut WatchBuilder) -> Vec<Slot>) -> (Arc<Watch>, Vec<Slot>) {
    let mut builder = Watch::builder();
    let slots = build(&mut builder);
    (Arc::new(builder.build()), slots)
}

#[allow(clippy::unnecessary_wraps, reason = "compared with what may be absent")]
fn found(kind: Kind, text: &str, range: std::ops::Range<u64>) -> Option<Value> {
    Some((kind, text.to_owned(), range, false))
}

#[test]
fn takes_what_rfc_8259_takes() {
    let bodies = [
        "{}",
        "[]",
        "\"\"",
        "0",
        "-0",
        "-0.0",
        "10",
        "1.5",
        "1e5",
        "1E+5",
        "0e-05",
        "-12.50e+3",
        "true",
        "false",
        "null",
        " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n",
        "[[[[]]]]",
        "{\"a\":1,\"a\":2}",
        "[{},[],\"\",0,true,false,null]",
        r#""\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00\u0000""#,
        "\"é 漢 😀 \u{7f} \u{2028}\"",
        "{\"\":{\"\":\"\"}}",
        r#""a string that is longer than a few words, and longer than a block of the search: \" and \\ and it goes on""#,
        "[1e400,123456789012345678901234567890]",
        "  1  ",
        "\"\u{feff}\"",
    ];
    for body in bodies {
        assert_eq!(verdict(body.as_bytes()), Ok(()), "{body}");
    }
}

#[test]
fn refuses_what_is_no_json() {
    let syntax: [(&str, u64, &str); 44] = [
        ("}", 0, "a value"),
        ("]", 0, "a value"),
        (",", 0, "a value"),
        ("\u{feff}{}", 0, "a value"),
        ("\u{a0}1", 0, "a value"),
        ("\u{b}1", 0, "a value"),
        ("'a'", 0, "a value"),
        ("+1", 0, "a value"),
        (".5", 0, "a value"),
        ("NaN", 0, "a value"),
        ("Infinity", 0, "a value"),
        ("//", 0, "a value"),
        ("[1,]", 3, "a value"),
        ("[,1]", 1, "a value or a closing bracket"),
        ("[}", 1, "a value or a closing bracket"),
        ("[1 2]", 3, "a comma or a closing bracket"),
        ("[1}", 2, "a comma or a closing bracket"),
        ("[01]", 2, "a comma or a closing bracket"),
        ("[-01]", 3, "a comma or a closing bracket"),
        ("[1.2.3]", 4, "a comma or a closing bracket"),
        ("[0x1]", 2, "a comma or a closing bracket"),
        ("[1_0]", 2, "a comma or a closing bracket"),
        ("{1:2}", 1, "a key in quotes or a closing brace"),
        ("{a:2}", 1, "a key in quotes or a closing brace"),
        ("{,}", 1, "a key in quotes or a closing brace"),
        ("{]", 1, "a key in quotes or a closing brace"),
        ("{\"a\":1,}", 7, "a key in quotes"),
        ("{\"a\",1}", 4, "a colon"),
        ("{\"a\" 1}", 5, "a colon"),
        ("{\"a\":}", 5, "a value"),
        ("{\"a\":1 \"b\"", 7, "a comma or a closing brace"),
        ("{\"a\":1]", 6, "a comma or a closing brace"),
        ("[-]", 2, "a digit"),
        ("[1.]", 3, "a digit"),
        ("[1.e5]", 3, "a digit"),
        ("[1e]", 3, "a digit"),
        ("[1e+]", 4, "a digit"),
        ("[tru]", 4, "true, false or null"),
        ("[True]", 1, "a value or a closing bracket"),
        ("nul ", 3, "true, false or null"),
        ("\"a\nb\"", 2, "an escape instead of a control character"),
        ("\"a\\xb\"", 3, "one of \" \\ / b f n r t u after a backslash"),
        ("\"\\u00g0\"", 5, "four hexadecimal digits after \\u"),
        ("\"\\u+123\"", 3, "four hexadecimal digits after \\u"),
    ];
    for (body, at, wanted) in syntax {
        assert_eq!(verdict(body.as_bytes()), Err((ScanErrorKind::Syntax(wanted), at)), "{body}");
    }
    for control in 0..0x20 {
        let body = [b'"', b'0', b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'8', control, b'"'];
        let wanted = "an escape instead of a control character";
        assert_eq!(verdict(&body), Err((ScanErrorKind::Syntax(wanted), 10)), "{control}");
    }
}

#[test]
fn says_where_a_body_breaks_off() {
    let bodies = [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "\"",
        "\"\\",
        "\"\\u12",
        "-",
        "1.",
        "1e",
        "1e-",
        "tru",
        "n",
        "[[]",
        "\"\\ud83d",
        "\"\\ud83d\\u",
    ];
    for body in bodies {
        assert_eq!(verdict(body.as_bytes()), Err((ScanErrorKind::Truncated, body.len() as u64)), "{body}");
    }
    assert_eq!(verdict(b"\"\xf0\x9f\x98"), Err((ScanErrorKind::Truncated, 4)));
}

#[test]
fn refuses_lone_surrogates() {
    let bodies = [
        (r#""\ud800""#, 7),
        (r#""\udc00""#, 6),
        (r#""\uD83D\u0041""#, 12),
        (r#""\uD83D\n""#, 8),
        (r#""\uD83Dx""#, 7),
        (r#""\uD83D\uD83D""#, 12),
        (r#""\uDE00\uD83D""#, 6),
        (r#"{"\ud800":1}"#, 8),
    ];
    for (body, at) in bodies {
        assert_eq!(verdict(body.as_bytes()), Err((ScanErrorKind::LoneSurrogate, at)), "{body}");
    }
    assert_eq!(verdict(br#""\ud83d\ude00 \uDBFF\uDFFF \ud7ff \ue000 \uffff""#), Ok(()));
}

#[test]
fn refuses_what_is_no_utf_8() {
    let bodies: [(&[u8], u64); 14] = [
        (b"\"\x80\"", 1),
        (b"\"a\xff\"", 2),
        (b"\"\xc0\xaf\"", 1),
        (b"\"\xc1\x81\"", 1),
        (b"\"\xe0\x80\xaf\"", 1),
        (b"\"\xf0\x80\x80\xaf\"", 1),
        (b"\"\xed\xa0\x80\"", 1),
        (b"\"\xed\xbf\xbf\"", 1),
        (b"\"\xf4\x90\x80\x80\"", 1),
        (b"\"\xf5\x80\x80\x80\"", 1),
        (b"\"\xe2\x82\"", 1),
        (b"\"\xe2\x28\xa1\"", 1),
        (b"\"\xf0\x9f\x98 \"", 1),
        (b"{\"\xc3\":1}", 2),
    ];
    for (body, at) in bodies {
        assert_eq!(verdict(body), Err((ScanErrorKind::Utf8, at)), "{body:?}");
    }
}

#[test]
fn nests_as_deep_as_it_may() {
    let deep = |depth: usize| {
        let (open, close): (String, String) =
            (0..depth).map(|level| if level % 3 == 0 { ("[", "]") } else { ("{\"a\":", "}") }).unzip();
        format!("{open}0{}", close.chars().rev().collect::<String>())
    };
    assert_eq!(verdict(deep(4).as_bytes()), Ok(()));
    assert_eq!(verdict(b"[[[[[1]]]]]"), Err((ScanErrorKind::TooDeep { limit: 4 }, 4)));
    assert_eq!(verdict(b"[[[[]]],[[[]]],[[[]]]]"), Ok(()));
    let watch = Arc::new(Watch::builder().build());
    for (limit, depth, fits) in
        [(128, 128, true), (128, 129, false), (255, 128, true), (255, 129, false), (0, 0, true), (0, 1, false)]
    {
        let mut scanner = Scanner::new(Arc::clone(&watch), Limits { max_depth: limit, max_trailing_space: 0 });
        let whole = scanner.feed(deep(depth).as_bytes()).and_then(|()| scanner.finish());
        assert_eq!(whole.is_ok(), fits, "{depth} of {limit}");
    }
}

#[test]
fn lets_little_white_space_and_nothing_else_follow() {
    for root in ["{}", "[1]", "\"a\"", "true", "12"] {
        let len = root.len() as u64;
        assert_eq!(verdict(format!("{root} \n\t").as_bytes()), Ok(()), "{root}");
        let space = ScanErrorKind::TrailingSpace { limit: 3 };
        assert_eq!(verdict(format!("{root}    ").as_bytes()), Err((space.clone(), len + 3)), "{root}");
        assert_eq!(verdict(format!("{root}    x").as_bytes()), Err((space, len + 3)), "{root}");
        for more in [" {}", "]", "\0", ",", " x"] {
            let at = len + more.len() as u64 - more.trim_start().len() as u64;
            assert_eq!(
                verdict(format!("{root}{more}").as_bytes()),
                Err((ScanErrorKind::TrailingData, at)),
                "{root}{more}"
            );
        }
    }
    assert_eq!(verdict(b"{}  \xef\xbb\xbf"), Err((ScanErrorKind::TrailingData, 4)));
}

#[test]
fn finds_values_of_every_kind() {
    let (watch, slots) =
        watched(|watch| ["o", "a", "s", "n", "t", "f", "z", "gone"].map(|key| watch.capture(&[key], PLAIN)).to_vec());
    let body =
        r#"{"x":{"s":0},"o":{"s":1},"a":["s"],"s":"\u0061\n\ud83d\ude00é","n":-1.50E+2,"t":true,"f":false,"z":null}"#;
    let (values, end) = outcome(&watch, &slots, body.as_bytes());
    assert_eq!(end, Ok(()));
    let at = |token: &str| body.find(token).expect("in the body") as u64;
    let (s, n) = (at(r#""\u0061"#), at("-1.50"));
    assert_eq!(
        values,
        [
            found(Kind::Object, "", 17..18),
            found(Kind::Array, "", 29..30),
            found(Kind::String, "a\n😀é", s..s + 24),
            found(Kind::Number, "-1.50E+2", n..n + 8),
            found(Kind::True, "true", at("true")..at("true") + 4),
            found(Kind::False, "false", at("false")..at("false") + 5),
            found(Kind::Null, "null", at("null")..at("null") + 4),
            None,
        ]
    );
}

#[test]
fn finds_nested_values_and_the_root() {
    let (watch, slots) = watched(|watch| {
        vec![
            watch.capture(&["p", "q", "r"], PLAIN),
            watch.capture(&[], RAW),
            watch.capture(&["p"], PLAIN),
            watch.capture(&["p", "id"], RAW),
            watch.capture(&["p", "q"], PLAIN),
        ]
    });
    let cases: [(&str, [Option<Value>; 5]); 7] = [
        (
            r#"{"r":9,"p":{"r":9,"q":{"r":1,"q":{"r":9}},"id":"\u0031"},"q":{"r":9}}"#,
            [
                found(Kind::Number, "1", 27..28),
                found(Kind::Object, "", 0..1),
                found(Kind::Object, "", 11..12),
                found(Kind::String, r#""\u0031""#, 47..55),
                found(Kind::Object, "", 22..23),
            ],
        ),
        (
            r#"{"p":[{"q":{"r":1},"id":2}]}"#,
            [None, found(Kind::Object, "", 0..1), found(Kind::Array, "", 5..6), None, None],
        ),
        (
            r#"{"p":"q","x":{"q":{"r":1}}}"#,
            [None, found(Kind::Object, "", 0..1), found(Kind::String, "q", 5..8), None, None],
        ),
        (
            r#"{"p":{"q":[{"r":1}]}}"#,
            [None, found(Kind::Object, "", 0..1), found(Kind::Object, "", 5..6), None, found(Kind::Array, "", 10..11)],
        ),
        (r#"[{"p":{"q":{"r":1}}}]"#, [None, found(Kind::Array, "", 0..1), None, None, None]),
        (r#" "p" "#, [None, found(Kind::String, r#""p""#, 1..4), None, None, None]),
        ("12", [None, found(Kind::Number, "12", 0..2), None, None, None]),
    ];
    for (body, expected) in cases {
        let (values, end) = outcome(&watch, &slots, body.as_bytes());
        assert_eq!(end, Ok(()), "{body}");
        assert_eq!(values, expected, "{body}");
    }
}

#[test]
fn reads_keys_as_parsers_do() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["ké\"y"], PLAIN)]);
    for key in ["ké\\\"y", "\\u006bé\\\"y", "k\\u00e9\\u0022\\u0079", "k\\u00E9\\\"y"] {
        let body = format!("{{\"{key}\":1}}");
        let (values, end) = outcome(&watch, &slots, body.as_bytes());
        let at = body.len() as u64 - 2;
        assert_eq!((values, end), (vec![found(Kind::Number, "1", at..at + 1)], Ok(())), "{key}");
    }
    for key in ["ké", "ké\\\"y ", "ké\\\\\\\"y", "", &"ké\\\"y".repeat(40), "K\u{e9}\\\"y"] {
        let (values, end) = outcome(&watch, &slots, format!("{{\"{key}\":1}}").as_bytes());
        assert_eq!((values, end), (vec![None], Ok(())), "{key}");
    }
}

#[test]
fn refuses_doubled_keys_where_they_matter() {
    let (watch, slots) = watched(|watch| {
        watch.protect(&[], &["id", "task"]);
        watch.protect(&["p"], &["name"]);
        vec![watch.capture(&["id"], RAW), watch.capture(&["p", "a", "region"], PLAIN)]
    });
    let duplicate = |path: &str| ScanErrorKind::DuplicateKey(path.into());
    let folded = |path: &str| ScanErrorKind::FoldedKey(path.into());
    let refused = [
        (r#"{"id":1,"id":1}"#, duplicate("id"), 8),
        (r#"{"id":1,"x":0,"\u0069d":1}"#, duplicate("id"), 14),
        (r#"{"id":1,"ID":1}"#, folded("id"), 8),
        (r#"{"Id":1}"#, folded("id"), 1),
        (r#"{"I\u0044":1}"#, folded("id"), 1),
        ("{\"ta\u{17f}\u{212a}\":1}", folded("task"), 1),
        (r#"{"ta\u017f\u212A":1}"#, folded("task"), 1),
        (r#"{"p":{},"p":{}}"#, duplicate("p"), 8),
        (r#"{"p":{"name":1,"a":{},"name":2}}"#, duplicate("p.name"), 22),
        (r#"{"p":{"a":{"name":1},"NAME":2}}"#, folded("p.name"), 21),
        (r#"{"p":{"a":1,"a":2}}"#, duplicate("p.a"), 12),
        (r#"{"p":{"a":{"region":1,"region":1}}}"#, duplicate("p.a.region"), 22),
    ];
    for (body, kind, at) in refused {
        let (_, end) = outcome(&watch, &slots, body.as_bytes());
        assert_eq!(end, Err(ScanError { kind, at }), "{body}");
    }
    let taken = [
        r#"{"p":{"a":{"region":1,"Region":1,"REGION":2,"x":1,"x":2}},"P":1,"x":1,"x":1}"#,
        r#"{"p":[{"name":1,"name":2}],"x":{"id":1,"id":2,"ID":3}}"#,
        r#"{"p":{"A":1,"A":2,"id":1,"ID":1,"names":1}}"#,
    ];
    for body in taken {
        let (_, end) = outcome(&watch, &slots, body.as_bytes());
        assert_eq!(end, Ok(()), "{body}");
    }
}

#[test]
fn folds_keys_that_grow_and_keys_that_go_on() {
    let (watch, _) = watched(|watch| {
        watch.protect(&[], &["kk"]);
        Vec::new()
    });
    let folded = Err(ScanError { kind: ScanErrorKind::FoldedKey("kk".into()), at: 1 });
    for (body, end) in [
        (r#"{"\u212a\u212a":1}"#, folded.clone()),
        ("{\"\u{212a}\u{212a}\":1}", folded),
        (r#"{"\u212a\u212ak":1}"#, Ok(())),
        ("{\"\u{212a}\u{212a}k\":1}", Ok(())),
    ] {
        assert_eq!(outcome(&watch, &[], body.as_bytes()).1, end, "{body}");
    }
}

#[test]
fn a_watched_spelling_of_a_protected_key_is_refused_too() {
    let (watch, slots) = watched(|watch| {
        watch.protect(&[], &["name"]);
        vec![watch.capture(&["Name"], PLAIN)]
    });
    let (values, end) = outcome(&watch, &slots, br#"{"Name":1}"#);
    assert_eq!(values, [None]);
    assert_eq!(end, Err(ScanError { kind: ScanErrorKind::FoldedKey("name".into()), at: 1 }));
}

#[test]
fn says_which_key_was_doubled_and_keeps_what_was_found_before() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["id"], RAW), watch.capture(&["x"], PLAIN)]);
    let (scanner, end) = feed(&watch, &[br#"{"id":7,"x":1,"id":8}"#]);
    assert!(end.is_err());
    assert!(scanner.doubled("id") && !scanner.doubled("x"));
    assert_eq!(value(&scanner, slots[0]), found(Kind::Number, "7", 6..7));
    assert_eq!(end.expect_err("doubled").to_string(), "duplicate key id at byte 14");
}

#[test]
fn holds_a_token_until_it_is_complete() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["n"], HELD)]);
    let body = br#"{"a":1,"n":"al\u0069ce","b":22}  "#;
    let mut scanner = Scanner::new(Arc::clone(&watch), LIMITS);
    for (index, byte) in body.iter().enumerate() {
        assert_eq!(scanner.feed(&[*byte]), Ok(()));
        let safe = match index {
            11..=21 => 11,
            31.. => 30,
            _ => index + 1,
        };
        // The last byte of the root is 30, so what follows never leaves on the scanner's word.
        assert_eq!(scanner.safe(), safe.min(30) as u64, "after byte {index}");
        assert_eq!(scanner.found(slots[0]).is_some(), index >= 22, "after byte {index}");
    }
    assert_eq!(scanner.finish(), Ok(()));
    assert_eq!((scanner.safe(), scanner.fed()), (30, 33));
}

#[test]
fn never_lets_the_last_byte_of_the_root_leave() {
    let (watch, _) = watched(|_| Vec::new());
    for (body, safe) in [("{} ", 1), (" [1,2]", 5), ("\"ab\" ", 3), ("true", 3), ("123", 2), ("7 ", 0), ("-1.5e3 ", 5)]
    {
        for chunk in 1..=body.len() {
            let pieces: Vec<&[u8]> = body.as_bytes().chunks(chunk).collect();
            let (scanner, end) = feed(&watch, &pieces);
            assert_eq!((scanner.safe(), end), (safe, Ok(())), "{body} by {chunk}");
        }
    }
}

#[test]
fn cuts_what_is_too_long() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["n"], HELD), watch.capture(&["m"], HELD)]);
    let fits = r#"{"n":"12345678901234"}"#;
    let (values, _) = outcome(&watch, &slots, fits.as_bytes());
    assert_eq!(values[0], found(Kind::String, "12345678901234", 5..21));
    let long = r#"{"n":"123456789012345","m":1}"#;
    let (values, end) = outcome(&watch, &slots, long.as_bytes());
    assert_eq!(values[0], Some((Kind::String, "123456789012345".into(), 5..22, true)));
    assert_eq!(values[1], found(Kind::Number, "1", 27..28));
    assert_eq!(end, Ok(()));
    let (scanner, _) = feed(&watch, &[long.as_bytes()]);
    assert_eq!(scanner.safe(), 5, "what is cut never leaves");
}

#[test]
fn reports_a_token_as_cut_before_it_ends() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["n"], HELD)]);
    for (body, kind, broken) in [
        (r#"{"n":"1234567890123456789"#, Kind::String, &b"\x01"[..]),
        (r#"{"n":1234567890123456789"#, Kind::Number, b".x"),
    ] {
        let mut scanner = Scanner::new(Arc::clone(&watch), LIMITS);
        assert_eq!(scanner.feed(&body.as_bytes()[..21]), Ok(()));
        assert_eq!(value(&scanner, slots[0]), None, "16 bytes may still be all");
        assert_eq!(scanner.feed(&body.as_bytes()[21..22]), Ok(()));
        let text = body[5..22].trim_start_matches('"').to_owned();
        assert_eq!(value(&scanner, slots[0]), Some((kind, text, 5..22, true)));
        assert_eq!((scanner.safe(), scanner.feed(broken).is_err()), (5, true));
        assert_eq!(value(&scanner, slots[0]), None, "what is broken is no value");
    }
}

#[test]
fn the_first_token_that_was_cut_stays() {
    let (watch, _) = watched(|watch| vec![watch.capture(&["n"], HELD), watch.capture(&["m"], HELD)]);
    let long = r#"{"m":12345678901234567,"n":12345678901234567}"#;
    for pieces in [vec![long.as_bytes()], long.as_bytes().chunks(1).collect()] {
        assert_eq!(feed(&watch, &pieces).0.safe(), 5);
    }
}

#[test]
fn a_request_sets_its_own_bounds() {
    let (watch, slots) = watched(|watch| vec![watch.capture(&["n"], HELD)]);
    let mut scanner = Scanner::new(watch, LIMITS);
    scanner.set_max_bytes(slots[0], 3);
    assert_eq!(scanner.feed(br#"{"n":12345}"#), Ok(()));
    assert_eq!(value(&scanner, slots[0]), Some((Kind::Number, "12345".into(), 5..10, true)));
}

#[test]
fn keeps_whole_characters_of_what_it_cuts() {
    for (unit, raw) in [
        ("é", Text::Decoded),
        ("漢", Text::Raw),
        ("\\u6f22", Text::Decoded),
        ("\\ud83d\\ude00", Text::Decoded),
        ("😀a", Text::Decoded),
    ] {
        let (watch, slots) =
            watched(|watch| vec![watch.capture(&["n"], Capture { text: raw, max_bytes: 4, held: false })]);
        let body = format!("{{\"n\":\"{}\"}}", unit.repeat(100));
        let (values, end) = outcome(&watch, &slots, body.as_bytes());
        assert_eq!(end, Ok(()));
        let (_, text, range, cut) = values[0].clone().expect("found");
        assert!(cut && text.len() > 124 && text.len() <= 128, "{unit} {}", text.len());
        assert_eq!(range, 5..body.len() as u64 - 1);
    }
}

#[test]
fn captures_of_one_path_share_a_slot() {
    let (watch, slots) = watched(|watch| {
        vec![
            watch.capture(&["a"], Capture { max_bytes: 4, ..HELD }),
            watch.capture(&["a"], Capture { max_bytes: 40, ..PLAIN }),
        ]
    });
    assert_eq!(slots[0], slots[1]);
    assert_eq!(feed(&watch, &[br#"{"a":"12"#]).0.safe(), 5, "held");
    let (values, _) = outcome(&watch, &slots[..1], br#"{"a":"123456"}"#);
    assert_eq!(values[0], found(Kind::String, "123456", 5..13));
}

#[test]
fn is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Scanner>();
    shared::<Watch>();
}
