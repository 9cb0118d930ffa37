//! The effective configuration as a file that would be read again.
use super::settings::Config;
pub fn dump(config: &Config) -> String {
    format!("{config:#?}")
}
