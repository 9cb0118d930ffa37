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
