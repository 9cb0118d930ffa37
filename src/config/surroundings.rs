//! What a configuration takes from outside its file: environment variables and the files it names.

use std::io;
use std::path::{Path, PathBuf};

/// Where variables and files come from, so that tests need neither.
pub trait Surroundings {
    /// `None` if it is not set or not UTF-8.
    fn variable(&self, name: &str) -> Option<String>;

    /// The whole text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// This process and this machine.
#[derive(Clone, Debug)]
pub struct Machine {
    folder: PathBuf,
}

impl Machine {
    /// Paths that are not absolute start at the folder of this configuration file.
    pub fn beside(file: &Path) -> Self {
        Self { folder: file.parent().unwrap_or(Path::new("")).to_owned() }
    }
}

impl Surroundings for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(self.folder.join(path))
    }
}

/// A test's surroundings: no variables, no files.
#[cfg(test)]
pub(crate) struct Nothing;

#[cfg(test)]
impl Surroundings for Nothing {
    fn variable(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_beside_the_configuration() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let machine = Machine::beside(&folder.join("config/signpost.toml"));
        for path in
            [Path::new("signpost.toml"), Path::new("../config/signpost.toml"), &folder.join("config/signpost.toml")]
        {
            assert!(machine.read(path).expect("the example").contains("[gateway]"), "{}", path.display());
        }
        assert_eq!(machine.read(Path::new("nowhere")).map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn variables_are_those_of_the_process() {
        assert!(Machine::beside(Path::new("x")).variable("PATH").is_some_and(|path| !path.is_empty()));
        assert_eq!(Machine::beside(Path::new("x")).variable("MCP_SIGNPOST_NOT_SET"), None);
    }
}
