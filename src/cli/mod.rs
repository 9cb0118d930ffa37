//! The command line: what each command reads, does and prints.
//!
//! Results go to stdout, messages to stderr; the exit status is one of [`Status`].

mod arguments;
mod check;
#[cfg(feature = "demo")]
mod demo;
mod diagnostics;
mod environment;
mod load;
mod out;
mod route;
mod serve;
mod tools;

use clap::Parser;

use arguments::{Arguments, Command};
use environment::Environment;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Well = 0,
    /// It failed while it ran.
    Failed = 1,
    /// It was called wrongly, or its configuration does not hold.
    Unusable = 2,
}

impl From<Status> for std::process::ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// Runs the command that the process was started with.
pub fn run() -> Status {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_help = !error.use_stderr();
            let _ = error.print();
            return if is_help { Status::Well } else { Status::Unusable };
        }
    };
    let environment = match Environment::read() {
        Ok(environment) => environment,
        Err(wrong) => {
            eprint!("{wrong}");
            return Status::Unusable;
        }
    };
    diagnostics::start(&environment.levels, environment.style);
    match arguments.command {
        Command::Serve(options) => serve::run(&options, &environment),
        Command::Check(options) => check::run(&options, &environment),
        Command::Route(options) => route::run(&options, &environment),
        Command::Tools(options) => tools::run(&options, &environment),
        #[cfg(feature = "demo")]
        Command::Demo(options) => demo::run(&options, &environment),
        Command::Schema => check::schema(),
    }
}
