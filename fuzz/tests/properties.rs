//! Random trees, written in random ways, cut anywhere, then damaged: the scanner and the oracle must agree.

use mcp_signpost_fuzz::check::{agrees, edit_case, misses_its_end, pieces, renames, scan_case};
use proptest::collection::vec;
use proptest::prelude::*;

/// A tree that may hold a key twice.
#[derive(Clone, Debug)]
enum Json {
    Literal(&'static str),
    Number(String),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

fn string() -> impl Strategy<Value = String> {
    let unit = prop_oneof![
        4 => "[a-z ]{0,12}",
        1 => any::<String>(),
        1 => vec(prop_oneof![Just('"'), Just('\\'), Just('\n'), Just('\u{0}'), Just('😀'), Just('é'), Just('漢')], 0..8)
            .prop_map(|chars| chars.into_iter().collect::<String>()),
        1 => "[a-z]{60,200}",
    ];
    unit.boxed()
}

fn key() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 9] = ["id", "ks", "p", "n", "s", "a", "r", "é", "x"];
    const FOLDED: [&str; 10] = ["ID", "Id", "KS", "\u{212a}\u{17f}", "k\u{17f}", "N", "\u{17f}", "R", "P", ""];
    prop_oneof![
        12 => proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned),
        1 => proptest::sample::select(&FOLDED[..]).prop_map(str::to_owned),
        4 => string(),
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        proptest::sample::select(&["true", "false", "null"][..]).prop_map(Json::Literal),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?".prop_map(Json::Number),
        string().prop_map(Json::String),
    ];
    leaf.prop_recursive(7, 40, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Json::Array),
            3 => vec((key(), inner), 0..6).prop_map(Json::Object),
        ]
    })
}

/// A call as the watch would have it, so that deep paths are met.
fn call() -> impl Strategy<Value = Json> {
    (vec((key(), json()), 0..3), vec((key(), json()), 0..3), vec((key(), json()), 0..3)).prop_map(
        |(root, params, arguments)| {
            let mut params = params;
            params.push(("a".into(), Json::Object(arguments)));
            let mut root = root;
            root.push(("p".into(), Json::Object(params)));
            Json::Object(root)
        },
    )
}

/// Writes a tree; the noise decides on white space and escapes.
struct Writer<'n> {
    out: Vec<u8>,
    noise: std::iter::Cycle<std::slice::Iter<'n, u8>>,
}

impl Writer<'_> {
    fn noise(&mut self) -> u8 {
        self.noise.next().copied().unwrap_or(0)
    }

    fn space(&mut self) {
        let noise = self.noise();
        if noise < 60 {
            let spaces = [&b" "[..], b"\n", b"\t", b"\r\n", b"    "];
            self.out.extend_from_slice(spaces[usize::from(noise) % spaces.len()]);
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push(b'"');
        for c in text.chars() {
            let noise = self.noise();
            if noise < 40 {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let hex = if noise % 2 == 0 { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    self.out.extend_from_slice(hex.as_bytes());
                }
            } else if c == '/' && noise % 2 == 0 {
                self.out.extend_from_slice(b"\\/");
            } else {
                let quoted = serde_json::to_string(&c).expect("a character is JSON");
                self.out.extend_from_slice(&quoted.as_bytes()[1..quoted.len() - 1]);
            }
        }
        self.out.push(b'"');
    }

    fn value(&mut self, json: &Json) {
        self.space();
        match json {
            Json::Literal(text) => self.out.extend_from_slice(text.as_bytes()),
            Json::Number(text) => self.out.extend_from_slice(text.as_bytes()),
            Json::String(text) => self.string(text),
            Json::Array(items) => {
                self.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(b',');
                    }
                    self.value(item);
                }
                self.space();
                self.out.push(b']');
            }
            Json::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &[(String, Json)]) {
        self.out.push(b'{');
        for (index, (key, value)) in members.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.space();
            self.string(key);
            self.space();
            self.out.push(b':');
            self.value(value);
        }
        self.space();
        self.out.push(b'}');
    }
}

fn write(json: &Json, noise: &[u8]) -> Vec<u8> {
    let mut writer = Writer { out: Vec::new(), noise: noise.iter().cycle() };
    writer.value(json);
    writer.space();
    writer.out
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(vec![255]), vec(any::<u8>(), 1..64)]
}

fn sizes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(vec![1]), vec(1..40_u8, 1..6)]
}

/// A change of one byte: put in, taken out, or another in its place.
fn damage(body: &mut Vec<u8>, (at, what, byte): (prop::sample::Index, u8, u8)) {
    let pick = b"\"\\{}[]:,u0-.eE \n\x00\x1f\x7f\x80\xc3\xed\xf0\xff";
    let byte = if byte < 200 { pick[usize::from(byte) % pick.len()] } else { byte };
    let at = at.index(body.len());
    match what % 3 {
        0 => body[at] = byte,
        1 => body.insert(at, byte),
        _ => drop(body.remove(at)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_is_read_as_the_oracle_reads_it(json in json(), noise in noise(), sizes in sizes()) {
        agrees(&write(&json, &noise), &sizes);
    }

    #[test]
    fn any_call_is_read_as_the_oracle_reads_it(json in call(), noise in noise(), sizes in sizes()) {
        agrees(&write(&json, &noise), &sizes);
    }

    #[test]
    fn damage_is_seen_as_the_oracle_sees_it(
        json in prop_oneof![json(), call()],
        noise in noise(),
        sizes in sizes(),
        damages in vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 1..4),
    ) {
        let mut body = write(&json, &noise);
        for one in damages {
            if !body.is_empty() {
                damage(&mut body, one);
            }
        }
        agrees(&body, &sizes);
    }

    #[test]
    fn a_body_that_breaks_off_is_no_body(json in call(), noise in noise(), sizes in sizes()) {
        let body = write(&json, &noise);
        if agrees(&body, &sizes) {
            misses_its_end(&body);
        }
    }

    #[test]
    fn any_bytes_at_all(body in vec(any::<u8>(), 0..40), sizes in sizes()) {
        agrees(&body, &sizes);
    }

    #[test]
    fn a_renamed_body_has_its_length_and_the_new_name(
        mut members in vec((key(), json()), 0..3),
        old in string(),
        new in string(),
        at in any::<prop::sample::Index>(),
        noise in noise(),
    ) {
        members.retain(|(key, _)| key != "n");
        members.insert(at.index(members.len() + 1), ("n".into(), Json::String(old)));
        let body = write(&Json::Object(vec![("p".into(), Json::Object(members))]), &noise);
        prop_assert!(renames(&body, &new));
    }
}

/// The generators above must make what they are for.
#[test]
fn most_plain_calls_are_taken() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let taken = (0..2_000).filter(|_| {
        let json = call().new_tree(&mut runner).expect("a call").current();
        agrees(&write(&json, &[255]), &[7])
    });
    let taken = taken.count();
    assert!((400..1_800).contains(&taken), "{taken} of 2000: too many or too few are refused to mean anything");
}

#[test]
fn pieces_are_the_body() {
    assert_eq!(pieces(b"abcdef", &[1, 0, 2]), [&b"a"[..], b"bc", b"d", b"ef"]);
    assert_eq!(pieces(b"abc", &[]), [b"abc"]);
}

/// What the fuzzer kept stays true.
#[test]
fn the_corpus_holds() {
    assert!(corpus("scan", scan_case) > 100);
    assert!(corpus("edit", edit_case) > 50);
}

/// How many files of the corpus were tried.
fn corpus(target: &str, try_one: fn(&[u8])) -> usize {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut tried = 0;
    for file in std::fs::read_dir(folder).expect("the corpus is there") {
        try_one(&std::fs::read(file.expect("a file").path()).expect("readable"));
        tried += 1;
    }
    tried
}
