//! Knows which subschema applies which other one, and to what part of a value.
//!
//! Must never hold on to the schema itself, and never recurse: its edges are a stranger's.

/// Where an edge leads within the value that its schema is applied to.
#[derive(Debug)]
pub(super) enum Reach {
    /// The same value.
    Here,
    /// The same value, as one of several alternatives: their errors are copied.
    Choice,
    /// The same value, by a dynamic reference, which leads to one of what it may lead to.
    Either,
    Property(Box<str>),
    /// Any property.
    Members,
    /// The names of all properties.
    Names,
    Item(usize),
    /// Any item.
    Items,
}

impl Reach {
    fn stays(&self) -> bool {
        matches!(self, Self::Here | Self::Choice | Self::Either)
    }
}

#[derive(Debug)]
pub(super) struct Edge {
    pub reach: Reach,
    pub to: usize,
}

/// A subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub edges: Vec<Edge>,
    /// What it takes to apply its own keywords, in rough units.
    pub weight: u64,
    /// How many patterns are tried on a text or on each property's name, and whether one may backtrack.
    pub patterns: u64,
    pub backtracks: bool,
    /// Its "unevaluated…" keywords ask all that applies in place a second time.
    pub asks_again: bool,
    /// It is the target of a reference.
    pub referenced: bool,
    /// The loop it is on, if any.
    pub in_loop: Option<usize>,
    /// The same, if it alone is the target of references there: what it says of a value is remembered on the way round.
    /// With several targets it is not certain which is.
    pub remembered_in: Option<usize>,
    /// How many ways lead through what applies in place.
    pub ways: u64,
}

/// The root comes first.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub nodes: Vec<Node>,
    /// How many ways lead from the root to any subschema, if they are finite.
    pub ways: Option<u64>,
}

/// What is wrong with a graph, and with which node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It applies itself to the same value, again and again.
    Endless(usize),
    /// It applies too many others to the same value.
    TooWide(usize),
    TooDeep(usize),
}

/// How many ways all nodes together may have: each is a step on each value.
const MAX_WAYS: u64 = 250_000;
/// How many subschemas may apply in place below each other.
const MAX_CHAIN: u32 = 64;

impl Graph {
    /// Refuses what never ends or explodes on a single value, and counts the rest.
    pub fn settle(&mut self) -> Result<(), Flaw> {
        let (order, back) = self.finish_order(Reach::stays);
        if let Some(node) = back {
            return Err(Flaw::Endless(node));
        }
        let ways = self.count_ways(&order, Reach::stays);
        let mut chains = vec![0_u32; self.nodes.len()];
        let mut total = 0_u64;
        for &at in &order {
            let Some(node) = self.nodes.get_mut(at) else { continue };
            let below =
                node.edges.iter().filter(|edge| edge.reach.stays()).filter_map(|edge| chains.get(edge.to)).max();
            let chain = below.map_or(0, |below| below + 1);
            node.ways = ways.get(at).copied().unwrap_or(1);
            total = total.saturating_add(node.ways);
            if chain > MAX_CHAIN {
                return Err(Flaw::TooDeep(at));
            }
            if total > MAX_WAYS {
                return Err(Flaw::TooWide(at));
            }
            if let Some(slot) = chains.get_mut(at) {
                *slot = chain;
            }
        }
        self.find_loops();
        Ok(())
    }

    fn find_loops(&mut self) {
        let (order, back) = self.finish_order(|_| true);
        if back.is_none() {
            self.ways = self.count_ways(&order, |_| true).first().copied();
            return;
        }
        for (number, nodes) in self.loops(&order).into_iter().enumerate() {
            let is_target = |at: &usize| self.nodes.get(*at).is_some_and(|node| node.referenced);
            let alone = nodes.iter().filter(|at| is_target(at)).count() == 1;
            for at in nodes {
                if let Some(node) = self.nodes.get_mut(at) {
                    node.in_loop = Some(number);
                    node.remembered_in = node.in_loop.filter(|_| alone && node.referenced);
                }
            }
        }
    }

    /// All nodes, each after those that its edges lead to; and a node that an edge leads back to, if there is one.
    fn finish_order(&self, follows: impl Fn(&Reach) -> bool) -> (Vec<usize>, Option<usize>) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let (mut order, mut back) = (Vec::with_capacity(self.nodes.len()), None);
        for root in 0..self.nodes.len() {
            let mut path = vec![(root, 0_usize)];
            while let Some((at, next)) = path.pop() {
                let (Some(node), Some(mark)) = (self.nodes.get(at), marks.get_mut(at)) else { continue };
                if next == 0 && *mark != Mark::New {
                    if *mark == Mark::Open {
                        back = Some(at);
                    }
                    continue;
                }
                *mark = Mark::Open;
                if let Some(edge) = node.edges.get(next) {
                    path.push((at, next + 1));
                    if follows(&edge.reach) {
                        path.push((edge.to, 0));
                    }
                } else {
                    *mark = Mark::Done;
                    order.push(at);
                }
            }
        }
        (order, back)
    }

    fn count_ways(&self, order: &[usize], follows: impl Fn(&Reach) -> bool) -> Vec<u64> {
        let mut ways = vec![1_u64; self.nodes.len()];
        for &at in order {
            let Some(node) = self.nodes.get(at) else { continue };
            let below = node.edges.iter().filter(|edge| follows(&edge.reach)).filter_map(|edge| ways.get(edge.to));
            let sum = below.fold(1_u64, |sum, ways| sum.saturating_add(*ways));
            if let Some(slot) = ways.get_mut(at) {
                *slot = sum;
            }
        }
        ways
    }

    /// The strongly connected components (after Kosaraju) whose nodes can be reached from themselves.
    fn loops(&self, order: &[usize]) -> Vec<Vec<usize>> {
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            for edge in &node.edges {
                if let Some(callers) = callers.get_mut(edge.to) {
                    callers.push(at);
                }
            }
        }
        let mut seen = vec![false; self.nodes.len()];
        let mut found = Vec::new();
        for &root in order.iter().rev() {
            let (mut component, mut open) = (Vec::new(), vec![root]);
            while let Some(at) = open.pop() {
                let Some(seen) = seen.get_mut(at).filter(|seen| !**seen) else { continue };
                *seen = true;
                component.push(at);
                open.extend(callers.get(at).into_iter().flatten());
            }
            if component.len() > 1 || (component.len() == 1 && self.leads_to_itself(root)) {
                found.push(component);
            }
        }
        found
    }

    fn leads_to_itself(&self, at: usize) -> bool {
        self.nodes.get(at).is_some_and(|node| node.edges.iter().any(|edge| edge.to == at))
    }
}
