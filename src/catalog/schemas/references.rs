//! Knows every subschema of a schema and what its references mean.
//!
//! Must never look for a reference's target anywhere but in the schema and in the known meta-schemas.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use jsonschema::{Draft, ReferencingError, Registry, Retrieve, Uri, uri};
use serde_json::{Map, Value};

use super::fault::SchemaFault;
use super::graph::{Edge, Flaw, Graph, Node, Reach};
use super::{dialect, keywords, words};

/// The base of a schema that names none.
const BASE: &str = "json-schema:///";
/// How long a base may grow in bytes by identifiers within each other.
const MAX_BASE: usize = 4 * 1024;
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Retrieves nothing.
pub(super) struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err("schemas are never fetched".into())
    }
}

/// What applies what in a schema, once all references are known to lead somewhere and to end.
pub(super) fn survey(schema: &Value, draft: Draft) -> Result<Graph, SchemaFault> {
    let resource = draft.create_resource_ref(schema);
    let base = uri::from_str(resource.id().unwrap_or(BASE)).map_err(|error| unresolved(schema, &error))?;
    let registry = Registry::new()
        .draft(draft)
        .retriever(Nowhere)
        .add(base.as_str(), resource)
        .and_then(jsonschema::RegistryBuilder::prepare)
        .map_err(|error| unresolved(schema, &error))?;
    let mut surveyor = Surveyor::new(&registry);
    surveyor.enter(&Site { value: schema, base: Arc::new(base), draft, place: String::new() });
    surveyor.walk()?;
    surveyor.finish()
}

/// A subschema that was found.
#[derive(Clone)]
struct Site<'a> {
    value: &'a Value,
    base: Arc<Uri<String>>,
    draft: Draft,
    /// The JSON pointer to it, as far as it is known.
    place: String,
}

struct Surveyor<'a> {
    registry: &'a Registry<'a>,
    graph: Graph,
    sites: Vec<Site<'a>>,
    /// Subschemas by their address.
    known: HashMap<usize, usize>,
    /// For each dynamic anchor a node that applies whatever bears it.
    anchors: HashMap<String, usize>,
}

impl<'a> Surveyor<'a> {
    fn new(registry: &'a Registry<'a>) -> Self {
        Self { registry, graph: Graph::default(), sites: Vec::new(), known: HashMap::new(), anchors: HashMap::new() }
    }

    /// The node of a subschema, which is made if there is none.
    fn enter(&mut self, site: &Site<'a>) -> usize {
        let address = std::ptr::from_ref(site.value).addr();
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let node = self.add(keywords::node_of(site.value, site.draft), site.clone());
        self.known.insert(address, node);
        if let Some(anchor) = keywords::dynamic_anchor(site.value, site.draft) {
            let hub = self.hub(&anchor, site);
            self.link(hub, Reach::Either, node);
        }
        node
    }

    fn add(&mut self, node: Node, site: Site<'a>) -> usize {
        self.graph.nodes.push(node);
        self.sites.push(site);
        self.graph.nodes.len() - 1
    }

    fn hub(&mut self, anchor: &str, site: &Site<'a>) -> usize {
        if let Some(hub) = self.anchors.get(anchor) {
            return *hub;
        }
        // The site of a hub is only for its place: `null` has no keywords. What is found by it is not remembered.
        let hub = self
            .add(Node { weight: 1, referenced: true, ..Node::default() }, Site { value: &Value::Null, ..site.clone() });
        self.anchors.insert(anchor.to_owned(), hub);
        hub
    }

    fn link(&mut self, from: usize, reach: Reach, to: usize) {
        if let Some(node) = self.graph.nodes.get_mut(from) {
            node.edges.push(Edge { reach, to });
        }
    }

    /// First every subschema where the keywords have it, then where references lead, which may be elsewhere.
    fn walk(&mut self) -> Result<(), SchemaFault> {
        let (mut walked, mut resolved) = (0, 0);
        while resolved < self.sites.len() {
            while let Some(site) = self.sites.get(walked).cloned() {
                self.children(walked, &site)?;
                walked += 1;
            }
            if let Some(site) = self.sites.get(resolved).cloned() {
                self.references(resolved, &site)?;
            }
            resolved += 1;
        }
        Ok(())
    }

    fn children(&mut self, at: usize, site: &Site<'a>) -> Result<(), SchemaFault> {
        let Value::Object(members) = site.value else { return Ok(()) };
        let hidden = hides_siblings(members, site.draft);
        for child in keywords::children(members, site.draft) {
            let place = format!("{}/{}", site.place, child.place);
            let draft = dialect::of(child.value, site.draft, &place)?;
            let base = self.base_in(&site.base, child.value, draft).map_err(|error| fault(&place, &error))?;
            if base.as_str().len() > MAX_BASE {
                return Err(SchemaFault::new(&place, "its identifier grows too long"));
            }
            let to = self.enter(&Site { value: child.value, base, draft, place });
            if let Some(reach) = child.reach.filter(|_| !hidden) {
                self.link(at, reach, to);
            }
        }
        Ok(())
    }

    fn base_in(
        &self,
        base: &Arc<Uri<String>>,
        child: &Value,
        draft: Draft,
    ) -> Result<Arc<Uri<String>>, ReferencingError> {
        let resource = draft.create_resource_ref(child);
        if resource.id().is_none() {
            return Ok(Arc::clone(base));
        }
        Ok(self.registry.resolver(base.as_ref().clone()).in_subresource(resource)?.base_uri())
    }

    fn references(&mut self, at: usize, site: &Site<'a>) -> Result<(), SchemaFault> {
        let Value::Object(members) = site.value else { return Ok(()) };
        for keyword in REFERENCES.iter().filter(|keyword| site.draft.is_known_keyword(keyword)) {
            let Some(reference) = members.get(*keyword).and_then(Value::as_str) else { continue };
            let place = format!("{}/{keyword}", site.place);
            let registry: &'a Registry<'a> = self.registry;
            let found = registry
                .resolver(site.base.as_ref().clone())
                .lookup(reference)
                .map_err(|error| fault(&place, &error))?;
            let (value, resolver, inherited) = found.into_inner();
            let draft = dialect::of(value, inherited, &place)?;
            let base = resolver.base_uri();
            let to = self.enter(&Site { value, base, draft, place: place.clone() });
            if let Some(node) = self.graph.nodes.get_mut(to) {
                node.referenced = true;
            }
            let moving = (*keyword != "$ref").then(|| keywords::dynamic_anchor(value, draft)).flatten();
            let to = moving.map_or(to, |anchor| self.hub(&anchor, site));
            self.link(at, Reach::Here, to);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Graph, SchemaFault> {
        let (at, what) = match self.graph.settle() {
            Ok(()) => return Ok(self.graph),
            Err(Flaw::Endless(at)) => (at, "applies itself to the same value without end"),
            Err(Flaw::TooWide(at)) => (at, "applies too many subschemas to the same value"),
            Err(Flaw::TooDeep(at)) => (at, "applies subschemas too deep within each other to the same value"),
        };
        Err(SchemaFault::new(self.sites.get(at).map_or("", |site| &site.place), what))
    }
}

fn hides_siblings(members: &Map<String, Value>, draft: Draft) -> bool {
    dialect::reference_stands_alone(draft) && members.get("$ref").is_some_and(Value::is_string)
}

/// The same, where the place is still to be found: by the reference that the error is about.
fn unresolved(schema: &Value, error: &ReferencingError) -> SchemaFault {
    let about = match error {
        ReferencingError::Unretrievable { uri, .. } => uri.as_str(),
        ReferencingError::PointerToNowhere { pointer } => pointer,
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => anchor,
        _ => "",
    };
    fault(&place_of(schema, about).unwrap_or_default(), error)
}

fn fault(place: &str, error: &ReferencingError) -> SchemaFault {
    let what = match error {
        ReferencingError::Unretrievable { uri, .. } => {
            format!("refers to {}, which is outside the schema and is never fetched", words::clip(uri, 80))
        }
        ReferencingError::PointerToNowhere { pointer } => {
            format!("refers to {}, which is not in the schema", words::clip(pointer, 80))
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            format!("refers to the anchor {}, which is not in the schema", words::clip(anchor, 80))
        }
        other => words::clip(&other.to_string(), 120),
    };
    SchemaFault::new(&words::clip(place, 60), &what)
}

/// The place of the first reference whose target may be `about`.
fn place_of(schema: &Value, about: &str) -> Option<String> {
    let mut open = vec![(schema, String::new())];
    while let Some((value, place)) = open.pop() {
        let Value::Object(members) = value else {
            let items = value.as_array().into_iter().flatten().enumerate();
            open.extend(items.map(|(index, item)| (item, format!("{place}/{index}"))));
            continue;
        };
        for keyword in REFERENCES {
            let Some(reference) = members.get(keyword).and_then(Value::as_str) else { continue };
            let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
            let is_it = |part: &str| !part.is_empty() && about.ends_with(part);
            if is_it(document) || (document.is_empty() && is_it(fragment)) {
                return Some(format!("{place}/{keyword}"));
            }
        }
        let deeper = members.iter().map(|(name, member)| (member, format!("{place}/{}", keywords::escaped(name))));
        open.extend(deeper);
    }
    None
}
