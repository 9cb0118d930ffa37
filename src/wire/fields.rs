//! pingora's heads as the rules see them: fields that may be changed.

use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::http::{RequestHeader, ResponseHeader};

use crate::policy::Fields;

/// pingora keeps the spelling of names beside the map, so its own methods must be used. They fail for a name or a value
/// that is none, which a typed one is not.
macro_rules! fields {
    ($head:ty) => {
        impl Fields for $head {
            fn map(&self) -> &HeaderMap {
                &self.headers
            }

            fn remove(&mut self, name: &HeaderName) {
                self.remove_header(name);
            }

            fn set(&mut self, name: &HeaderName, value: HeaderValue) {
                let _ = self.insert_header(name.clone(), value);
            }

            fn add(&mut self, name: &HeaderName, value: HeaderValue) {
                let _ = self.append_header(name.clone(), value);
            }
        }
    };
}

fields!(RequestHeader);
fields!(ResponseHeader);
