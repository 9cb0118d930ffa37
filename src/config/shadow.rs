//! Routes that can never match, because earlier ones take all they would.

use super::complaint::Span;
use super::pattern::Pattern;
use super::reading::Reading;
use super::settings::Condition;

/// Past this many choices of one pattern for each parameter, only single earlier routes are looked at.
const MAX_CHOICES: usize = 4_096;

/// A route whose conditions hold, whatever else may be wrong with it.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) conditions: Vec<Condition>,
    /// The place of its `when`.
    pub(super) span: Span,
}

pub(super) fn complain(routes: &[Candidate], reading: &mut Reading<'_>) {
    for (index, route) in routes.iter().enumerate() {
        let earlier = routes.get(..index).unwrap_or_default();
        let Some(takers) = takers(&route.conditions, earlier) else { continue };
        let takers = takers.iter().filter_map(|taker| earlier.get(*taker));
        let takers: Vec<String> =
            takers.map(|taker| format!("`{}` (line {})", taker.name, reading.lines.number(taker.span.start))).collect();
        let (verb, takers) = (if takers.len() == 1 { "takes" } else { "take" }, takers.join(" and "));
        let message = format!("route `{}` can never match: {takers} {verb} all it would", route.name);
        reading.findings.add(route.span, message, "move it before, narrow what stands before, or remove it");
    }
}

/// The earlier routes that leave nothing of this one, or `None` if something is left.
///
/// A route is a union of boxes, one for each choice of a pattern for each parameter. A box that earlier boxes cover
/// together is covered by one of them alone (see `Pattern::subsumes`), so each is looked at by itself.
fn takers(route: &[Condition], earlier: &[Candidate]) -> Option<Vec<usize>> {
    if let Some(single) = earlier.iter().position(|other| takes_all(&other.conditions, route)) {
        return Some(vec![single]);
    }
    let choices = route.iter().try_fold(1_usize, |product, c| product.checked_mul(c.patterns.len()));
    let choices = choices.filter(|choices| *choices <= MAX_CHOICES)?;
    let mut takers = Vec::new();
    for choice in 0..choices {
        let chosen = nth_choice(route, choice);
        let taker = earlier.iter().position(|other| takes(&other.conditions, &chosen))?;
        if !takers.contains(&taker) {
            takers.push(taker);
        }
    }
    takers.sort_unstable();
    Some(takers)
}

/// Whether `other` takes every box of `route`.
fn takes_all(other: &[Condition], route: &[Condition]) -> bool {
    other.iter().all(|condition| {
        let same = route.iter().find(|own| own.header.eq_ignore_ascii_case(&condition.header));
        same.is_some_and(|own| own.patterns.iter().all(|pattern| subsumed(pattern, condition)))
    })
}

/// Whether `other` takes the one box that is a pattern for each parameter.
fn takes(other: &[Condition], chosen: &[(&str, &Pattern)]) -> bool {
    other.iter().all(|condition| {
        let same = chosen.iter().find(|(header, _)| header.eq_ignore_ascii_case(&condition.header));
        same.is_some_and(|(_, pattern)| subsumed(pattern, condition))
    })
}

fn subsumed(pattern: &Pattern, by: &Condition) -> bool {
    by.patterns.iter().any(|wider| wider.subsumes(pattern))
}

/// One pattern for each parameter; `number` counts through all choices.
fn nth_choice(route: &[Condition], mut number: usize) -> Vec<(&str, &Pattern)> {
    let chosen = route.iter().filter_map(|condition| {
        let count = condition.patterns.len().max(1);
        let pattern = condition.patterns.get(number % count);
        number /= count;
        pattern.map(|pattern| (condition.header.as_str(), pattern))
    });
    chosen.collect()
}

#[cfg(test)]
mod tests;
