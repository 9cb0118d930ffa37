//! Cases of the state machine, in order; the time is handed in.

use super::*;
use crate::protocol::tool::{ParamKind, Rule as ParamRule};

/// The server's tools by what a test makes of their names: `region` demands a header, `hidden` is left out.
fn tools(names: &[&str]) -> Tools {
    let rule = |name: &str| match name {
        "hidden" => Rule::LeftOut(Omission::Hidden),
        name => {
            let mirrored = ParamRule { header: "Region".into(), path: vec!["region".into()], kind: ParamKind::String };
            let rules = ToolRules { rules: if name == "region" { vec![mirrored] } else { vec![] } };
            Rule::Lawful(Arc::new(Tool { plan: Plan::for_tool(&rules, &[]), rules, schemas: None }))
        }
    };
    Arc::new(names.iter().map(|name| ((*name).to_owned(), rule(name))).collect())
}

/// Rules of one server, and a clock.
struct World {
    rules: Rules,
    now: Instant,
}

const TTL: u64 = 60;

impl World {
    fn new() -> Self {
        Self::of(|_| ())
    }

    fn of(change: impl FnOnce(&mut Demands)) -> Self {
        let ttl = Duration::from_secs(TTL);
        let mut demands = Demands { ttl, declared: None, is_routed: false, is_validated: false };
        change(&mut demands);
        Self { rules: Rules::new(demands), now: Instant::now() }
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    fn says(&self, caller: Option<Caller>, tool: &str) -> &'static str {
        words(&self.rules.plan_for(&Call { tool, caller }, self.now))
    }

    fn settles(&self, caller: Option<Caller>, tool: &str) -> &'static str {
        settled_words(&self.rules.settle(&Call { tool, caller }, self.now))
    }

    fn says_after(&self, doubted: &RuleSet, caller: Option<Caller>) -> &'static str {
        let ruling = self.rules.plan_after_doubt(&Call { tool: "region", caller }, doubted, self.now);
        ruling.as_ref().map_or("nothing younger", words)
    }

    fn settles_after(&self, doubted: &RuleSet, caller: Option<Caller>) -> &'static str {
        let settled = self.rules.settle_after_doubt(&Call { tool: "region", caller }, doubted);
        settled.as_ref().map_or("nothing younger", settled_words)
    }

    /// A list of these tools; `list_ttl` in seconds.
    fn set(&self, names: &[&str], list_ttl: u64, is_public: bool) -> RuleSet {
        let list_ttl = Duration::from_secs(list_ttl);
        RuleSet { tools: tools(names), list_ttl, is_public, fetched: self.now, capabilities: 0 }
    }

    fn learn(&self, caller: Option<Caller>, names: &[&str], is_public: bool) {
        self.rules.learn(caller, self.set(names, 0, is_public), self.now);
    }

    fn fail(&self, caller: Option<Caller>) {
        self.rules.fail(caller, self.now);
    }

    /// The rules by which a call is judged now.
    fn seen(&self, caller: Option<Caller>, tool: &str) -> Arc<RuleSet> {
        match self.rules.plan_for(&Call { tool, caller }, self.now) {
            Ruling::Settled(Settled::Plan(judging)) | Ruling::SettledForNow(Settled::Plan(judging)) => {
                judging.rules.unwrap()
            }
            other => panic!("{other:?}"),
        }
    }
}

fn words(ruling: &Ruling) -> &'static str {
    match ruling {
        Ruling::AskFirst => "ask first",
        Ruling::Settled(settled) => settled_words(settled),
        Ruling::SettledForNow(settled) => match settled_words(settled) {
            "region" => "region, old",
            "plain" => "plain, old",
            "no such tool" => "no such tool, old",
            other => other,
        },
    }
}

fn settled_words(settled: &Settled) -> &'static str {
    match settled {
        Settled::Plan(judging) if !judging.is_proven => "unproven",
        Settled::Plan(judging) if judging.plan.declares("Zone") => "declared",
        Settled::Plan(judging) if judging.plan.declares("Region") => "region",
        Settled::Plan(_) => "plain",
        Settled::NoSuchTool => "no such tool",
        Settled::NotToBeHad => "not to be had",
    }
}

#[test]
fn rules_are_young_then_old_then_none() {
    let mut world = World::new();
    assert_eq!(world.says(None, "region"), "ask first");
    world.learn(None, &["region", "plain", "hidden"], true);
    for (tool, expected) in [("region", "region"), ("plain", "plain"), ("hidden", "no such tool")] {
        assert_eq!(world.settles(None, tool), expected);
        assert_eq!(world.says(None, tool), expected);
    }
    world.wait(TTL * 1_000);
    assert_eq!(world.says(None, "region"), "region");
    world.wait(1);
    for (tool, expected) in [("region", "region, old"), ("hidden", "no such tool, old")] {
        assert_eq!(world.says(None, tool), expected);
    }
    // It is fetched meanwhile.
    world.learn(None, &["plain"], true);
    assert_eq!(world.says(None, "plain"), "plain");
    world.wait(TTL * 10_000);
    assert_eq!(world.says(None, "plain"), "plain, old");
    world.wait(1);
    assert_eq!(world.says(None, "plain"), "ask first");
}

#[test]
fn a_failure_counts_for_a_few_seconds_and_old_rules_go_on_meanwhile() {
    let mut world = World::new();
    assert_eq!(world.says(None, "region"), "ask first");
    world.fail(None);
    assert_eq!(world.settles(None, "region"), "unproven");
    world.wait(4_999);
    assert_eq!(world.says(None, "region"), "unproven");
    world.wait(1);
    assert_eq!(world.says(None, "region"), "ask first");
    world.learn(None, &["region"], true);
    world.wait(TTL * 1_000 + 1);
    world.fail(None);
    // Old, but nobody is sent to fetch what was just not to be had.
    assert_eq!(world.says(None, "region"), "region");
    assert_eq!(world.settles(None, "region"), "region");
    world.wait(5_000);
    assert_eq!(world.says(None, "region"), "region, old");
    world.wait(TTL * 10_000);
    world.fail(None);
    assert_eq!(world.settles(None, "region"), "unproven");
}

#[test]
fn what_was_fetched_holds_for_the_call_that_asked_for_it_however_short_its_lifetime() {
    let mut world = World::of(|demands| demands.ttl = Duration::from_millis(1));
    assert_eq!(world.says(None, "region"), "ask first");
    world.learn(None, &["region"], true);
    world.wait(10_000);
    assert_eq!(world.settles(None, "region"), "region");
    assert_eq!(world.says(None, "region"), "ask first");
}

#[test]
fn what_holds_where_nothing_is_known() {
    let zone = || {
        let declared = crate::agreement::Declared { header: "Zone".into(), path: vec!["zone".into()] };
        Some(Plan::for_tool(&ToolRules::default(), &[declared]))
    };
    // (declares parameters, has routes, validates) → (nothing to be had, not listed, contradicted)
    for ((declares, is_routed, is_validated), (nothing, unlisted)) in [
        ((false, false, false), ("unproven", "plain")),
        ((true, false, false), ("declared", "declared")),
        ((false, true, false), ("not to be had", "no such tool")),
        ((true, true, false), ("declared", "declared")),
        ((false, false, true), ("not to be had", "no such tool")),
        ((true, true, true), ("not to be had", "no such tool")),
    ] {
        let world = World::of(|demands| {
            demands.declared = zone().filter(|_| declares);
            (demands.is_routed, demands.is_validated) = (is_routed, is_validated);
        });
        let what = format!("{declares} {is_routed} {is_validated}");
        assert_eq!(world.says(None, "x"), "ask first", "{what}");
        world.fail(None);
        assert_eq!(world.settles(None, "x"), nothing, "{what}");
        world.learn(None, &["other"], true);
        assert_eq!(world.says(None, "x"), "ask first", "{what}");
        world.learn(None, &["other"], true);
        assert_eq!(world.settles(None, "x"), unlisted, "{what}");
        // For a client with capabilities it demands another header: which of the two is meant is not known.
        let contradicting = |names| RuleSet { capabilities: 1, ..world.set(names, 0, true) };
        world.learn(None, &["x"], true);
        let mut with_region = contradicting(&["region"]);
        let region = with_region.tools["region"].clone();
        with_region.tools = Arc::new(HashMap::from([("x".to_owned(), region)]));
        world.rules.learn(None, with_region, world.now);
        assert_eq!(world.says(None, "x"), nothing, "{what}");
    }
}

#[test]
fn a_tool_that_no_list_has_is_looked_for_once_a_second() {
    let mut world = World::new();
    world.learn(None, &["plain"], true);
    world.wait(10);
    assert_eq!(world.says(None, "new"), "ask first");
    // Who comes meanwhile waits for the same fetch.
    world.wait(10);
    assert_eq!(world.says(None, "new"), "ask first");
    world.learn(None, &["plain"], true);
    assert_eq!(world.settles(None, "new"), "plain");
    world.wait(900);
    assert_eq!(world.says(None, "new"), "plain");
    world.wait(200);
    assert_eq!(world.says(None, "new"), "ask first");
    world.learn(None, &["plain", "region"], true);
    assert_eq!(world.says(None, "region"), "region");
}

#[test]
fn a_call_that_does_not_hold_to_its_rules_has_them_fetched_once_unless_the_list_vouches() {
    let mut world = World::new();
    world.rules.learn(None, world.set(&["region"], 30, true), world.now);
    let seen = world.seen(None, "region");
    world.wait(30_000);
    assert_eq!(world.says_after(&seen, None), "nothing younger");
    world.wait(1);
    assert_eq!(world.says_after(&seen, None), "ask first");
    assert_eq!(world.says_after(&seen, None), "ask first");
    world.wait(10);
    world.rules.learn(None, world.set(&["region"], 0, true), world.now);
    assert_eq!(world.settles_after(&seen, None), "region");
    // Whoever disagreed with the first gets the second without a fetch; who disagrees with that waits for the next second.
    assert_eq!(world.says_after(&seen, None), "region");
    let newer = world.seen(None, "region");
    world.wait(10);
    assert_eq!(world.says_after(&newer, None), "nothing younger");
    world.wait(1_000);
    assert_eq!(world.says_after(&newer, None), "ask first");
    world.fail(None);
    assert_eq!(world.settles_after(&newer, None), "nothing younger");
    world.wait(1_000);
    assert_eq!(world.says_after(&newer, None), "nothing younger", "what was just not to be had is not asked for again");
}

#[test]
fn what_all_share_is_fetched_for_one_of_many_liars_only() {
    let mut world = World::new();
    world.learn(None, &["region"], true);
    let seen = world.seen(Some(1), "region");
    world.wait(10);
    assert_eq!(world.says_after(&seen, Some(1)), "ask first");
    world.wait(10);
    world.learn(Some(1), &["region"], true);
    world.wait(10);
    for caller in 2..1_000 {
        assert_ne!(world.says_after(&seen, Some(caller)), "ask first");
    }
}

#[test]
fn a_fetch_that_turns_out_private_does_not_leave_the_door_open() {
    let mut world = World::new();
    world.learn(None, &["region"], true);
    let seen = world.seen(Some(1), "region");
    world.wait(10);
    assert_eq!(world.says_after(&seen, Some(1)), "ask first");
    world.learn(Some(1), &["region"], false);
    world.wait(10);
    assert_eq!(world.says_after(&seen, Some(2)), "nothing younger");
}

#[test]
fn private_rules_speak_for_their_caller_alone() {
    let mut world = World::new();
    world.learn(Some(1), &["region"], false);
    assert_eq!(world.says(Some(1), "region"), "region");
    assert_eq!(world.says(Some(2), "region"), "ask first");
    assert_eq!(world.says(None, "region"), "ask first");
    // A public list is everyone's, but one's own goes before it.
    world.learn(Some(3), &["plain"], true);
    assert_eq!(world.says(Some(2), "plain"), "plain");
    assert_eq!(world.says(Some(1), "region"), "region");
    world.wait(TTL * 1_000 + 1);
    assert_eq!(world.says(Some(1), "region"), "region, old");
    world.learn(Some(3), &["plain"], false);
    assert_eq!(world.says(None, "plain"), "ask first");
}

#[test]
fn what_servers_say_causes_one_fetch_in_five_seconds_whoever_provokes_it() {
    let mut world = World::new();
    assert!(world.rules.should_revalidate(world.now));
    world.wait(4_999);
    assert!(!world.rules.should_revalidate(world.now));
    world.wait(1);
    assert!(world.rules.should_revalidate(world.now));
}

#[test]
fn lists_that_say_the_same_are_kept_once() {
    let world = World::new();
    let first = world.rules.intern(&7, HashMap::new);
    assert!(Arc::ptr_eq(&first, &world.rules.intern(&7, || unreachable!())));
    assert!(!Arc::ptr_eq(&first, &world.rules.intern(&8, HashMap::new)));
    drop(first);
    let again = std::cell::Cell::new(false);
    world.rules.intern(&7, || {
        again.set(true);
        HashMap::new()
    });
    assert!(again.get(), "what nobody uses is forgotten");
}
