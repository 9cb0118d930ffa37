//! Who gets which answer, how it was come by, and what the server was asked for it; the clock is moved by hand.

use super::*;
use crate::catalog::fake::{Fake, Said, ask};
use crate::catalog::kind::Kind;
use futures::future::join_all;

const TOOLS: Question = Question::List(Kind::Tools);
const SECOND: Duration = Duration::from_secs(1);

fn cache_with(server: ServerKeeping) -> Arc<Cache> {
    let keeping = Keeping { max_ttl: 600 * SECOND, stale_if_error: 300 * SECOND, partial_ttl: 5 * SECOND, server };
    Cache::new(&Store::new(1 << 20, Instant::now), keeping)
}

fn cache() -> Arc<Cache> {
    cache_with(ServerKeeping::On)
}

async fn get(cache: &Arc<Cache>, caller: Option<Caller>, source: &Arc<Fake>) -> Got {
    cache.get(TOOLS, &ask(caller), Admission::Kept, source).await
}

fn names(offer: &Offer) -> Vec<&str> {
    offer.content.list().unwrap().list.items().iter().map(super::super::item::Item::key).collect()
}

#[track_caller]
fn offered(got: &Got) -> (Vec<&str>, How) {
    match got {
        Got::Offer(offer, how) => (names(offer), *how),
        Got::Failed(failure) => panic!("{failure}"),
    }
}

#[track_caller]
fn failed(got: Got) -> Failure {
    match got {
        Got::Failed(failure) => Failure::clone(&failure),
        Got::Offer(offer, how) => panic!("{how:?}: {offer:?}"),
    }
}

async fn advance(seconds: u32) {
    tokio::time::advance(SECOND * seconds).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_fetched_once_until_it_expires() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    assert_eq!(offered(&get(&cache, None, &source).await), (vec!["a"], How::Miss));
    advance(59).await;
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Hit);
    advance(1).await;
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Miss);
    assert_eq!(source.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn all_who_come_during_a_fetch_share_it_even_if_it_may_not_be_kept() {
    for ttl in [0, 60] {
        let (cache, source) = (cache(), Fake::says(Said::private(&["a"], ttl)));
        let gots = join_all((0..200).map(|_| get(&cache, None, &source))).await;
        assert!(gots.iter().all(|got| offered(got).0 == ["a"]));
        assert_eq!(gots.iter().filter(|got| offered(got).1 == How::Miss).count(), 1);
        assert_eq!(source.fetches(), 1, "ttl {ttl}");
    }
}

#[tokio::test(start_paused = true)]
async fn private_answers_are_each_callers_own() {
    let (cache, source) = (cache(), Fake::new(|ask| Ok(Said::private(&[&format!("of-{:?}", ask.caller)], 60))));
    let callers = [None, Some(1), Some(2)];
    for expected in [How::Miss, How::Hit] {
        let gots = join_all(callers.map(|caller| get(&cache, caller, &source))).await;
        for (caller, got) in callers.iter().zip(&gots) {
            assert_eq!(offered(got), (vec![&*format!("of-{caller:?}")], expected));
        }
    }
    assert_eq!(source.asked(), callers);
}

#[tokio::test(start_paused = true)]
async fn what_is_public_is_everyones() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    assert_eq!(offered(&get(&cache, Some(1), &source).await).1, How::Miss);
    assert_eq!(offered(&get(&cache, Some(2), &source).await).1, How::Hit);
    // The next time callers with other credentials wait for the one fetch: the last answer was for all.
    advance(60).await;
    let gots = join_all((0..100).map(|caller| get(&cache, Some(caller), &source))).await;
    assert!(gots.iter().all(|got| offered(got).0 == ["a"]));
    assert_eq!(source.fetches(), 2);
}

#[tokio::test(start_paused = true)]
async fn those_who_waited_for_what_turned_private_fetch_for_themselves() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    get(&cache, Some(1), &source).await;
    advance(60).await;
    source.now(|ask| Ok(Said::private(&[&format!("of-{:?}", ask.caller)], 60)));
    let gots = join_all((1..=9).map(|caller| get(&cache, Some(caller), &source))).await;
    for (caller, got) in (1..=9).zip(&gots) {
        assert_eq!(offered(got).0, [format!("of-Some({caller})")]);
    }
    assert_eq!(source.fetches(), 10);
    // And back: a public answer is everyone's at once, whoever it was fetched for.
    advance(60).await;
    source.now(|_| Ok(Said::public(&["b"], 60)));
    assert_eq!(offered(&get(&cache, Some(5), &source).await), (vec!["b"], How::Miss));
    assert_eq!(offered(&get(&cache, Some(6), &source).await), (vec!["b"], How::Hit));
}

#[tokio::test(start_paused = true)]
async fn those_who_waited_for_anothers_failure_fetch_for_themselves() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    get(&cache, Some(1), &source).await;
    advance(1000).await;
    source.now(|ask| match ask.caller {
        Some(1) => Err(Failure::Unauthorized { status: 401, challenge: None }),
        _ => Ok(Said::public(&["b"], 60)),
    });
    let gots = join_all([Some(1), Some(2)].map(|caller| get(&cache, caller, &source))).await;
    let [first, second] = gots.try_into().unwrap();
    assert!(failed(first).is_unauthorized());
    assert_eq!(offered(&second).0, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn a_callers_own_answer_goes_before_the_one_for_all() {
    let (cache, source) = (cache(), Fake::says(Said::private(&["own"], 100)));
    get(&cache, Some(1), &source).await;
    source.now(|_| Ok(Said::public(&["all"], 60)));
    get(&cache, Some(2), &source).await;
    assert_eq!(offered(&get(&cache, Some(1), &source).await).0, ["own"]);
    assert_eq!(offered(&get(&cache, Some(3), &source).await).0, ["all"]);
}

#[tokio::test(start_paused = true)]
async fn while_a_server_fails_its_last_answer_serves_for_a_time() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    get(&cache, None, &source).await;
    advance(60).await;
    source.now(|_| Err(Failure::Unreachable { tried: vec![] }));
    assert_eq!(offered(&get(&cache, None, &source).await), (vec!["a"], How::Stale));
    // From then on nobody waits; the server is asked again every few seconds, in the background.
    let asked = source.fetches();
    for _ in 0..10 {
        assert_eq!(offered(&get(&cache, None, &source).await).1, How::Stale);
    }
    assert_eq!(source.fetches(), asked);
    advance(6).await;
    for _ in 0..10 {
        assert_eq!(offered(&get(&cache, None, &source).await).1, How::Stale);
    }
    tokio::time::sleep(SECOND).await;
    assert_eq!(source.fetches(), asked + 1);
    // It comes back: the next who asks after the next look has the new answer.
    source.now(|_| Ok(Said::public(&["b"], 60)));
    advance(6).await;
    get(&cache, None, &source).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(offered(&get(&cache, None, &source).await), (vec!["b"], How::Hit));
    // It does not serve for ever.
    source.now(|_| Err(Failure::Silent));
    advance(360).await;
    assert_eq!(failed(get(&cache, None, &source).await), Failure::Silent);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_remembered_for_a_few_seconds_by_caller() {
    let (cache, source) = (cache(), Fake::new(|_| Err(Failure::Unreachable { tried: vec![] })));
    for _ in 0..10 {
        assert_eq!(failed(get(&cache, None, &source).await), Failure::Unreachable { tried: vec![] });
    }
    assert_eq!(source.fetches(), 1);
    failed(get(&cache, Some(1), &source).await);
    assert_eq!(source.fetches(), 2);
    advance(5).await;
    failed(get(&cache, None, &source).await);
    assert_eq!(source.fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_are_refused_see_nothing_of_what_they_saw_before() {
    for scope in [Scope::Public, Scope::Private] {
        let (cache, source) = (cache(), Fake::says(Said::new(&["a"], 60, scope)));
        get(&cache, Some(1), &source).await;
        advance(60).await;
        source.now(|_| Err(Failure::Unauthorized { status: 401, challenge: Some("Bearer".into()) }));
        for _ in 0..2 {
            assert!(failed(get(&cache, Some(1), &source).await).is_unauthorized(), "{scope:?}");
        }
        source.now(|_| Err(Failure::Silent));
        advance(6).await;
        if scope == Scope::Private {
            assert_eq!(failed(get(&cache, Some(1), &source).await), Failure::Silent);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_method_offers_nothing_and_is_believed_for_a_minute() {
    let (cache, source) = (cache(), Fake::new(|_| Err(Failure::Said { code: -32601, message: "no".into() })));
    for (caller, fetches) in [(None, 1), (Some(7), 1), (Some(8), 1)] {
        let Got::Offer(offer, _) = get(&cache, caller, &source).await else { panic!("it is no failure") };
        assert!(matches!(offer.content, Content::Nothing));
        assert_eq!(source.fetches(), fetches);
    }
    advance(60).await;
    get(&cache, Some(7), &source).await;
    // Said to one with credentials, it may hold for those alone.
    get(&cache, Some(8), &source).await;
    assert_eq!(source.fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_operator_decides_how_long_and_whether_answers_are_kept() {
    let minute = Duration::from_secs(60);
    let assume = ServerKeeping::Assume { scope: Scope::Public, ttl: minute };
    for (server, said, kept_for) in [
        (ServerKeeping::On, Said::public(&["a"], 60), 60),
        (ServerKeeping::On, Said::public(&["a"], 1_000_000), 600),
        (ServerKeeping::On, Said::public(&["a"], 0), 0),
        (ServerKeeping::Off, Said::public(&["a"], 60), 0),
        (assume, Said::private(&["a"], 0), 60),
        // Only where the server says nothing: what it says is its own to know.
        (assume, Said::private(&["a"], 10), 10),
    ] {
        let (cache, source) = (cache_with(server), Fake::says(said.clone()));
        get(&cache, Some(1), &source).await;
        if kept_for > 0 {
            advance(kept_for - 1).await;
            assert_eq!(offered(&get(&cache, Some(1), &source).await).1, How::Hit, "{server:?} {said:?}");
            advance(1).await;
        }
        assert_eq!(offered(&get(&cache, Some(1), &source).await).1, How::Miss, "{server:?} {said:?}");
        let is_shared = matches!(server, ServerKeeping::Assume { .. }) && said.ttl.is_zero();
        let how = offered(&get(&cache, Some(2), &source).await).1;
        let expected = if is_shared || (said.scope == Scope::Public && kept_for > 0) { How::Hit } else { How::Miss };
        assert_eq!(how, expected, "{server:?} {said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_came_with_a_cookie_is_given_to_nobody_else_and_not_kept() {
    let said = Said { is_hazardous: true, ..Said::public(&["a"], 60) };
    let (cache, source) = (cache(), Fake::says(said));
    for fetches in 1..=3 {
        let Got::Offer(offer, How::Miss) = get(&cache, Some(1), &source).await else { panic!("it is fetched") };
        assert_eq!((offer.scope, offer.ttl()), (Scope::Private, Duration::ZERO));
        assert_eq!(source.fetches(), fetches);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_invalidated_on_its_way_answers_those_who_wait_and_is_not_fresh() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60).after(SECOND)));
    let waiting = tokio::spawn({
        let (cache, source) = (Arc::clone(&cache), Arc::clone(&source));
        async move { get(&cache, None, &source).await }
    });
    tokio::time::sleep(SECOND / 2).await;
    cache.invalidate();
    let Got::Offer(offer, How::Miss) = waiting.await.unwrap() else { panic!("it is answered") };
    assert_eq!((names(&offer), offer.ttl()), (vec!["a"], Duration::ZERO));
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Miss);
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Hit);
    cache.invalidate();
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Miss);
}

#[tokio::test(start_paused = true)]
async fn a_revalidation_ages_what_others_share_only_if_something_changed() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    get(&cache, None, &source).await;
    cache.revalidate(TOOLS, &ask(None), &source).await;
    assert_eq!(offered(&get(&cache, None, &source).await), (vec!["a"], How::Hit));
    source.now(|_| Ok(Said::public(&["b"], 60)));
    cache.revalidate(TOOLS, &ask(None), &source).await;
    assert_eq!(offered(&get(&cache, None, &source).await).0, ["b"]);
    // A failed look changes nothing.
    source.now(|_| Err(Failure::Unreachable { tried: vec![] }));
    cache.revalidate(TOOLS, &ask(None), &source).await;
    assert_eq!(offered(&get(&cache, None, &source).await).0, ["b"]);
}

#[tokio::test(start_paused = true)]
async fn kinds_of_clients_past_the_bound_pass_by_the_cache() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 60)));
    for fetches in 1..=2 {
        let got = cache.get(TOOLS, &ask(None), Admission::Bypass, &source).await;
        assert_eq!((offered(&got).1, source.fetches()), (How::Bypass, fetches));
    }
    assert_eq!(offered(&get(&cache, None, &source).await).1, How::Miss);
    assert_eq!(failed(cache.get(TOOLS, &ask(None), Admission::Refused, &source).await), Failure::Overloaded);
    assert_eq!(source.fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_list_is_kept_once() {
    let (cache, source) = (cache(), Fake::says(Said::public(&["a"], 1)));
    let Got::Offer(first, _) = get(&cache, None, &source).await else { panic!("it is offered") };
    advance(2).await;
    let Got::Offer(second, How::Miss) = get(&cache, None, &source).await else { panic!("it is fetched again") };
    assert!(first.content.is_same_copy(&second.content) && second.expires > first.expires);
}
