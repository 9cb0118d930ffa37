//! The binary: one allocator, one call.

use std::process::ExitCode;

/// Made for many small blocks that are freed on other threads than they were taken on.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    mcp_signpost::cli::run().into()
}
