//! The scanner against `serde_json` as the oracle, for the fuzz targets and the properties under `tests/`.

// The scanner uses nothing of the crate, and the crate with all it depends on would be built again for every
// sanitizer: so its source stands here by itself.
#[allow(dead_code, unused_imports)]
#[path = "../../src/scan/mod.rs"]
pub mod scan;

pub mod check;
pub mod oracle;
