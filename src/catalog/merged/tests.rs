//! Fleets of servers as one: what is whole, for whom, until when. The clock is moved by hand.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::*;
use crate::catalog::cache::{Keeping, ServerKeeping};
use crate::catalog::fake::{Fake, Said};
use crate::catalog::kind::Kind;
use crate::config::{self, Nothing};
use crate::routing::Table;
use futures::future::join_all;
use proptest::prelude::*;
use serde_json::Value;

const TOOLS: Question = Question::List(Kind::Tools);
const SECOND: Duration = Duration::from_secs(1);

/// Servers `a`, `b`, … behind one gateway.
struct Fleet {
    catalog: Catalog,
    members: Vec<Arc<Member>>,
    sources: Vec<Arc<Fake>>,
}

impl Fleet {
    fn new(sources: Vec<Arc<Fake>>) -> Self {
        Self::configured("", "", sources)
    }

    /// With lines for the table `[gateway]` and for each server.
    fn configured(gateway: &str, each: &str, sources: Vec<Arc<Fake>>) -> Self {
        let mut text = format!("[gateway]\n{gateway}\n");
        for (name, _) in ('a'..='z').zip(&sources) {
            let _ = writeln!(text, "[servers.{name}]\nendpoints = [\"http://127.0.0.1:1/mcp\"]\n{each}");
        }
        let config = config::parse(&text, "test", &Nothing).unwrap();
        let store = Store::new(1 << 22, Instant::now);
        let keeping = Keeping {
            max_ttl: 3600 * SECOND,
            stale_if_error: 300 * SECOND,
            partial_ttl: 5 * SECOND,
            server: ServerKeeping::On,
        };
        let members = config.servers.iter().enumerate().map(|(position, server)| {
            Arc::new(Member {
                name: server.name.as_str().into(),
                position,
                cache: Cache::new(&store, keeping),
                shown: server.tools.clone().into(),
                uris: server.uris.clone().into(),
                is_required: server.required,
            })
        });
        let members = members.collect();
        let naming = Naming { max_name_length: config.gateway.max_name_length, table: Arc::new(Table::new(&config)) };
        let page_size = NonZeroUsize::new(config.gateway.list_page_size);
        Self { catalog: Catalog::new(store, naming, page_size, 5 * SECOND), members, sources }
    }

    async fn ask(&self, caller: Option<Caller>, after: Option<Cursor>) -> Result<Listing, NoListing> {
        let wanted = Wanted { door: None, question: TOOLS, variant: Variant::own(), caller, after };
        let parties = || {
            let pairs = self.members.iter().zip(&self.sources);
            let party = |(member, source): (&Arc<Member>, &Arc<Fake>)| Party {
                member: Arc::clone(member),
                names: Names::Merged(Arc::clone(&member.name)),
                ask: crate::catalog::fake::ask(caller),
                source: Arc::clone(source),
            };
            pairs.map(party).collect()
        };
        self.catalog.listing(&wanted, parties).await
    }

    async fn get(&self, caller: Option<Caller>) -> Listing {
        self.ask(caller, None).await.unwrap()
    }

    fn fetches(&self) -> usize {
        self.sources.iter().map(|source| source.fetches()).sum()
    }
}

fn value(answer: &Listing) -> Value {
    let text = format!("{}{}}}", std::str::from_utf8(&answer.result).unwrap(), answer.ttl_ms);
    serde_json::from_str(&text).unwrap()
}

fn names(answer: &Listing) -> Vec<String> {
    let value = value(answer);
    value["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

async fn advance(seconds: u32) {
    tokio::time::advance(SECOND * seconds).await;
}

#[tokio::test(start_paused = true)]
async fn servers_come_in_their_order_and_items_by_name_under_their_prefixes() {
    let fleet = Fleet::new(vec![Fake::says(Said::public(&["y", "x"], 60)), Fake::says(Said::public(&["z", "b"], 30))]);
    let answer = fleet.get(None).await;
    assert_eq!(names(&answer), ["a__x", "a__y", "b__b", "b__z"]);
    let value = value(&answer);
    assert_eq!((value["resultType"].as_str(), value["cacheScope"].as_str()), (Some("complete"), Some("public")));
    assert!(value.get("nextCursor").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_goes_out_is_what_is_left_of_the_shortest_time() {
    let fleet = Fleet::new(vec![Fake::says(Said::public(&["x"], 60)), Fake::says(Said::public(&["y"], 30))]);
    assert_eq!((fleet.get(None).await.ttl_ms, fleet.fetches()), (30_000, 2));
    tokio::time::advance(SECOND * 3 / 2).await;
    let answer = fleet.get(None).await;
    assert_eq!((answer.ttl_ms, answer.how), (28_500, How::Hit));
    advance(27).await;
    assert_eq!((fleet.get(None).await.ttl_ms, fleet.fetches()), (1_500, 2));
    // One of them expires: it alone is fetched again.
    advance(2).await;
    let answer = fleet.get(None).await;
    assert_eq!((answer.how, fleet.fetches()), (How::Miss, 3));
    assert!(answer.ttl_ms <= 30_000 && answer.ttl_ms > 29_000, "{}", answer.ttl_ms);
    // The other one's own rest is the shortest now.
    advance(10).await;
    let left = fleet.get(None).await.ttl_ms;
    assert!((19_400..19_600).contains(&left), "{left}");
}

#[tokio::test(start_paused = true)]
async fn two_hundred_who_miss_at_once_cost_one_fetch_of_each_server() {
    let fleet = Fleet::new(vec![Fake::says(Said::public(&["x"], 60)), Fake::says(Said::private(&["y"], 0))]);
    let answers = join_all((0..200).map(|_| fleet.get(None))).await;
    assert!(answers.iter().all(|answer| names(answer) == ["a__x", "b__y"]));
    assert_eq!(fleet.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_private_part_makes_the_answer_private_and_leaves_the_others_shared() {
    let fleet = Fleet::new(vec![
        Fake::says(Said::public(&["x"], 60)),
        Fake::new(|ask| Ok(Said::private(&[&format!("of-{}", ask.caller.unwrap())], 60))),
    ]);
    for caller in 1..=3 {
        let answer = fleet.get(Some(caller)).await;
        assert_eq!(names(&answer), ["a__x".to_owned(), format!("b__of-{caller}")]);
        assert_eq!(value(&answer)["cacheScope"], "private");
    }
    assert_eq!((fleet.sources[0].fetches(), fleet.sources[1].fetches()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_missing_is_named_and_the_answer_is_short_lived_and_private() {
    let fleet = Fleet::new(vec![
        Fake::says(Said::public(&["x"], 60)),
        Fake::new(|_| Err(Failure::Unreachable { tried: vec![] })),
    ]);
    let answer = fleet.get(Some(1)).await;
    assert_eq!((names(&answer), answer.ttl_ms), (vec!["a__x".to_owned()], 5_000));
    let value = value(&answer);
    assert_eq!(value["cacheScope"], "private");
    assert_eq!(value["_meta"][crate::protocol::meta::UNAVAILABLE], serde_json::json!(["b"]));
    // It comes back.
    fleet.sources[1].now(|_| Ok(Said::public(&["y"], 60)));
    advance(5).await;
    assert_eq!(names(&fleet.get(Some(1)).await), ["a__x", "b__y"]);
}

#[tokio::test(start_paused = true)]
async fn a_stale_part_goes_out_with_what_is_left_of_the_rest_at_most() {
    let fleet = Fleet::new(vec![Fake::says(Said::public(&["x"], 10)), Fake::says(Said::public(&["y"], 12))]);
    fleet.get(None).await;
    fleet.sources[0].now(|_| Err(Failure::Silent));
    advance(10).await;
    let answer = fleet.get(None).await;
    assert_eq!((names(&answer), answer.how), (vec!["a__x".to_owned(), "b__y".to_owned()], How::Stale));
    assert!(answer.ttl_ms < 2_000, "{}", answer.ttl_ms);
}

#[tokio::test(start_paused = true)]
async fn where_every_server_fails_there_is_an_error_and_no_empty_list() {
    let unauthorized = |challenge: Option<&str>| {
        let challenge = challenge.map(str::to_owned);
        Fake::new(move |_| Err(Failure::Unauthorized { status: 401, challenge: challenge.clone() }))
    };
    let fleet = Fleet::new(vec![unauthorized(Some("Bearer x")), unauthorized(None)]);
    let Err(NoListing::Failed { all_unauthorized: true, failure, .. }) = fleet.ask(Some(1), None).await else {
        panic!("all said 401")
    };
    assert!(matches!(&*failure, Failure::Unauthorized { challenge: Some(text), .. } if text == "Bearer x"));
    let fleet = Fleet::new(vec![unauthorized(None), Fake::new(|_| Err(Failure::Silent))]);
    assert!(matches!(fleet.ask(Some(1), None).await, Err(NoListing::Failed { all_unauthorized: false, .. })));
    let no_method = || Fake::new(|_| Err(Failure::Said { code: -32601, message: "no".into() }));
    let fleet = Fleet::new(vec![no_method(), no_method()]);
    assert!(matches!(fleet.ask(None, None).await, Err(NoListing::NoMethod)));
    // A server that has no tools does not make up for one that fails.
    let fleet = Fleet::new(vec![no_method(), Fake::new(|_| Err(Failure::Silent))]);
    assert!(matches!(fleet.ask(None, None).await, Err(NoListing::Failed { .. })));
    let fleet = Fleet::new(vec![no_method(), Fake::says(Said::public(&[], 60))]);
    assert!(names(&fleet.get(None).await).is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_required_server_there_is_no_answer() {
    let sources = vec![Fake::says(Said::public(&["x"], 60)), Fake::new(|_| Err(Failure::Silent))];
    let fleet = Fleet::configured("", "required = true", sources);
    let Err(NoListing::Failed { server, .. }) = fleet.ask(None, None).await else { panic!("b is required") };
    assert_eq!(&*server, "b");
}

#[tokio::test(start_paused = true)]
async fn what_was_invalidated_is_not_answered_from_a_merged_copy() {
    let fleet = Fleet::new(vec![Fake::says(Said::public(&["x"], 60)), Fake::says(Said::public(&["y"], 60))]);
    fleet.get(None).await;
    fleet.sources[0].now(|_| Ok(Said::public(&["new"], 60)));
    assert_eq!(names(&fleet.get(None).await), ["a__x", "b__y"]);
    fleet.members[0].cache.invalidate();
    assert_eq!(names(&fleet.get(None).await), ["a__new", "b__y"]);
    assert_eq!((fleet.sources[0].fetches(), fleet.sources[1].fetches()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn pages_are_cut_and_go_on_where_the_last_one_ended_whatever_changed() {
    let sources = vec![Fake::says(Said::public(&["1", "2", "3"], 60)), Fake::says(Said::public(&["4", "5"], 60))];
    let fleet = Fleet::configured("list_page_size = 2", "", sources);
    let first = fleet.get(None).await;
    assert_eq!(names(&first), ["a__1", "a__2"]);
    let cursor = |answer: &Listing| Cursor::decode(Kind::Tools, value(answer)["nextCursor"].as_str().unwrap()).unwrap();
    let second = fleet.ask(None, Some(cursor(&first))).await.unwrap();
    assert_eq!(names(&second), ["a__3", "b__4"]);
    // On any replica, though what the cursor names is gone there.
    let sources = vec![Fake::says(Said::public(&["1", "25", "7"], 60)), Fake::says(Said::public(&["41", "5"], 60))];
    let other = Fleet::configured("list_page_size = 2", "", sources);
    assert_eq!(names(&other.ask(None, Some(cursor(&first))).await.unwrap()), ["a__25", "a__7"]);
    let last = other.ask(None, Some(cursor(&second))).await.unwrap();
    assert_eq!(names(&last), ["b__41", "b__5"]);
    assert!(value(&last).get("nextCursor").is_none());
    let gone = Cursor { server: "gone".into(), ..cursor(&second) };
    assert_eq!(names(&other.ask(None, Some(gone)).await.unwrap()), ["b__41", "b__5"]);
}

/// What happens to a fleet: a caller asks, time passes, a server changes what it says and to whom.
#[derive(Clone, Debug)]
enum Event {
    Ask(u128),
    AskAtOnce(Vec<u128>),
    Wait(u32),
    Says { server: usize, scope: Scope, ttl: u64 },
    Fails(usize),
    Unauthorized(usize),
    Invalidated(usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let scope = prop_oneof![Just(Scope::Public), Just(Scope::Private)];
    let event = prop_oneof![
        4 => (0..4_u128).prop_map(Event::Ask),
        3 => prop::collection::vec(0..4_u128, 2..6).prop_map(Event::AskAtOnce),
        2 => prop_oneof![1 => 0..4_u32, 1 => 0..400_u32].prop_map(Event::Wait),
        3 => (0..3_usize, scope, prop_oneof![Just(0), Just(2), Just(100)])
            .prop_map(|(server, scope, ttl)| Event::Says { server, scope, ttl }),
        1 => (0..3_usize).prop_map(Event::Fails),
        1 => (0..3_usize).prop_map(Event::Unauthorized),
        1 => (0..3_usize).prop_map(Event::Invalidated),
    ];
    prop::collection::vec(event, 1..60)
}

/// A private item says whose it is; a public one that it is everyone's.
fn script(scope: Scope, ttl: u64) -> impl Fn(&Ask) -> Result<Said, Failure> + Send {
    move |ask| {
        let name = match scope {
            Scope::Public => "everyone".to_owned(),
            Scope::Private => format!("of-{}", ask.caller.unwrap_or_default()),
        };
        Ok(Said::new(&[&name], ttl, scope))
    }
}

fn check_answer(caller: u128, answer: Result<Listing, NoListing>) {
    let Ok(answer) = answer else { return };
    let is_public = value(&answer)["cacheScope"] == "public";
    for name in names(&answer) {
        let own = name.split_once("__").unwrap().1;
        assert!(own == "everyone" || own == format!("of-{caller}"), "{name} was given to {caller}");
        assert!(own == "everyone" || !is_public, "{name} went out as public");
    }
}

async fn play(events: Vec<Event>) {
    let sources = (0..3).map(|_| Fake::new(script(Scope::Public, 2))).collect();
    let fleet = Fleet::new(sources);
    for event in events {
        match event {
            Event::Ask(caller) => check_answer(caller, fleet.ask(Some(caller), None).await),
            Event::AskAtOnce(callers) => {
                let answers = join_all(callers.iter().map(|caller| fleet.ask(Some(*caller), None))).await;
                callers.into_iter().zip(answers).for_each(|(caller, answer)| check_answer(caller, answer));
            }
            Event::Wait(seconds) => tokio::time::sleep(SECOND * seconds).await,
            Event::Says { server, scope, ttl } => fleet.sources[server].now(script(scope, ttl)),
            Event::Fails(server) => fleet.sources[server].now(|_| Err(Failure::Silent)),
            Event::Unauthorized(server) => {
                fleet.sources[server].now(|_| Err(Failure::Unauthorized { status: 401, challenge: None }));
            }
            Event::Invalidated(server) => fleet.members[server].cache.invalidate(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever servers say, to whom and in which order things expire: no private item is ever in another's answer.
    #[test]
    fn nobody_sees_what_is_private_to_another(events in events()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(events));
    }

    /// Walking the pages gives every item of the whole list once and in its order, whatever the size of the pages.
    #[test]
    fn pages_together_are_the_list(
        lists in prop::collection::vec(prop::collection::btree_set("[a-e_]{1,3}", 0..8), 1..5),
        size in 1..7_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let says = |list: &std::collections::BTreeSet<String>| {
                Fake::says(Said::public(&list.iter().map(String::as_str).collect::<Vec<_>>(), 60))
            };
            let sources: Vec<_> = lists.iter().map(says).collect();
            let whole = names(&Fleet::new(sources.clone()).get(None).await);
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for name in &whole {
                *counts.entry(name).or_default() += 1;
            }
            assert!(counts.values().all(|count| *count == 1));
            assert_eq!(whole.len(), lists.iter().map(std::collections::BTreeSet::len).sum::<usize>());
            let fleet = Fleet::configured(&format!("list_page_size = {size}"), "", sources);
            let (mut walked, mut after) = (Vec::new(), None);
            loop {
                let answer = fleet.ask(None, after).await.unwrap();
                let page = names(&answer);
                assert!(page.len() <= size);
                walked.extend(page);
                match value(&answer).get("nextCursor") {
                    None => break,
                    Some(cursor) => after = Some(Cursor::decode(Kind::Tools, cursor.as_str().unwrap()).unwrap()),
                }
            }
            assert_eq!(walked, whole);
        });
    }
}
