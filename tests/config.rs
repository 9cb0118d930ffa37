//! Every file of `tests/config` and every example of `config` is read; what comes of it must be what stands beside it.
//!
//! `bad/NAME.toml` has its complaints in `bad/NAME.expected`, `good/NAME.toml` its effective configuration in
//! `good/NAME.expected`. With `SIGNPOST_UPDATE=1` the expected files are written anew, and the test fails to say so.

#![allow(clippy::expect_used, clippy::panic)] // A test says what is wrong by panicking.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_signpost::config::{self, Config, Surroundings};

/// Variables and files as the files under test may expect them.
struct Imagined;

impl Surroundings for Imagined {
    fn variable(&self, name: &str) -> Option<String> {
        match name {
            "SQL_TOKEN" | "GITHUB_TOKEN" => Some("s3cr3t-of-the-environment".to_owned()),
            "FLEET" => Some("blue".to_owned()),
            "EMPTY" => Some(String::new()),
            "TWO_LINES" => Some("s3cr3t\ns3cr3t".to_owned()),
            _ => None,
        }
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        match path.to_str() {
            Some("empty") => Ok("\n".to_owned()),
            Some("two-lines") => Ok("s3cr3t\ns3cr3t\n".to_owned()),
            Some("locked") => Err(io::ErrorKind::PermissionDenied.into()),
            Some(path) if path.starts_with("/run/secrets/") => Ok("s3cr3t-of-a-file\n".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn toml_files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).expect(name).map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    assert!(!files.is_empty(), "no files in {name}");
    files
}

fn read(file: &Path) -> Result<Config, config::Complaints> {
    let text = fs::read_to_string(file).expect("the file");
    let origin = file.file_name().and_then(|name| name.to_str()).expect("a name");
    config::parse(&text, origin, &Imagined)
}

/// Compares, or writes; what differs is told.
fn hold_against(found: &str, file: &Path) -> Option<String> {
    let expected_file = file.with_extension("expected");
    assert!(!found.contains("s3cr3t"), "{} shows a secret:\n{found}", file.display());
    if fs::read_to_string(&expected_file).is_ok_and(|expected| expected == found) {
        return None;
    }
    let expected_file_name = expected_file.display();
    if std::env::var_os("SIGNPOST_UPDATE").is_some() {
        fs::write(&expected_file, found).expect("the expected file can be written");
        return Some(format!("{expected_file_name} was written: look at what changed"));
    }
    Some(format!("{expected_file_name} does not say what was found (if that is right, SIGNPOST_UPDATE=1):\n{found}"))
}

#[test]
fn bad_files_are_complained_about_as_expected() {
    let differences = toml_files("tests/config/bad").into_iter().filter_map(|file| match read(&file) {
        Ok(_) => Some(format!("{} was accepted", file.display())),
        Err(complaints) => hold_against(&complaints.to_string(), &file),
    });
    let differences: Vec<String> = differences.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn good_files_mean_what_is_expected() {
    let differences = toml_files("tests/config/good").into_iter().filter_map(|file| match read(&file) {
        Ok(config) => hold_against(&config::dump(&config), &file),
        Err(complaints) => Some(format!("{} was refused:\n{complaints}", file.display())),
    });
    let differences: Vec<String> = differences.collect();
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn the_examples_hold() {
    for file in toml_files("config") {
        if let Err(complaints) = read(&file) {
            panic!("{} was refused:\n{complaints}", file.display());
        }
    }
}

/// The dump is a file that means the same, so that it can be taken as one.
#[test]
fn a_dump_reads_back_as_itself() {
    for file in toml_files("tests/config/good").into_iter().chain(toml_files("config")) {
        let config = read(&file).unwrap_or_else(|complaints| panic!("{complaints}"));
        let dump = config::dump(&config);
        match config::parse(&dump, "dump", &Imagined) {
            Ok(again) => assert_eq!(config::dump(&again), dump, "{}", file.display()),
            Err(complaints) => panic!("the dump of {} does not hold:\n{complaints}\n{dump}", file.display()),
        }
    }
}

#[test]
fn no_debug_output_shows_a_secret() {
    for file in toml_files("tests/config/good").into_iter().chain(toml_files("config")) {
        let config = read(&file).unwrap_or_else(|complaints| panic!("{complaints}"));
        assert!(!format!("{config:?}").contains("s3cr3t"), "{}", file.display());
    }
}

/// Every name that the schema gives to a key.
fn key_names(schema: &serde_json::Value, found: &mut Vec<String>) {
    if let Some(properties) = schema.get("properties").and_then(serde_json::Value::as_object) {
        found.extend(properties.keys().cloned());
        properties.values().for_each(|property| key_names(property, found));
    }
    for inside in ["items", "additionalProperties"] {
        schema.get(inside).into_iter().for_each(|schema| key_names(schema, found));
    }
    let alternatives = schema.get("anyOf").and_then(serde_json::Value::as_array);
    alternatives.into_iter().flatten().for_each(|schema| key_names(schema, found));
}

#[test]
fn the_commented_example_and_the_full_file_name_every_key() {
    let mut names = Vec::new();
    key_names(&config::schema(), &mut names);
    assert!(names.len() > 40, "only {names:?}");
    let example = fs::read_to_string(folder("config/signpost.toml")).expect("the example");
    let full = fs::read_to_string(folder("tests/config/good/everything.toml")).expect("the full file");
    for name in names {
        assert!(example.contains(&name), "config/signpost.toml does not mention {name}");
        assert!(full.contains(&name) || name == "unauthenticated", "everything.toml does not use {name}");
    }
}

#[test]
fn the_commented_example_shows_the_defaults() {
    let text = fs::read_to_string(folder("config/signpost.toml")).expect("the example");
    let without_defaults =
        "[admin]\n[servers.github]\nendpoints = [\"http://10.0.0.7:9000/mcp\", \"http://10.0.0.8:9000/mcp\"]";
    let [example, bare] = [text.as_str(), without_defaults].map(|text| match config::parse(text, "x", &Imagined) {
        Ok(config) => config::dump(&config),
        Err(complaints) => panic!("{complaints}"),
    });
    assert_eq!(example, bare);
}

#[test]
fn the_schema_takes_what_the_check_takes() {
    let schema = config::schema();
    let validator = jsonschema::draft202012::new(&schema).expect("a lawful schema");
    for file in toml_files("tests/config/good").into_iter().chain(toml_files("config")) {
        let text = fs::read_to_string(&file).expect("the file");
        let value: serde_json::Value = toml::from_str(&text).expect("TOML");
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", file.display());
    }
}

#[test]
fn the_schema_refuses_unknown_keys_and_wrong_kinds() {
    let schema = config::schema();
    let validator = jsonschema::draft202012::new(&schema).expect("a lawful schema");
    for text in [
        "gatway = 1",
        "gateway = { lisen = [] }",
        "gateway = { threads = -1 }",
        "gateway = { shutdown_grace = \"25\" }",
        "servers.A = {}",
        "servers.a.authorization = \"stripped\"",
        "servers.a.headers = { X = { evn = \"a\" } }",
        "servers.a.routes = [{ name = \"us\" }]",
        "servers.a.routes = [{ name = \"us\", when = { R = 1 }, endpoints = [] }]",
    ] {
        let value: serde_json::Value = toml::from_str(text).expect("TOML");
        assert!(!validator.is_valid(&value), "{text} was accepted");
    }
}
