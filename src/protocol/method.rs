//! The methods of the protocol that a gateway must tell apart.

/// Which member of `params` the header `Mcp-Name` mirrors ("Standard Request Headers"; for tasks, SEP-2663).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedBy {
    Name,
    Uri,
    TaskId,
}

impl NamedBy {
    pub fn member(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Uri => "uri",
            Self::TaskId => "taskId",
        }
    }
}

/// A request's method. `Other` is any text the protocol may grow: it is relayed where a server without a prefix takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    ToolsCall,
    ToolsList,
    PromptsGet,
    PromptsList,
    ResourcesRead,
    ResourcesList,
    ResourceTemplatesList,
    Discover,
    Complete,
    Listen,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    Other,
}

impl Method {
    pub const ALL: [Self; 14] = [
        Self::ToolsCall,
        Self::ToolsList,
        Self::PromptsGet,
        Self::PromptsList,
        Self::ResourcesRead,
        Self::ResourcesList,
        Self::ResourceTemplatesList,
        Self::Discover,
        Self::Complete,
        Self::Listen,
        Self::TasksGet,
        Self::TasksUpdate,
        Self::TasksCancel,
        Self::Other,
    ];

    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|method| method.label() == text && *method != Self::Other).unwrap_or(Self::Other)
    }

    /// The method's name; a closed set, so that it can be a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::ToolsCall => "tools/call",
            Self::ToolsList => "tools/list",
            Self::PromptsGet => "prompts/get",
            Self::PromptsList => "prompts/list",
            Self::ResourcesRead => "resources/read",
            Self::ResourcesList => "resources/list",
            Self::ResourceTemplatesList => "resources/templates/list",
            Self::Discover => "server/discover",
            Self::Complete => "completion/complete",
            Self::Listen => "subscriptions/listen",
            Self::TasksGet => "tasks/get",
            Self::TasksUpdate => "tasks/update",
            Self::TasksCancel => "tasks/cancel",
            Self::Other => "_OTHER",
        }
    }

    pub fn is_list(self) -> bool {
        matches!(self, Self::ToolsList | Self::PromptsList | Self::ResourcesList | Self::ResourceTemplatesList)
    }

    /// Whether its results may be kept and given again ("server/utilities/caching"), and are here. `resources/read` is not.
    pub fn is_kept(self) -> bool {
        self.is_list() || self == Self::Discover
    }

    pub fn named_by(self) -> Option<NamedBy> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some(NamedBy::Name),
            Self::ResourcesRead => Some(NamedBy::Uri),
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel => Some(NamedBy::TaskId),
            _ => None,
        }
    }
}

/// Whether this method announces itself as a notification: it has no id and gets no answer.
pub fn is_notification(method: &str) -> bool {
    method.starts_with("notifications/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_parses_to_its_method_and_case_counts() {
        for method in Method::ALL {
            assert_eq!(Method::parse(method.label()), method);
        }
        assert_eq!(Method::parse("Tools/Call"), Method::Other);
        assert_eq!(Method::parse(""), Method::Other);
    }

    #[test]
    fn named_methods_are_those_of_the_specification() {
        let named: Vec<_> = Method::ALL.iter().filter(|m| m.named_by().is_some()).collect();
        assert_eq!(named.len(), 6);
    }
}
