use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const HEADERS: [&str; 2] = ["Region", "Tenant"];

/// A route: for each of the two parameters its patterns, none if it does not ask for that one.
type Drawn = [Vec<String>; 2];

fn conditions(drawn: &Drawn) -> Vec<Condition> {
    let pairs = HEADERS.iter().zip(drawn).filter(|(_, patterns)| !patterns.is_empty());
    let conditions = pairs.map(|(header, patterns)| Condition {
        header: (*header).to_owned(),
        patterns: patterns.iter().map(|text| Pattern::new(text).expect("lawful")).collect(),
    });
    conditions.collect()
}

fn candidates(drawn: &[Drawn]) -> Vec<Candidate> {
    let route = |drawn| Candidate { name: "x".to_owned(), conditions: conditions(drawn), span: Span::default() };
    drawn.iter().map(route).collect()
}

fn matches(route: &[Condition], values: [Option<&str>; 2]) -> bool {
    route.iter().all(|condition| {
        let index = HEADERS.iter().position(|header| *header == condition.header).expect("known");
        values[index].is_some_and(|value| condition.patterns.iter().any(|pattern| pattern.matches(value)))
    })
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let patterns = || vec("[ab*]{0,2}", 0..3);
    [patterns(), patterns()]
        .prop_filter("asks for something", |drawn| drawn.iter().any(|patterns| !patterns.is_empty()))
}

/// Every text of up to three of three letters, one of which no pattern holds; and none at all.
fn values() -> Vec<Option<String>> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..3 {
        last = last.iter().flat_map(|text| ['a', 'b', 'c'].map(|letter| format!("{text}{letter}"))).collect();
        all.extend(last.clone());
    }
    std::iter::once(None).chain(all.into_iter().map(Some)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A route is called shadowed if and only if no request is left for it.
    #[test]
    fn shadowed_means_that_nothing_is_left(routes in vec(drawn(), 1..5)) {
        let routes = candidates(&routes);
        let (last, earlier) = routes.split_last().expect("at least one");
        let values = values();
        let left = values.iter().any(|region| values.iter().any(|tenant| {
            let values = [region.as_deref(), tenant.as_deref()];
            matches(&last.conditions, values) && !earlier.iter().any(|other| matches(&other.conditions, values))
        }));
        prop_assert_eq!(takers(&last.conditions, earlier).is_none(), left);
    }
}
