//! Random answers, written in random ways, cut anywhere, damaged: the rewriter and the oracle must agree.

use super::oracle::{holds, run};
use crate::protocol::Method;
use crate::rewriting::Form;
use proptest::collection::vec;
use proptest::prelude::*;

/// A tree that may hold a key twice.
#[derive(Clone, Debug)]
enum Json {
    /// As it is written.
    Word(&'static str),
    Text(String),
    List(Vec<Json>),
    Members(Vec<(String, Json)>),
}

use Json::{List, Members, Text, Word};

const NAMES: [&str; 15] = [
    "uri",
    "resource",
    "content",
    "contents",
    "messages",
    "result",
    "params",
    "method",
    "notifications",
    "resourceSubscriptions",
    "text",
    "structuredContent",
    "ur",
    "urii",
    "é",
];
const METHODS: [&str; 5] = [
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/tasks",
    "notifications/message",
    "notifications/resources/updated ",
];
const WORDS: [&str; 6] = ["true", "null", "0", "-1.50e+07", "123456789012345678901234567890", "false"];

fn name(of: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![12 => Just(of), 1 => prop::sample::select(&NAMES[..])].prop_map(str::to_owned)
}

fn uri() -> impl Strategy<Value = Json> {
    prop_oneof![
        4 => "(ui://|file:///|ui:/|ui:|u|urn:|)[a-z]{0,3}",
        1 => "\\PC{0,8}",
        1 => any::<String>(),
    ]
    .prop_map(Text)
}

fn noise() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![prop::sample::select(&WORDS[..]).prop_map(Word), uri()];
    leaf.prop_recursive(3, 10, 4, |inner| {
        let name = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
        prop_oneof![vec(inner.clone(), 0..3).prop_map(List), vec((name, inner), 0..3).prop_map(Members)]
    })
}

/// An object with these members in any order, mostly each of them once, and some others.
fn object(members: Vec<(&'static str, BoxedStrategy<Json>)>) -> BoxedStrategy<Json> {
    let member = |(of, value): (_, BoxedStrategy<Json>)| {
        let value = prop_oneof![8 => value, 1 => noise()];
        let times = prop_oneof![1 => Just(0), 6 => Just(1), 1 => Just(2_usize)];
        times.prop_flat_map(move |times| vec((name(of), value.clone()), times)).boxed()
    };
    let mut members: Vec<_> = members.into_iter().map(member).collect();
    members.push(vec((name("text"), noise()), 0..2).boxed());
    let all = members.prop_map(|members| members.concat());
    all.prop_shuffle().prop_map(Members).boxed()
}

fn list(item: BoxedStrategy<Json>) -> BoxedStrategy<Json> {
    vec(prop_oneof![8 => item, 1 => noise()], 0..4).prop_map(List).boxed()
}

/// The members of every result at once.
fn result() -> Vec<(&'static str, BoxedStrategy<Json>)> {
    let contents = object(vec![("uri", uri().boxed())]);
    let block = object(vec![("uri", uri().boxed()), ("resource", contents.clone())]);
    let blocks = prop_oneof![block.clone(), list(block.clone())].boxed();
    let message = object(vec![("content", blocks)]);
    vec![("contents", list(contents)), ("content", list(block)), ("messages", list(message))]
}

fn answer() -> BoxedStrategy<Json> {
    let task = [result(), vec![("result", object(result()))]].concat();
    object(vec![("result", object(task))])
}

fn message() -> BoxedStrategy<Json> {
    let filter = object(vec![("resourceSubscriptions", list(uri().boxed()))]);
    let params = vec![("uri", uri().boxed()), ("notifications", filter), ("result", object(result()))];
    let method = prop::sample::select(&METHODS[..]).prop_map(|method| Text(method.to_owned())).boxed();
    prop_oneof![answer(), object(vec![("method", method), ("params", object(params))])].boxed()
}

/// Writes trees; the noise decides on white space and escapes.
struct Writer<'n> {
    out: String,
    noise: std::iter::Cycle<std::slice::Iter<'n, u8>>,
    /// What white space may be.
    spaces: &'static [&'static str],
}

impl Writer<'_> {
    fn noise(&mut self) -> usize {
        self.noise.next().copied().unwrap_or(0).into()
    }

    fn space(&mut self) {
        let noise = self.noise();
        if noise < 60 {
            self.out.push_str(self.spaces[noise % self.spaces.len()]);
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let noise = self.noise();
            if noise < 40 {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let escape =
                        if noise.is_multiple_of(2) { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
                    self.out.push_str(&escape);
                }
            } else if c == '/' && noise.is_multiple_of(2) {
                self.out.push_str("\\/");
            } else {
                let quoted = serde_json::to_string(&c).unwrap();
                self.out.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
        self.out.push('"');
    }

    fn value(&mut self, json: &Json) {
        self.space();
        match json {
            Word(word) => self.out.push_str(word),
            Text(text) => self.string(text),
            List(items) => self.between('[', ']', items, Self::value),
            Members(members) => self.between('{', '}', members, |writer, (name, value)| {
                writer.space();
                writer.string(name);
                writer.space();
                writer.out.push(':');
                writer.value(value);
            }),
        }
        self.space();
    }

    fn between<T>(&mut self, open: char, close: char, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.out.push(open);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            write(self, item);
        }
        self.space();
        self.out.push(close);
    }
}

fn write(json: &Json, noise: &[u8]) -> String {
    let spaces = &[" ", "\n", "\t", "\r\n", "    "];
    let mut writer = Writer { out: String::new(), noise: noise.iter().cycle(), spaces };
    writer.value(json);
    writer.out
}

/// Writes messages as a stream, in some of the ways there are.
fn write_stream(messages: &[Json], noise: &[u8], mark: bool) -> String {
    // A message goes on in another line of data wherever it may have white space.
    let spaces = &[" ", "\t", "\ndata:", "\r\ndata: ", "\rdata:\t", "\n: x\ndata: "];
    let mut writer = Writer { out: String::new(), noise: noise.iter().cycle(), spaces };
    writer.out.push_str(if mark { "\u{feff}" } else { "" });
    for message in messages {
        let before = ["", "id: 1\r\n", ": \n", "event: message\r", "data\n", "\n", "dat\n", "data: ping\n\n"];
        let begin = ["data:", "data: ", "data:  "];
        let end = ["\n\n", "\r\r", "\r\n\r\n", "\n\r\n", "\n", "\r\n: x\n\n"];
        let noise = writer.noise();
        writer.out.push_str(before[noise % before.len()]);
        writer.out.push_str(begin[noise % begin.len()]);
        writer.value(message);
        let noise = writer.noise();
        writer.out.push_str(end[noise % end.len()]);
    }
    writer.out
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(vec![255]), vec(any::<u8>(), 1..64)]
}

fn sizes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(vec![1]), vec(1..40_u8, 1..6)]
}

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(
        &[Method::ResourcesRead, Method::ToolsCall, Method::PromptsGet, Method::TasksGet, Method::Other][..],
    )
}

/// A change of one byte: put in, taken out, or another in its place.
fn damage(answer: &mut Vec<u8>, (at, what, byte): (prop::sample::Index, u8, u8)) {
    let pick = b"\"\\{}[]:,u0-.eE \n\r\x00\x1f\x7f\x80\xc3\xed\xf0\xff";
    let byte = if byte < 200 { pick[usize::from(byte) % pick.len()] } else { byte };
    let at = at.index(answer.len());
    match what % 3 {
        0 => answer[at] = byte,
        1 => answer.insert(at, byte),
        _ => drop(answer.remove(at)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_rewritten_as_the_oracle_does(
        message in prop_oneof![4 => answer(), 1 => message()],
        noise in bytes(), sizes in sizes(), method in method(),
    ) {
        holds(method, Form::Json, write(&message, &noise).as_bytes(), &sizes);
    }

    #[test]
    fn any_stream_is_rewritten_as_the_oracle_does(
        messages in vec(message(), 0..4), noise in bytes(), mark: bool, sizes in sizes(), method in method(),
    ) {
        holds(method, Form::Events, write_stream(&messages, &noise, mark).as_bytes(), &sizes);
    }

    #[test]
    fn damage_is_borne(
        messages in vec(message(), 1..3), noise in bytes(), sizes in sizes(), method in method(),
        damages in vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 1..4),
    ) {
        let stream = write_stream(&messages, &noise, false).into_bytes();
        for (form, mut answer) in [(Form::Json, write(&messages[0], &noise).into_bytes()), (Form::Events, stream)] {
            for one in &damages {
                if !answer.is_empty() {
                    damage(&mut answer, *one);
                }
            }
            holds(method, form, &answer, &sizes);
        }
    }

    #[test]
    fn an_answer_that_breaks_off_has_passed(
        message in message(), at in any::<prop::sample::Index>(), sizes in sizes(), method in method(),
    ) {
        let answer = write(&message, &[255]);
        let answer = &answer.as_bytes()[..at.index(answer.len())];
        holds(method, Form::Json, answer, &sizes);
        prop_assert_eq!(run(method, Form::Json, answer, &[]).1.is_some(), !answer.is_empty());
    }

    #[test]
    fn any_bytes_pass_unchanged(answer in vec(any::<u8>(), 0..200), sizes in sizes(), method in method()) {
        for form in [Form::Json, Form::Events] {
            holds(method, form, &answer, &sizes);
            prop_assert_eq!(&run(method, form, &answer, &sizes).0, &answer);
        }
    }

    #[test]
    fn any_crumbs_of_an_answer_pass(
        crumbs in vec(prop_oneof![
            prop::sample::select(&["{", "}", "[", "]", ":", ",", "\"", "\\", "\n", "\r", "data: ", "ui://", "\\u0075"][..]),
            prop::sample::select(&["{\"result\":{\"content\":[{\"uri\":\"", "{\"params\":{\"uri\":\"", "\"}]}}", "é", "7"][..]),
        ], 0..24),
        sizes in sizes(),
    ) {
        for form in [Form::Json, Form::Events] {
            holds(Method::ToolsCall, form, crumbs.concat().as_bytes(), &sizes);
        }
    }
}

/// The generators above must make what they are for.
#[test]
fn most_answers_have_something_to_rewrite() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (form, method) in [
        (Form::Json, Method::ResourcesRead),
        (Form::Json, Method::ToolsCall),
        (Form::Json, Method::PromptsGet),
        (Form::Json, Method::TasksGet),
        (Form::Events, Method::Other),
    ] {
        let rewritten = (0..1_000_u16).filter(|round| {
            let noise = [255, 20, 70, round.to_le_bytes()[0]];
            let made = match form {
                Form::Json => write(&answer().new_tree(&mut runner).unwrap().current(), &noise),
                Form::Events => write_stream(&[message().new_tree(&mut runner).unwrap().current()], &noise, false),
            };
            holds(method, form, made.as_bytes(), &[5]) > 0
        });
        let rewritten = rewritten.count();
        assert!((200..900).contains(&rewritten), "{rewritten} of 1000 for {method:?}");
    }
}
