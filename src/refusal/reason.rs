//! The reasons by which refusals are counted.

macro_rules! reasons {
    ($($reason:ident => $label:literal,)*) => {
        /// Why a request was refused, as a label of metrics and log lines.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($reason,)*
        }

        impl Reason {
            /// Every reason, so that each series is there from the start.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)*];

            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$reason => $label,)*
                }
            }
        }
    };
}

reasons! {
    Method => "method",
    Path => "path",
    ContentType => "content_type",
    ContentEncoding => "content_encoding",
    Accept => "accept",
    Origin => "origin",
    Host => "host",
    Framing => "framing",
    BodyTooLarge => "body_too_large",
    HeadTooLarge => "head_too_large",
    HeadTooSlow => "head_too_slow",
    BodyTooSlow => "body_too_slow",
    Unauthenticated => "unauthenticated",
    Overloaded => "overloaded",
    Connections => "connections",
    HeaderMismatch => "header_mismatch",
    Malformed => "malformed",
    NotARequest => "not_a_request",
    Meta => "meta",
    Version => "version",
    Notification => "notification",
    NoServer => "no_server",
    NoMethod => "no_method",
    NoRoute => "no_route",
    UndeclaredParameter => "undeclared_parameter",
    RulesUnavailable => "rules_unavailable",
    Cursor => "cursor",
    NamesUnavailable => "names_unavailable",
    Reference => "reference",
    Arguments => "arguments",
    ListUnavailable => "list_unavailable",
    Upstream => "upstream",
    Internal => "internal",
}
