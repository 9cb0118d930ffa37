//! What a request's head and body must agree on, and whether they do.
//!
//! A [`Plan`] says which places of a body are looked at (one for each kind of method, one for each tool with annotated
//! parameters); a [`Verifier`] is fed the body as it comes and knows the verdict. Pure: no I/O, no clock. It must never
//! trust a header that it did not compare, and never judge by a value that it did not see whole.

mod fault;
mod peek;
mod plan;
mod verifier;

pub use fault::{BodySays, Fault};
pub use peek::Peek;
pub use plan::{Declared, Plan};
pub use verifier::{Edit, Reference, Referent, Verifier};

#[cfg(test)]
mod tests;
