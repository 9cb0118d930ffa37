//! Header fields that rules may change, whatever holds them.

use http::{HeaderMap, HeaderName, HeaderValue};

/// A message's header fields.
pub trait Fields {
    fn map(&self) -> &HeaderMap;

    /// Takes off every field of this name.
    fn remove(&mut self, name: &HeaderName);

    /// Puts one field in the place of all of this name.
    fn set(&mut self, name: &HeaderName, value: HeaderValue);

    /// Adds a field to those of this name.
    fn add(&mut self, name: &HeaderName, value: HeaderValue);

    /// Takes off every field whose name is one of these.
    fn remove_all(&mut self, is_one: impl Fn(&HeaderName) -> bool) {
        let names: Vec<HeaderName> = self.map().keys().filter(|name| is_one(name)).cloned().collect();
        for name in &names {
            self.remove(name);
        }
    }
}

impl Fields for HeaderMap {
    fn map(&self) -> &HeaderMap {
        self
    }

    fn remove(&mut self, name: &HeaderName) {
        HeaderMap::remove(self, name);
    }

    fn set(&mut self, name: &HeaderName, value: HeaderValue) {
        self.insert(name, value);
    }

    fn add(&mut self, name: &HeaderName, value: HeaderValue) {
        self.append(name, value);
    }
}
