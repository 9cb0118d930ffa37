//! The demo from the README: the three commands that it prints do what they say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

struct Demo {
    child: Child,
    commands: Vec<String>,
}

impl Demo {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-signpost"))
            .args(["demo", "--listen", &free_address(), "--admin", &free_address()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut commands: Vec<String> = Vec::new();
        let mut in_command = false;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.starts_with("curl ") {
                commands.push(String::new());
                in_command = true;
            }
            if in_command {
                let command = commands.last_mut().unwrap();
                command.push_str(&line);
                command.push('\n');
                in_command = !line.ends_with("}'");
            }
            if commands.len() == 3 && !in_command {
                break;
            }
        }
        Self { child, commands }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn paste(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output().unwrap();
    assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_commands_of_the_demo_do_what_they_say() {
    let demo = Demo::start();
    assert_eq!(demo.commands.len(), 3);
    let said: Vec<_> = demo.commands.iter().map(|command| paste(command)).collect();
    assert!(said[0].contains(r#"\"region\":\"us-west1\""#) && said[0].contains("HTTP status 200"), "{}", said[0]);
    assert!(said[1].contains(r#"\"region\":\"eu-west1\""#) && said[1].contains("HTTP status 200"), "{}", said[1]);
    assert!(said[2].contains("-32020") && said[2].contains("HTTP status 400"), "{}", said[2]);
    // What the README shows is what the demo says.
    let readme = include_str!("../README.md");
    for said in &said {
        let answer = said.lines().next().unwrap();
        assert!(readme.contains(answer), "the README does not show: {answer}");
    }
}
