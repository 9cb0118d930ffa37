//! Results on stdout.

use std::io::{ErrorKind, Write as _};

use super::Status;

/// Prints a result. A reader that has gone (`| head`) is no failure.
pub fn print(text: &str) -> Status {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => Status::Well,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Status::Well,
        Err(error) => {
            eprintln!("error: stdout cannot be written: {error}");
            Status::Failed
        }
    }
}
