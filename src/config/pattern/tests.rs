use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).expect("lawful")
}

/// The definition, slow and plain.
fn matches_by_definition(pattern: &[char], value: &[char]) -> bool {
    match (pattern.split_first(), value.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => (0..=value.len()).any(|skip| matches_by_definition(rest, &value[skip..])),
        (Some((wanted, pattern)), Some((found, value))) => wanted == found && matches_by_definition(pattern, value),
        _ => false,
    }
}

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

#[test]
fn matching_table() {
    for (text, yes, no) in [
        ("", vec![""], vec!["a", " "]),
        ("*", vec!["", "a", "äöü"], vec![]),
        ("us-west1", vec!["us-west1"], vec!["US-WEST1", "us-west1 ", "us-west", "us-west11"]),
        ("us-*", vec!["us-", "us-east"], vec!["us", "eu-us-"]),
        ("*-1", vec!["-1", "us-1"], vec!["us-11", "1"]),
        ("a*a", vec!["aa", "aba"], vec!["a", "ab"]),
        ("a*b*c", vec!["abc", "axxbyyc", "abbcc"], vec!["ac", "acb", "ab"]),
        ("**a**", vec!["a", "bab"], vec!["", "b"]),
        ("*ab*ab*", vec!["abab", "ab-ab"], vec!["aba", "ab"]),
        ("ä*ß", vec!["äß", "äöß"], vec!["ä", "ß"]),
    ] {
        for value in yes {
            assert!(pattern(text).matches(value), "{text} should match {value}");
        }
        for value in no {
            assert!(!pattern(text).matches(value), "{text} should not match {value}");
        }
    }
}

#[test]
fn subsumption_table() {
    for (wide, narrow) in [
        ("*", ""),
        ("*", "*"),
        ("a*", "a"),
        ("a*", "ab*"),
        ("*b*", "a*b"),
        ("a*c", "a*b*c"),
        ("*a*a*", "xa*ay"),
        ("**", "*"),
    ] {
        assert!(pattern(wide).subsumes(&pattern(narrow)), "{wide} takes all of {narrow}");
    }
    for (wide, narrow) in [
        ("", "*"),
        ("a", "a*"),
        ("ab*", "a*"),
        ("*ab*", "a*b"),
        ("a*a", "a"),
        ("*a*a*", "a*"),
        ("a*", "A*"),
        ("a*b", "a*"),
    ] {
        assert!(!pattern(wide).subsumes(&pattern(narrow)), "{wide} does not take all of {narrow}");
    }
}

#[test]
fn control_characters_are_refused() {
    for text in ["\n", "a\0", "\u{7f}*", "a\u{85}"] {
        assert_eq!(Pattern::new(text), Err(Unmatchable), "{text:?}");
    }
}

#[test]
fn a_hostile_pattern_takes_no_exponential_time() {
    let pattern = pattern(&"a*".repeat(1_000));
    let value = "a".repeat(100_000) + "b";
    assert!(pattern.matches(&value));
    let pattern = self::pattern(&("*a".repeat(1_000) + "b"));
    assert!(!pattern.matches(&"a".repeat(100_000)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn matching_is_the_definition(text in "[ab*]{0,7}", value in "[ab]{0,9}") {
        prop_assert_eq!(pattern(&text).matches(&value), matches_by_definition(&chars(&text), &chars(&value)));
    }

    /// Against every text of up to five of three letters, one of which no pattern holds.
    #[test]
    fn subsumption_is_inclusion(wide in "[ab*]{0,5}", narrow in "[ab*]{0,4}") {
        let (wide, narrow) = (pattern(&wide), pattern(&narrow));
        let mut texts = vec![String::new()];
        let mut included = true;
        for length in 0..=5 {
            included &= texts.iter().all(|text| !narrow.matches(text) || wide.matches(text));
            if length < 5 {
                texts = texts.iter().flat_map(|text| ['a', 'b', 'c'].map(|letter| format!("{text}{letter}"))).collect();
            }
        }
        prop_assert_eq!(wide.subsumes(&narrow), included);
    }
}
