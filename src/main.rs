//! The binary: one allocator, one call.

use std::process::ExitCode;

/// Measured on relayed calls: a fifth more requests per second than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    mcp_signpost::cli::run().into()
}
