use std::collections::HashMap;
use std::time::{Duration, Instant};

use proptest::collection::{hash_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::config::{self, Config, Nothing};

use super::*;

fn config(text: &str) -> Config {
    config::parse(text, "test.toml", &Nothing).unwrap_or_else(|complaints| panic!("{complaints}"))
}

fn table(text: &str) -> Table {
    Table::new(&config(text))
}

const THREE: &str = r#"
    [servers.sql]
    endpoints = ["http://sql/mcp"]
    [servers.github]
    prefix = "gh-1"
    endpoints = ["http://github/mcp"]
    expose = false
    [servers.rest]
    prefix = ""
    endpoints = ["http://rest/mcp"]
"#;

const PREFIXED: &str = r#"
    servers.sql.endpoints = ["http://sql/mcp"]
    servers.b.endpoints = ["http://b/mcp"]
"#;

#[test]
fn doors_are_the_path_and_the_servers_below_it() {
    let with_path = |path: &str| table(&format!("gateway.path = \"{path}\"\n{THREE}"));
    for (mount, path, door) in [
        ("/mcp", "/mcp", Some(Door::Merged)),
        ("/mcp", "/mcp/", Some(Door::Merged)),
        ("/mcp/", "/mcp", Some(Door::Merged)),
        ("/mcp", "/mcp/sql", Some(Door::Server(0))),
        ("/mcp", "/mcp/sql/", Some(Door::Server(0))),
        ("/mcp", "/mcp/rest", Some(Door::Server(2))),
        ("/mcp", "/mcp/github", None),
        ("/mcp", "/mcp/gh-1", None),
        ("/mcp", "/mcp/nobody", None),
        ("/mcp", "/mcp/SQL", None),
        ("/mcp", "/mcp//", None),
        ("/mcp", "/mcp//sql", None),
        ("/mcp", "/mcp/sql//", None),
        ("/mcp", "/mcp/sql/x", None),
        ("/mcp", "/mcpx", None),
        ("/mcp", "/mcp?x", None),
        ("/mcp", "/MCP", None),
        ("/mcp", "/", None),
        ("/mcp", "", None),
        ("/a/b", "/a/b/sql", Some(Door::Server(0))),
        ("/a/b", "/a", None),
        ("/", "/", Some(Door::Merged)),
        ("/", "/sql", Some(Door::Server(0))),
        ("/", "/sql/", Some(Door::Server(0))),
        ("/", "//", None),
        ("/", "", None),
        ("/", "sql", None),
    ] {
        assert_eq!(with_path(mount).door(path), door, "{path} below {mount}");
    }
}

#[test]
fn names_find_their_servers() {
    let with_rest = table(THREE);
    let all_prefixed = table(PREFIXED);
    for (table, name, found) in [
        (&with_rest, "sql__query", Ok((0, "query"))),
        (&with_rest, "gh-1__x__y", Ok((1, "x__y"))),
        (&with_rest, "sql___x", Ok((0, "_x"))),
        (&with_rest, "sql__", Err(NoServer::EmptyBareName)),
        (&with_rest, "sql_query", Ok((2, "sql_query"))),
        (&with_rest, "github__query", Ok((2, "github__query"))),
        (&with_rest, "SQL__query", Ok((2, "SQL__query"))),
        (&with_rest, "__query", Ok((2, "__query"))),
        (&with_rest, "query", Ok((2, "query"))),
        (&with_rest, "café lookup", Ok((2, "café lookup"))),
        (&with_rest, "_sql__query", Ok((2, "_sql__query"))),
        (&with_rest, "", Err(NoServer::EmptyName)),
        (&all_prefixed, "b__query", Ok((1, "query"))),
        (&all_prefixed, "rest__query", Err(NoServer::UnknownPrefix)),
        (&all_prefixed, "__query", Err(NoServer::UnknownPrefix)),
        (&all_prefixed, "query", Err(NoServer::NoPrefix)),
        (&all_prefixed, "", Err(NoServer::EmptyName)),
    ] {
        assert_eq!(table.server(Door::Merged, name), found, "{name}");
    }
}

#[test]
fn at_a_servers_own_door_names_are_bare() {
    let table = table(THREE);
    for name in ["query", "sql__query", "gh-1__x", "__", "sql__"] {
        assert_eq!(table.server(Door::Server(0), name), Ok((0, name)));
    }
    assert_eq!(table.server(Door::Server(0), ""), Err(NoServer::EmptyName));
}

const ROUTES: &str = r#"
    [servers.sql]
    endpoints = ["http://default/mcp"]
    [[servers.sql.routes]]
    name = "us"
    when = { Region = ["us-west1", "us-east*"] }
    endpoints = ["http://us/mcp"]
    [[servers.sql.routes]]
    name = "acme"
    when = { region = "*", Tenant = "acme" }
    endpoints = ["http://acme/mcp"]
    [[servers.sql.routes]]
    name = "eu"
    when = { REGION = "eu-1" }
    endpoints = ["http://eu/mcp"]
    [[servers.sql.routes]]
    name = "empty"
    when = { Region = "" }
    endpoints = ["http://empty/mcp"]
"#;

fn choose(routes: &ServerRoutes, params: &[(&str, &str)]) -> Choice {
    let find =
        |header: &str| params.iter().find(|(name, _)| name.eq_ignore_ascii_case(header)).map(|(_, value)| *value);
    routes.choose(find)
}

#[test]
fn the_first_route_that_matches_wins() {
    let table = table(ROUTES);
    let routes = table.routes(0).expect("the server");
    for (params, choice) in [
        (vec![("Region", "us-west1")], Choice::Route(0)),
        (vec![("rEGION", "us-east4"), ("Tenant", "acme")], Choice::Route(0)),
        (vec![("Region", "eu-1"), ("TENANT", "acme")], Choice::Route(1)),
        (vec![("Region", "eu-1"), ("Tenant", "Acme")], Choice::Route(2)),
        (vec![("Region", "eu-1")], Choice::Route(2)),
        (vec![("Region", "")], Choice::Route(3)),
        (vec![("Region", "eu-2")], Choice::Default),
        (vec![("Tenant", "acme")], Choice::Default),
        (vec![("Other", "us-west1")], Choice::Default),
        (vec![], Choice::Default),
    ] {
        assert_eq!(choose(routes, &params), choice, "{params:?}");
    }
    assert_eq!(routes.choose_without_params(), Choice::Default);
    assert!(!routes.is_empty());
    assert_eq!(routes.params().collect::<Vec<_>>(), ["Region", "Tenant"]);
    assert!(routes.names_param("tenant") && routes.names_param("REGION") && !routes.names_param("Zone"));
}

#[test]
fn without_a_default_pool_nothing_may_match() {
    let text = ROUTES.replace(r#"endpoints = ["http://default/mcp"]"#, "");
    let table = table(&text.replace(r#"["http://eu/mcp"]"#, "[\"http://eu/mcp\"]\nlists = true"));
    let routes = table.routes(0).expect("the server");
    assert_eq!(choose(routes, &[("Region", "x")]), Choice::None { params: vec!["Region".to_owned()] });
    assert_eq!(choose(routes, &[("Zone", "x")]), Choice::None { params: vec![] });
    assert_eq!(routes.choose_without_params(), Choice::Route(2));
}

#[test]
fn a_server_without_routes_has_its_default_pool() {
    let table = table(THREE);
    let routes = table.routes(1).expect("the server");
    assert!(routes.is_empty() && !routes.names_param("Region"));
    assert_eq!(choose(routes, &[("Region", "x")]), Choice::Default);
    assert!(table.routes(3).is_none());
}

/// The definition: each route in order, each condition by its patterns.
fn choose_naively(config: &Config, params: &[(&str, &str)]) -> Choice {
    let server = &config.servers[0];
    let met = |route: &config::Route| {
        route.when.iter().all(|condition| {
            let value = params.iter().find(|(name, _)| name.eq_ignore_ascii_case(&condition.header));
            value.is_some_and(|(_, value)| condition.patterns.iter().any(|pattern| pattern.matches(value)))
        })
    };
    server.routes.iter().position(met).map_or(Choice::Default, Choice::Route)
}

/// `when` of some routes; a route that the check would refuse as shadowed may be among them.
fn drawn_routes() -> impl Strategy<Value = Vec<HashMap<String, Vec<String>>>> {
    vec(hash_map("[XYZ]", vec("[ab]{0,2}|[ab*]{0,3}", 1..4), 1..3), 0..8)
}

/// A configuration with these routes, put together past the check: `choose` must not rely on there being no shadows.
fn config_of(routes: &[HashMap<String, Vec<String>>]) -> Config {
    let mut config = config("servers.a.endpoints = [\"http://default/\"]");
    let template = self::config(ROUTES).servers.remove(0).routes.remove(0);
    let routes = routes.iter().enumerate().map(|(index, when)| {
        let conditions = when.iter().map(|(header, patterns)| config::Condition {
            header: header.clone(),
            patterns: patterns.iter().map(|text| config::Pattern::new(text).expect("lawful")).collect(),
        });
        config::Route { name: format!("r{index}"), when: conditions.collect(), ..template.clone() }
    });
    config.servers[0].routes = routes.collect();
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn choosing_is_the_definition(
        routes in drawn_routes(),
        x in option::of("[abc]{0,3}"),
        y in option::of("[abc]{0,3}"),
        z in option::of("[abc]{0,3}"),
    ) {
        let config = config_of(&routes);
        let table = Table::new(&config);
        let params = [("x", x), ("Y", y), ("z", z)];
        let params: Vec<(&str, &str)> = params.iter().filter_map(|(n, v)| v.as_deref().map(|v| (*n, v))).collect();
        let choice = choose_naively(&config, &params);
        prop_assert_eq!(choose(table.routes(0).expect("the server"), &params), choice.clone());

        let params: Vec<(String, String)> = params.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let asked = Asked { door: Door::Merged, method: "tools/call", name: "a__x", params: &params };
        prop_assert_eq!(table.explain(&config, &asked).choice(&config.servers[0]), Some(choice));
    }

    #[test]
    fn a_prefixed_name_comes_back_bare(bare in "\\PC{1,20}", server in 0_usize..2) {
        let table = table(PREFIXED);
        let name = format!("{}__{bare}", ["sql", "b"][server]);
        prop_assert_eq!(table.server(Door::Merged, &name), Ok((server, bare.as_str())));
    }

    #[test]
    fn what_comes_back_is_the_end_of_the_name(name in "(sql|gh-1|x)?_{0,3}\\PC{0,8}") {
        let table = table(THREE);
        match table.server(Door::Merged, &name) {
            Ok((2, bare)) => prop_assert_eq!(bare, name.as_str()),
            Ok((server, bare)) => {
                prop_assert!(!bare.is_empty());
                prop_assert_eq!(format!("{}__{bare}", ["sql", "gh-1"][server]), name);
            }
            Err(NoServer::EmptyName) => prop_assert_eq!(name, ""),
            Err(NoServer::EmptyBareName) => prop_assert!(name == "sql__" || name == "gh-1__"),
            Err(other) => prop_assert!(false, "{other} although one server has no prefix"),
        }
    }
}

/// The shortest of several runs, so that a busy machine does not matter.
fn shortest(mut run: impl FnMut()) -> Duration {
    let once = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..1_000).for_each(|_| run());
        start.elapsed()
    };
    (0..20).map(|_| once(&mut run)).min().expect("twenty")
}

#[test]
fn a_thousand_routes_cost_about_what_ten_do() {
    let routes = |count: usize| -> Vec<_> {
        (0..count).map(|index| HashMap::from([("X".to_owned(), vec![format!("v{index}")])])).collect()
    };
    let (few, many) = (Table::new(&config_of(&routes(10))), Table::new(&config_of(&routes(1_000))));
    let time = |table: &Table, value: &str, expected: Choice| {
        let routes = table.routes(0).expect("the server");
        shortest(|| assert_eq!(choose(routes, &[("x", value)]), expected))
    };
    let few = time(&few, "v9", Choice::Route(9));
    let many = time(&many, "v999", Choice::Route(999));
    assert!(many < few * 10, "10 routes: {few:?}, 1,000 routes: {many:?} for 1,000 choices");
}

#[test]
fn many_servers_cost_about_what_ten_do() {
    let servers = |count: usize| {
        let mut config = config("servers.s.endpoints = [\"http://a/\"]");
        let template = config.servers.remove(0);
        let server = |index| config::Server { prefix: format!("s{index}"), ..template.clone() };
        config.servers = (0..count).map(server).collect();
        Table::new(&config)
    };
    let (few, many) = (servers(10), servers(20_000));
    let time = |table: &Table, name: &str, index: usize| {
        shortest(|| assert_eq!(table.server(Door::Merged, name), Ok((index, "x"))))
    };
    let (few, many) = (time(&few, "s9__x", 9), time(&many, "s19999__x", 19_999));
    assert!(many < few * 10, "10 servers: {few:?}, 20,000 servers: {many:?} for 1,000 names");
}

#[test]
fn explanations_say_what_was_passed_over_and_why() {
    let config = config(ROUTES);
    let table = Table::new(&config);
    let params = [("Zone", "1"), ("region", "eu-1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let explain = |door, method, name| table.explain(&config, &Asked { door, method, name, params: &params });

    let call = explain(Door::Merged, "tools/call", "sql__query");
    let expected = "\
tools/call `sql__query` at /mcp
  server    `sql`, whose prefix is `sql`; the name there is `query`
  route     `us` passed over: it wants Region to be `us-west1` or `us-east*`, and it is `eu-1`
  route     `acme` passed over: it wants Tenant to be `acme`, and there is no Tenant
  route     `eu` matches: REGION is `eu-1`, which `eu-1` matches
  param     `Zone`: no route looks at it
  pool      of route `eu`: the first route that matches
  endpoint  http://eu/mcp
";
    assert_eq!(call.to_string(), expected);

    let unknown = explain(Door::Merged, "tools/call", "other__query");
    let expected = "\
tools/call `other__query` at /mcp
  server    none: what stands before the first `__` is no server's prefix; the prefixes are `sql`
  pool      none: the name is unknown: error -32602
";
    assert_eq!(unknown.to_string(), expected);

    let prompt = explain(Door::Server(0), "prompts/get", "review");
    let expected = "\
prompts/get `review` at /mcp/sql
  server    `sql`, by its own path; the name there is `review`
  param     `Zone`: no route looks at it
  pool      the default one: prompts/get has no parameters
  endpoint  http://default/mcp
";
    assert_eq!(prompt.to_string(), expected);

    let list = explain(Door::Merged, "tools/list", "");
    let expected = "\
tools/list `` at /mcp
  server    the gateway itself, for the servers behind this path
  pool      none: none is chosen: the answer is put together from what the servers last said
";
    assert_eq!(list.to_string(), expected);
}

#[test]
fn a_hidden_tool_goes_nowhere() {
    let config = config(&format!("{ROUTES}\n[servers.other]\nendpoints = [\"http://o/\"]\ntools.deny = [\"drop_*\"]"));
    let asked = |method| Asked { door: Door::Merged, method, name: "other__drop_all", params: &[] };
    let explain = |method| Table::new(&config).explain(&config, &asked(method));
    assert_eq!(explain("tools/call").pool, Pool::None { why: "the server's `tools` hide it: error -32602".into() });
    assert!(matches!(explain("prompts/get").pool, Pool::Default { .. }), "prompts are not hidden");
}

#[test]
fn explanations_are_json_too() {
    let config = config(ROUTES);
    let params = [("Region".to_owned(), "us-west1".to_owned())];
    let asked = Asked { door: Door::Merged, method: "tools/call", name: "sql__query", params: &params };
    let json = serde_json::to_value(Table::new(&config).explain(&config, &asked)).expect("JSON");
    let expected = serde_json::json!({
        "method": "tools/call",
        "name": "sql__query",
        "path": "/mcp",
        "server": { "by": "prefix", "server": "sql", "prefix": "sql", "bare": "query" },
        "routes": [{ "route": "us", "matches": true, "why": "Region is `us-west1`, which `us-west1` matches" }],
        "unused_params": [],
        "pool": { "pool": "route", "route": "us", "why": "the first route that matches" },
        "endpoints": ["http://us/mcp"],
    });
    assert_eq!(json, expected);
}
