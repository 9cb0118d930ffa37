//! Knows what it takes to check a value against a schema, before it is checked.
//!
//! Must never take longer than a check itself may, and never go deeper than a thread's stack holds.

use std::collections::HashMap;

use serde_json::Value;

use super::graph::{Graph, Node, Reach};

/// What a check may take in steps.
const MAX_CHECK: u64 = 4_000_000;
/// Up to here all errors are gathered, since there cannot be too many of them.
const MAX_ALL_ERRORS: u64 = 100_000;
const MAX_ONE_ERROR: u64 = 4_000_000;
/// How much of a value may be copied into the errors of alternatives, in rough units of a value.
const MAX_COPIES: u64 = 2_000_000;
/// How many bytes of JSON pointers the errors may have together.
const MAX_POINTERS: u64 = 64_000_000;
/// A value and a schema that have no more to do with each other than this are not looked into.
const SMALL: u64 = 20_000;
/// How often the crate looks at a target of references before it remembers what it found.
const UNREMEMBERED_VISITS: u64 = 16;
/// How deep subschemas may be applied within each other, which is how deep a check recurses.
const MAX_DEPTH: usize = 1_000;
/// How many pairs of a subschema and a value may be looked at.
const MAX_STEPS: u64 = 1_000_000;
/// "unevaluated…" keywords ask what applies in place again, and what that applies in turn.
const ASKED_AGAIN: u64 = 2;
/// What a pattern that may backtrack takes, against one that runs once over its text.
const BACKTRACKING: u64 = 200;

/// What is left to tell, once it is known that a check is affordable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    tell: u64,
    copies: u64,
    /// The longest JSON pointer into the value: each error has one.
    pointer: u64,
}

impl Effort {
    pub fn allows_all_errors(self) -> bool {
        self.tell <= MAX_ALL_ERRORS && self.copies <= MAX_COPIES && self.pointers_are_affordable()
    }

    pub fn allows_one_error(self) -> bool {
        // Without alternatives there is just the one error.
        let is_affordable = self.copies == 0 || self.pointers_are_affordable();
        self.tell <= MAX_ONE_ERROR && self.copies <= MAX_COPIES && is_affordable
    }

    fn pointers_are_affordable(self) -> bool {
        self.tell.saturating_mul(self.pointer) <= MAX_POINTERS
    }
}

/// `None` if a check would take too much.
pub(super) fn estimate(graph: &Graph, value: &Value) -> Option<Effort> {
    let mut meter = Meter { graph, costs: HashMap::new(), sizes: HashMap::new(), pointer: 0, check: 0, steps: 0 };
    let size = meter.measure(value, 0, 0)?;
    if let Some(most) = graph.ways.and_then(|ways| ways.checked_mul(size)).filter(|most| *most <= SMALL) {
        return Some(Effort { tell: most, copies: most.saturating_mul(size), pointer: meter.pointer });
    }
    let cost = meter.cost(0, value, 0)?;
    let check = meter.check.saturating_add(cost.check);
    (check <= MAX_CHECK).then_some(Effort { tell: cost.tell, copies: cost.copies, pointer: meter.pointer })
}

#[derive(Clone, Copy, Default)]
struct Cost {
    /// To find out whether the value holds; what is remembered counts once.
    check: u64,
    /// To gather its errors; nothing is remembered then.
    tell: u64,
    /// What of the value is copied by that, now and if this is an alternative.
    copies: u64,
    copies_as_choice: u64,
}

impl Cost {
    fn add(&mut self, other: Self, times: u64, as_choice: bool) {
        let more = |sum: &mut u64, by: u64| *sum = sum.saturating_add(by.saturating_mul(times));
        more(&mut self.check, other.check);
        more(&mut self.tell, other.tell);
        more(&mut self.copies, if as_choice { other.copies_as_choice } else { other.copies });
        more(&mut self.copies_as_choice, other.copies_as_choice);
    }

    fn raise(&mut self, other: Self) {
        self.check = self.check.max(other.check);
        self.tell = self.tell.max(other.tell);
        self.copies = self.copies.max(other.copies);
        self.copies_as_choice = self.copies_as_choice.max(other.copies_as_choice);
    }
}

struct Meter<'a> {
    graph: &'a Graph,
    /// By subschema and by the address of a value, which stays where it is while this looks at it.
    costs: HashMap<(usize, usize), Cost>,
    sizes: HashMap<usize, u64>,
    pointer: u64,
    check: u64,
    steps: u64,
}

impl<'a> Meter<'a> {
    /// The size of a value in rough units; that of what holds others is kept.
    fn measure(&mut self, value: &'a Value, depth: usize, pointer: u64) -> Option<u64> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.pointer = self.pointer.max(pointer);
        let mut size = 1_u64;
        match value {
            Value::String(text) => return Some(size + text.len() as u64 / 32),
            Value::Array(items) => {
                for item in items {
                    size += self.measure(item, depth + 1, pointer + 8)?;
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    size += self.measure(member, depth + 1, pointer + name.len() as u64 + 1)? + name.len() as u64 / 32;
                }
            }
            _ => return Some(size),
        }
        self.sizes.insert(address(value), size);
        Some(size)
    }

    fn size(&self, value: &Value) -> u64 {
        match value {
            Value::String(text) => 1 + text.len() as u64 / 32,
            _ => self.sizes.get(&address(value)).copied().unwrap_or(1),
        }
    }

    fn cost(&mut self, at: usize, value: &'a Value, depth: usize) -> Option<Cost> {
        let key = (at, address(value));
        if let Some(known) = self.costs.get(&key) {
            return Some(*known);
        }
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        let graph = self.graph;
        let node = graph.nodes.get(at)?;
        let mut cost = self.own(node, value);
        for edge in &node.edges {
            self.follow(node, &edge.reach, edge.to, value, depth, &mut cost)?;
        }
        if node.remembered_in.is_some() {
            self.check = self.check.saturating_add(cost.check);
        }
        self.costs.insert(key, cost);
        Some(cost)
    }

    /// The cost of an edge's target. What is remembered of it costs little, but it is remembered only for what holds
    /// values, only on the way round a loop, and only after some visits.
    fn below(&mut self, node: &Node, to: usize, value: &'a Value, depth: usize) -> Option<Cost> {
        let mut cost = self.cost(to, value, depth + 1)?;
        let graph = self.graph;
        let target = graph.nodes.get(to)?;
        let is_kept = target.remembered_in.is_some()
            && target.remembered_in == node.in_loop
            && (value.is_array() || value.is_object());
        if is_kept {
            cost.check = cost.check.min(target.ways.saturating_mul(UNREMEMBERED_VISITS));
        }
        Some(cost)
    }

    fn own(&self, node: &Node, value: &Value) -> Cost {
        let effort = node.weight.saturating_add(node.patterns.saturating_mul(matching(node, value)));
        let copies = self.size(value).saturating_mul(node.weight);
        Cost { check: effort, tell: effort, copies: 0, copies_as_choice: copies }
    }

    fn follow(
        &mut self,
        node: &Node,
        reach: &Reach,
        to: usize,
        value: &'a Value,
        depth: usize,
        cost: &mut Cost,
    ) -> Option<()> {
        let times = if node.asks_again { ASKED_AGAIN } else { 1 };
        match (reach, value) {
            (Reach::Here | Reach::Choice, _) => {
                let below = self.below(node, to, value, depth)?;
                cost.add(below, times, matches!(reach, Reach::Choice));
            }
            (Reach::Either, _) => {
                let below = self.below(node, to, value, depth)?;
                cost.raise(below);
            }
            (Reach::Property(name), Value::Object(members)) => {
                if let Some(member) = members.get(name.as_ref()) {
                    cost.add(self.below(node, to, member, depth)?, 1, false);
                }
            }
            (Reach::Item(index), Value::Array(items)) => {
                if let Some(item) = items.get(*index) {
                    cost.add(self.below(node, to, item, depth)?, 1, false);
                }
            }
            (Reach::Members, Value::Object(members)) => self.all(node, members.values(), to, depth, cost)?,
            (Reach::Items, Value::Array(items)) => self.all(node, items.iter(), to, depth, cost)?,
            (Reach::Names, Value::Object(members)) => {
                let ways = self.graph.nodes.get(to).map_or(1, |node| node.ways);
                let each = Cost { check: ways, tell: ways, copies: ways, copies_as_choice: ways };
                cost.add(each, members.len() as u64, false);
            }
            _ => {}
        }
        Some(())
    }

    fn all(
        &mut self,
        node: &Node,
        values: impl Iterator<Item = &'a Value>,
        to: usize,
        depth: usize,
        cost: &mut Cost,
    ) -> Option<()> {
        for value in values {
            cost.add(self.below(node, to, value, depth)?, 1, false);
        }
        Some(())
    }
}

/// What it takes to try one of a subschema's patterns on what they are tried on.
fn matching(node: &Node, value: &Value) -> u64 {
    let texts = match value {
        Value::String(text) if !node.backtracks => return 1 + text.len() as u64 / 64,
        Value::String(_) => 1,
        Value::Object(members) => members.len() as u64,
        _ => 0,
    };
    if node.backtracks { texts.saturating_mul(BACKTRACKING) } else { texts }
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}
