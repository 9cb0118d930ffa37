//! Why a list, or what the servers are, cannot be told.

use super::{Exhausted, Refusal};
use crate::catalog::merged::NoListing;
use crate::catalog::offer::{Failure, Question};
use crate::protocol::code;

impl Refusal {
    pub fn of_listing(question: Question, none: NoListing) -> Self {
        match none {
            NoListing::Overloaded => Self::Overloaded(Exhausted::Variants),
            NoListing::NoMethod => Self::NoMethod { method: question.method().label().to_owned() },
            NoListing::Failed { server, failure, all_unauthorized } => match &*failure {
                Failure::Unauthorized { status, challenge } if all_unauthorized => {
                    Self::ListUnauthorized { status: *status, challenge: challenge.clone() }
                }
                Failure::Overloaded => Self::Overloaded(Exhausted::Variants),
                Failure::Said { code: said, message } => Self::ListRefused {
                    code: i32::try_from(*said).unwrap_or(code::LIST_UNAVAILABLE),
                    message: format!("server {server}: {message}"),
                },
                failure => Self::ListUnavailable {
                    server: server.to_string(),
                    why: failure.to_string(),
                    is_late: *failure == Failure::Silent,
                },
            },
        }
    }
}
