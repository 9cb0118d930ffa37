//! Which pool of a server a request goes to, by its parameters.

use std::collections::HashMap;

use crate::config::{Pattern, Server};

/// Where a request goes within its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The pool of this route, by its index.
    Route(usize),
    /// The server's own `endpoints`.
    Default,
    /// No route matches and there is no default pool. The parameters the request has that routes look at, as the file
    /// spells them; empty if it has none of them.
    None { params: Vec<String> },
}

/// The parameter routes of one server, in order; the first that matches wins.
///
/// A route on one parameter with exact values is found by hashing. Only globs and routes on several parameters are
/// tried one by one, and of these only the ones before the route that hashing found.
#[derive(Debug)]
pub struct ServerRoutes {
    /// Every parameter that a route names, once.
    params: Vec<Param>,
    /// What hashing cannot find, in order.
    tried: Vec<Tried>,
    lists: Choice,
    fallback: Option<Choice>,
}

#[derive(Debug)]
struct Param {
    /// As the file first spells it.
    header: String,
    /// The first route that asks for exactly this value and for nothing else.
    exact: HashMap<String, usize>,
}

#[derive(Debug)]
struct Tried {
    route: usize,
    /// Indexes of `params`, each with its patterns: all must match.
    conditions: Vec<(usize, Vec<Pattern>)>,
}

impl ServerRoutes {
    pub fn new(server: &Server) -> Self {
        let fallback = (!server.endpoints.is_empty()).then_some(Choice::Default);
        let marked = server.routes.iter().position(|route| route.lists).map(Choice::Route);
        let lists = marked.or_else(|| fallback.clone()).unwrap_or(Choice::None { params: Vec::new() });
        let mut routes = Self { params: Vec::new(), tried: Vec::new(), lists, fallback };
        for (index, route) in server.routes.iter().enumerate() {
            let conditions = route.when.iter().map(|condition| {
                let param = routes.param(&condition.header);
                (param, condition.patterns.clone())
            });
            let conditions = conditions.collect();
            routes.add(index, conditions);
        }
        routes
    }

    pub fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// Whether a route looks at this parameter (the part after `Mcp-Param-`; names compare without case).
    pub fn names_param(&self, header: &str) -> bool {
        self.params.iter().any(|param| param.header.eq_ignore_ascii_case(header))
    }

    /// The parameters that routes look at, as the file spells them.
    pub fn params(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|param| param.header.as_str())
    }

    /// The pool of a request by its parameters. `get` gives the decoded value of a parameter, whatever the case of its
    /// name; it is asked once for each parameter that routes look at.
    pub fn choose<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> Choice {
        let values: Vec<Option<&str>> = self.params.iter().map(|param| get(&param.header)).collect();
        let hashed = self.params.iter().zip(&values);
        let hashed = hashed.filter_map(|(param, value)| param.exact.get((*value)?).copied()).min();
        let before = self.tried.iter().take_while(|tried| hashed.is_none_or(|found| tried.route < found));
        let tried = before.into_iter().find(|tried| tried.matches(&values)).map(|tried| tried.route);
        match (tried.or(hashed), &self.fallback) {
            (Some(route), _) => Choice::Route(route),
            (None, Some(fallback)) => fallback.clone(),
            (None, None) => {
                let present = self.params.iter().zip(&values).filter(|(_, value)| value.is_some());
                Choice::None { params: present.map(|(param, _)| param.header.clone()).collect() }
            }
        }
    }

    /// The pool of lists and of every other request that cannot have parameters: the route marked `lists`, or the default
    /// pool. A checked configuration has one of the two.
    pub fn choose_without_params(&self) -> Choice {
        self.lists.clone()
    }

    fn param(&mut self, header: &str) -> usize {
        if let Some(index) = self.params.iter().position(|param| param.header.eq_ignore_ascii_case(header)) {
            return index;
        }
        self.params.push(Param { header: header.to_owned(), exact: HashMap::new() });
        self.params.len() - 1
    }

    fn add(&mut self, route: usize, mut conditions: Vec<(usize, Vec<Pattern>)>) {
        if let [(param, patterns)] = conditions.as_mut_slice()
            && let Some(param) = self.params.get_mut(*param)
        {
            patterns.retain(|pattern| match pattern.exact() {
                Some(value) => {
                    param.exact.entry(value.to_owned()).or_insert(route);
                    false
                }
                None => true,
            });
            if patterns.is_empty() {
                return;
            }
        }
        self.tried.push(Tried { route, conditions });
    }
}

impl Tried {
    fn matches(&self, values: &[Option<&str>]) -> bool {
        self.conditions.iter().all(|(param, patterns)| {
            let value = values.get(*param).copied().flatten();
            value.is_some_and(|value| patterns.iter().any(|pattern| pattern.matches(value)))
        })
    }
}
