//! How long an answer holds, and for whom ("server/utilities/caching"), and what of its head speaks against keeping it.

use std::time::Duration;

use http::header::{SET_COOKIE, VARY};
use http::{HeaderMap, HeaderName};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::protocol::Scope;

/// How long an answer holds, for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// When it came; of a list, its first page.
    pub received: Instant,
    /// Counted from `received`.
    pub ttl: Duration,
    pub scope: Scope,
}

/// What in an answer's head forbids to give it to others or to keep it, whatever its body says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hazards {
    /// It makes one client known.
    sets_cookies: bool,
    /// It is another one for whoever sends other credentials.
    varies: bool,
}

impl Freshness {
    /// What a result claims by its `ttlMs` and `cacheScope`.
    pub fn claimed(received: Instant, ttl: Option<&RawValue>, scope: Option<&RawValue>) -> Self {
        let scope: Option<String> = scope.and_then(|scope| serde_json::from_str(scope.get()).ok());
        let ttl = ttl.map_or(Duration::ZERO, |ttl| ttl_of(ttl.get()));
        Self { received, ttl, scope: Scope::parse(scope.as_deref()) }
    }

    /// "Each page has its own ttlMs": the one that expires first counts, and the narrowest scope.
    pub fn narrow(&mut self, page: &Self) {
        let left = page.received.saturating_duration_since(self.received).saturating_add(page.ttl);
        self.ttl = if page.ttl.is_zero() { Duration::ZERO } else { self.ttl.min(left) };
        if page.scope == Scope::Private {
            self.scope = Scope::Private;
        }
    }
}

/// Milliseconds; what is no whole number from 0 on counts as 0, what is too large as the largest.
fn ttl_of(text: &str) -> Duration {
    match text.parse::<u64>() {
        Ok(millis) => Duration::from_millis(millis),
        Err(_) if text.bytes().all(|byte| byte.is_ascii_digit()) => Duration::from_millis(u64::MAX),
        Err(_) => Duration::ZERO,
    }
}

impl Hazards {
    /// `credential_headers` identify a caller to the server.
    pub fn of(headers: &HeaderMap, credential_headers: &[HeaderName]) -> Self {
        let varying = headers.get_all(VARY).iter().filter_map(|value| value.to_str().ok());
        let mut varying = varying.flat_map(|names| names.split(',')).map(str::trim);
        Self {
            sets_cookies: headers.contains_key(SET_COOKIE),
            varies: varying.any(|name| identifies(name, credential_headers)),
        }
    }

    pub fn add(&mut self, other: Self) {
        self.sets_cookies |= other.sets_cookies;
        self.varies |= other.varies;
    }

    /// The scope that is left of the one that was claimed.
    pub fn narrowed(self, scope: Scope) -> Scope {
        if self.varies || self.sets_cookies { Scope::Private } else { scope }
    }

    /// Whether it may be given again at all, be it to the same caller.
    pub fn forbids_keeping(self) -> bool {
        self.sets_cookies
    }
}

fn identifies(name: &str, credential_headers: &[HeaderName]) -> bool {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    is("*") || is("authorization") || is("cookie") || credential_headers.iter().any(|header| is(header.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_speaks_against_sharing_and_against_keeping() {
        let own = [HeaderName::from_static("x-api-key")];
        for (pairs, scope, forbids) in [
            (&[][..], Scope::Public, false),
            (&[("vary", "Accept-Encoding, Origin")], Scope::Public, false),
            (&[("vary", "accept"), ("vary", "Accept, AUTHORIZATION")], Scope::Private, false),
            (&[("vary", "*")], Scope::Private, false),
            (&[("vary", "cookie")], Scope::Private, false),
            (&[("vary", "X-Api-Key")], Scope::Private, false),
            (&[("set-cookie", "a=b")], Scope::Private, true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            let hazards = Hazards::of(&headers, &own);
            assert_eq!((hazards.narrowed(Scope::Public), hazards.forbids_keeping()), (scope, forbids), "{pairs:?}");
            assert_eq!(hazards.narrowed(Scope::Private), Scope::Private);
        }
    }
}
