"""Terms and names: the only place that mints an IRI.

``KG`` holds the terms of ``ontologies/kgrag.ttl``; ``Names`` makes the IRIs of one knowledge base from its base IRI.
Everything that is derived from content is named by a prefix of the SHA-256 of that content, so that the same
content ingested twice has the same name.

>>> KG.Chunk.value
'https://w3id.org/kgrag/ns#Chunk'
>>> Names("urn:kgrag:").hypernode("Crop name", "Soybean").value
'urn:kgrag:hypernode/4cf0b6437955f55d6835'
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

import pyoxigraph as ox

from kgrag.errors import InvalidSettings

__all__ = [
    "AUDIT",
    "CHECK",
    "CITO",
    "DCTERMS",
    "DEFAULT_BASE",
    "KG",
    "KGV",
    "METADATA",
    "OWL",
    "PREFIXES",
    "PROV",
    "RDF",
    "RDFS",
    "SCHEMA_VERSION",
    "SD",
    "SEC",
    "SH",
    "VOID",
    "XSD",
    "Names",
    "digest",
    "local_name",
    "number",
    "words_of",
]

DEFAULT_BASE = "urn:kgrag:"
SCHEMA_VERSION = 1
_HASH_LENGTH = 20


class _Namespace:
    """Terms of one vocabulary as attributes; only the listed ones exist, so a misspelt term is an error at once."""

    def __init__(self, prefix: str, terms: str) -> None:
        self._terms = {term: ox.NamedNode(prefix + term) for term in terms.split()}
        self.__dict__.update(self._terms)  # found without a call, as they are looked up for each quad that is written
        self.prefix = prefix

    def __getattr__(self, term: str) -> ox.NamedNode:
        raise AttributeError(f"{self.prefix}{term} is not a term that kgrag uses. Add it to kgrag/vocab.py.")

    def all(self) -> dict[str, ox.NamedNode]:
        """Return every term by its local name."""
        return dict(self._terms)


AUDIT = _Namespace(
    "https://w3id.org/kgrag/audit#",
    # a check, and its own description
    "Check Off among anchor caution conforming fix mend query rationale severity severityIn shape step together "
    "violating "
    # a report: what has no verdict
    "UndecidedCheck notDecided "
    # the context graph's statements about the terms of an ontology
    "AuditedOntology DeprecatedTerm ForeignTerm LiveAnnotationProperty LiveClass LiveConcept LiveDatatypeProperty "
    "LiveIndividual LiveObjectProperty LiveProperty LiveTerm Module OwnTerm ReservedTerm SeparateOntology Term "
    "AnnotationPropertyTerm ClassTerm ConceptTerm DatatypePropertyTerm DatatypeTerm IndividualTerm ObjectPropertyTerm "
    "PropertyTerm SchemeTerm TermKind "
    "defines definition domain kind label localName namespace normalLabel range reserves synonym "
    # the graphs of the scratch store: what is audited, and statements about it
    "target context",
)
CHECK = _Namespace(
    "https://w3id.org/kgrag/check#",
    # what a query graph speaks of
    "Aggregate Call Comparison IdleMinus IllTyped Offer Problem Request Selection UndoneOptional Use Variable "
    "bound constant datatype example family form function kind name object operator predicate reach role "
    "scope separate service subject together type variable "
    # an ontology graph's and a data graph's statements about the query's terms
    "Class Datatype DatatypeProperty Deprecated Misfit ObjectProperty Property absent disjoint incompatible instances "
    "instead remedy repeats unused within",
)
KG = _Namespace(
    "https://w3id.org/kgrag/ns#",
    # things
    "AdjacencyEdge Answer Build Chunk Citation CitationEdge CitationMarker Conversation CrossReferenceEdge Document "
    "Edge Entity Feedback HyperlinkEdge Hypernode HypernodeKey HypernodeValue KnowledgeBase MappedRecord Proposal "
    "Proposition Publication QueryParameter Rewrite SavedQuery ShortAnswer Source Statement TextIndex TreeNode "
    "UnsupportedSentence VectorSpace "
    # kinds of named graph
    "Graph AnswerGraph AssertionGraph AuditGraph CatalogueGraph CitationGraph DataGraph DocumentGraph FeedbackGraph "
    "HyperedgeGraph HypernodeGraph IndexGraph InferenceGraph LexicalGraph OntologyGraph PropositionGraph ProposalGraph "
    "ProfileGraph ProvenanceGraph "
    "QuarantineGraph QueryGraph TreeGraph TripleGraph "
    # properties
    "about anchors asked baseIRI byUpdate checksum cites comment completions confidence content contentHash "
    "decision default "
    "derived dropped end forgets fromChunk hasChild heading headingBreak inputTokens intendedGraph intendedKind key "
    "keyTerm languageTag layer leaves leftOut level lexicalDatatype lexicalForm lineage link location marker mentions "
    "method "
    "missing model notResolved notStated onProperty order outputTokens page pageBreak parameters promptHash "
    "publication queryText question quote readFrom removedKind revision root schemaVersion sentence size sourceKind "
    "sparql stale start synced takes targetGraphKind text toChunk tokens topic turn undone unfinishedSince unit "
    "unknown unresolved url value valueKind valueTerm verdict violation weight yields "
    # of the data profile
    "datatype objectPartition sample subjectPartition",
)
METADATA = "https://w3id.org/kgrag/metadata/"
"""What the metadata fields of documents that have no property of their own are named under."""
KGV = _Namespace("https://w3id.org/kgrag/vector#", "fused matches near similarity")
RDF = _Namespace(
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "type subject predicate object Property first rest nil langString dirLangString value",
)
RDFS = _Namespace(
    "http://www.w3.org/2000/01/rdf-schema#",
    "Class Datatype Literal Resource comment domain isDefinedBy label range seeAlso subClassOf subPropertyOf",
)
OWL = _Namespace(
    "http://www.w3.org/2002/07/owl#",
    "AllDisjointClasses AnnotationProperty Class DatatypeProperty NamedIndividual Nothing ObjectProperty Ontology "
    "Thing deprecated disjointUnionOf disjointWith equivalentClass equivalentProperty hasKey imports intersectionOf "
    "inverseOf members onDatatype oneOf sameAs unionOf versionIRI versionInfo",
)
XSD = _Namespace(
    "http://www.w3.org/2001/XMLSchema#", "string integer decimal double boolean date dateTime gYear gYearMonth"
)
PROV = _Namespace(
    "http://www.w3.org/ns/prov#",
    "Activity Entity endedAtTime startedAtTime used wasDerivedFrom wasGeneratedBy",
)
DCTERMS = _Namespace(
    "http://purl.org/dc/terms/", "created creator format hasPart identifier isPartOf language references source title"
)
CITO = _Namespace("http://purl.org/spar/cito/", "cites")
SD = _Namespace(
    "http://www.w3.org/ns/sparql-service-description#",
    "Dataset EmptyGraphs Graph SPARQL11Query SPARQL11Update SPARQL12Query Service UnionDefaultGraph "
    "defaultDataset defaultGraph endpoint extensionFunction feature inputFormat resultFormat supportedLanguage",
)
SEC = _Namespace(
    "https://w3id.org/security#",
    "DataIntegrityProof assertionMethod cryptosuite cryptosuiteString multibase proof proofPurpose proofValue "
    "verificationMethod",
)
SH = _Namespace(
    "http://www.w3.org/ns/shacl#",
    "NodeShape PropertyShape SPARQLAskExecutable SPARQLConstructExecutable SPARQLExecutable SPARQLSelectExecutable ask "
    "construct select",
)
VOID = _Namespace(
    "http://rdfs.org/ns/void#",
    "Dataset class classPartition classes distinctSubjects entities properties property propertyPartition triples",
)

PREFIXES: dict[str, str] = {
    "dcterms": DCTERMS.prefix,
    "kg": KG.prefix,
    "kgm": METADATA,
    "kgv": KGV.prefix,
    "owl": OWL.prefix,
    "prov": PROV.prefix,
    "rdf": RDF.prefix,
    "rdfs": RDFS.prefix,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "void": VOID.prefix,
    "xsd": XSD.prefix,
}
"""Declared for every query and update of a user's, unless it declares them itself."""


def digest(*parts: str) -> str:
    """Name content: the first 20 hex digits of the SHA-256 of the parts, each preceded by its length.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        sha.update(f"{len(data)}:".encode())
        sha.update(data)
    return sha.hexdigest()[:_HASH_LENGTH]


def local_name(iri: str) -> str:
    """Return what follows the last ``#``, ``/`` or ``:`` of an IRI or prefixed name.

    >>> local_name("http://crop-cultivation.org/Crop"), local_name("snap:asset"), local_name("Crop")
    ('Crop', 'asset', 'Crop')
    """
    return (stripped := iri.rstrip("#/:"))[max(map(stripped.rfind, "#/:")) + 1 :]


def words_of(name: str) -> str:
    """Spell an identifier as lower-case words, for comparing labels with local names.

    >>> words_of("hasGrowing_zones")
    'has growing zones'
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return " ".join(re.sub(r"[_\W]+", " ", spaced).lower().split())


def number(value: int) -> ox.Literal:
    """Return a canonical xsd:integer, the only integer datatype that the store does not rewrite."""
    return ox.Literal(str(value), datatype=XSD.integer)


@dataclass(frozen=True, slots=True)
class Names:
    """The IRIs of one knowledge base; ``base`` ends in ``:``, ``/`` or ``#``."""

    base: str = DEFAULT_BASE

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*", self.base) or self.base[-1] not in ":/#":
            message = (
                f"base IRI {self.base!r} is not an absolute IRI that ends in ':', '/' or '#'. Use e.g. {DEFAULT_BASE}"
            )
            raise InvalidSettings(message)

    def _iri(self, kind: str, name: str) -> ox.NamedNode:
        return ox.NamedNode(f"{self.base}{kind}/{name}")

    def mint(self, kind: str, *content: str) -> ox.NamedNode:
        """Return the IRI of something of a kind, by its content: the same content always has the same name.

        Args:
            kind: what it is, in lower case, with ``/`` between parts: "hippo-phrase", "graph/hippo-facts".
            content: texts that make it what it is.

        Raises:
            ValueError: the kind has other characters than ``a-z``, ``0-9``, ``-`` and ``/``.

        >>> Names("urn:x:").mint("graph/hippo-facts", "urn:chunk").value
        'urn:x:graph/hippo-facts/ea2c0e61d9679e14054f'
        """
        if not re.fullmatch(r"[a-z][a-z0-9-]*(/[a-z][a-z0-9-]*)*", kind):
            raise ValueError(f"{kind!r} is no kind of name. Use a-z, 0-9, '-' and '/', a letter first.")
        return self._iri(kind, digest(*content))

    @property
    def catalogue(self) -> ox.NamedNode:
        """The graph that describes every named graph."""
        return self._iri("graph", "catalogue")

    @property
    def provenance(self) -> ox.NamedNode:
        """The graph of PROV-O activities."""
        return self._iri("graph", "provenance")

    @property
    def hypernodes(self) -> ox.NamedNode:
        """The graph that lists each hypernode of OG-RAG once, with the terms its key and value are embedded under."""
        return self._iri("graph", "hypernodes")

    @property
    def profile_graph(self) -> ox.NamedNode:
        """The graph of what the facts have: classes, and properties as they are used."""
        return self._iri("graph", "profile")

    def profile_part(self, *content: str) -> ox.NamedNode:
        """A part of the data profile, by what it is about."""
        return self._iri("profile", digest(*content))

    @property
    def knowledge_base(self) -> ox.NamedNode:
        """The knowledge base itself, subject of schema version and base IRI."""
        return ox.NamedNode(f"{self.base}knowledge-base")

    def space(self, name: str) -> ox.NamedNode:
        """A vector space."""
        return self._iri("space", name)

    def build(self, method: str) -> ox.NamedNode:
        """The building of a method, by the method's name."""
        return self._iri("build", quote(method, safe=""))

    def publication(self, revision: int) -> ox.NamedNode:
        """One change of the store."""
        return self._iri("publication", str(revision))

    def document(self, text: str, title: str, *fields: str) -> ox.NamedNode:
        """A document, by its text, its title and whatever else is stored of it."""
        return self._iri("document", digest(title, text, *fields))

    def document_graph(self, document: ox.NamedNode) -> ox.NamedNode:
        """The graph of a document and its chunks."""
        return self._iri("graph/document", local_name(document.value))

    def chunk(self, document: ox.NamedNode, start: int, end: int) -> ox.NamedNode:
        """A span of a document."""
        return self._iri("chunk", f"{local_name(document.value)}-{start}-{end}")

    def assertion_graph(self, *content: str) -> ox.NamedNode:
        """The graph of what one extraction states, by what it was extracted from and with."""
        return self._iri("graph/assertion", digest(*content))

    def instance(self, *content: str) -> ox.NamedNode:
        """An individual that an extraction describes, in place of a blank node."""
        return self._iri("instance", digest(*content))

    def hypernode(self, key: str, value: str) -> ox.NamedNode:
        """A hypernode, by key and value as text."""
        return self._iri("hypernode", digest(key, value))

    def hypernode_key(self, key: str) -> ox.NamedNode:
        """A distinct key of hypernodes."""
        return self._iri("hypernode-key", digest(key))

    def hypernode_value(self, value: str) -> ox.NamedNode:
        """A distinct value of hypernodes."""
        return self._iri("hypernode-value", digest(value))

    def hyperedge(self, nodes: Iterable[tuple[str, str]]) -> ox.NamedNode:
        """A hyperedge, which is a named graph, by its set of (key, value) pairs in whatever order."""
        flat = [part for pair in sorted(nodes) for part in pair]
        return self._iri("hyperedge", digest("hyperedge", *flat))

    def minted_property(self, name: str) -> ox.NamedNode:
        """A property for a key that the ontology does not have."""
        return self._iri("property", quote(name, safe=""))

    def minted_class(self, name: str) -> ox.NamedNode:
        """A class for a type that the ontology does not have."""
        return self._iri("class", quote(name, safe=""))

    def loaded_graph(self, content: str) -> ox.NamedNode:
        """The graph of loaded RDF that names no ontology, by its content."""
        return self._iri("graph/data", digest(content))

    def is_loaded_graph(self, graph: ox.NamedNode) -> bool:
        """Whether a graph is named by the content of loaded RDF."""
        return graph.value.startswith(f"{self.base}graph/data/")

    def triple_graph(self, source: ox.NamedNode) -> ox.NamedNode:
        """The graph of the triples that one chunk states, for the knowledge-graph layer of a pyramid."""
        return self._iri("graph/triples", local_name(source.value))

    def instance_graph(self, source: ox.NamedNode) -> ox.NamedNode:
        """The graph of the instances that one chunk states, for the ontology layer of a pyramid."""
        return self._iri("graph/instances", local_name(source.value))

    def layer_graph(self, layer: str) -> ox.NamedNode:
        """A graph that a pyramid has one of: ``condensed``, ``schema``, ``proposals``, ``aliases``."""
        return self._iri("graph/layer", layer)

    def statement(self, *content: str) -> ox.NamedNode:
        """A triple of the knowledge-graph layer with an IRI of its own, by its source and what it states."""
        return self._iri("statement", digest(*content))

    def proposal(self, *content: str) -> ox.NamedNode:
        """A proposed triple, by what it states."""
        return self._iri("proposal", digest(*content))

    def is_own_graph(self, graph: str, kinds: Iterable[object]) -> bool:
        """Whether kgrag writes a graph itself: of such a kind or, where the catalogue lists none, with such a name.

        >>> Names("urn:x:").is_own_graph("urn:x:graph/mapped", [KG.DataGraph])
        False
        """
        if listed := set(kinds):
            return not listed <= {KG.DataGraph, KG.OntologyGraph}
        is_minted = graph.startswith((f"{self.base}graph/", f"{self.base}hyperedge/"))
        return is_minted and not graph.startswith(f"{self.base}graph/data/")

    @property
    def default_data(self) -> ox.NamedNode:
        """The graph that takes what an update writes outside every named graph."""
        return self._iri("graph/data", "default")

    @property
    def competency_questions(self) -> ox.NamedNode:
        """The graph of the competency questions that were read from a file of questions with queries."""
        return self._iri("graph/data", "competency-questions")

    def competency(self, question: str, sparql: str) -> ox.NamedNode:
        """A competency question, by its words and its query."""
        return self._iri("competency", digest(question, sparql))

    def row(self, *content: str) -> ox.NamedNode:
        """A row of a query's result, by the query and the row's terms."""
        return self._iri("row", digest(*content))

    def lexical_graph(self, graph: str) -> ox.NamedNode:
        """The graph of the literals of another graph as they were written, where the store rewrites them."""
        return self._iri("graph/lexical", digest(graph))

    def lexical(self, *content: str) -> ox.NamedNode:
        """A literal as it was written, by its graph and triple."""
        return self._iri("lexical", digest(*content))

    def proposition_graph(self, chunk: ox.NamedNode) -> ox.NamedNode:
        """The graph of the propositions that one chunk states."""
        return self._iri("graph/proposition", local_name(chunk.value))

    def proposition(self, *content: str) -> ox.NamedNode:
        """A proposition, by its chunk, its place there and its words."""
        return self._iri("proposition", digest(*content))

    def entity(self, name: str) -> ox.NamedNode:
        """An entity that propositions mention, by its name in normal form."""
        return self._iri("entity", digest(name))

    def tree_graph(self, tree: str) -> ox.NamedNode:
        """The graph of a summary tree, by what its leaves are grouped by."""
        return self._iri("graph/tree", tree)

    def tree_node(self, *content: str) -> ox.NamedNode:
        """A node of a summary tree, by its level, its words and its children."""
        return self._iri("tree-node", digest(*content))

    def citation_graph(self, document: ox.NamedNode) -> ox.NamedNode:
        """The graph of the edges that begin in one document."""
        return self._iri("graph/citations", local_name(document.value))

    def edge(self, kind: str, origin: str, target: str) -> ox.NamedNode:
        """An edge of the citation graph, by its kind and the chunks that it joins."""
        return self._iri("edge", digest(kind, origin, target))

    def quarantine_graph(self, graph: str, content: str) -> ox.NamedNode:
        """The graph of what failed its shape."""
        return self._iri("graph/quarantine", digest(graph, content))

    def activity(self, *content: str) -> ox.NamedNode:
        """A PROV activity, by what it did."""
        return self._iri("activity", digest(*content))

    def answer_graph(self, *content: str) -> ox.NamedNode:
        """The graph of a kept answer."""
        return self._iri("graph/answer", digest(*content))

    def citation(self, *content: str) -> ox.NamedNode:
        """A citation of a kept answer."""
        return self._iri("citation", digest(*content))

    def audit_graph(self, *content: str) -> ox.NamedNode:
        """The graph of a kept audit."""
        return self._iri("graph/audit", digest(*content))

    def audit(self, *content: str) -> ox.NamedNode:
        """A kept audit, by target, profile and what was found."""
        return self._iri("audit", digest(*content))

    def inference_graph(self, profile: str, *sources: str) -> ox.NamedNode:
        """The graph of what follows from some graphs by a profile of rules."""
        return self._iri("graph/inference", digest(profile, *sources))

    def audit_finding(self, *content: str) -> ox.NamedNode:
        """A finding of a kept audit, by audit and fingerprint."""
        return self._iri("finding", digest(*content))

    def answer(self, *content: str) -> ox.NamedNode:
        """A kept answer."""
        return self._iri("answer", digest(*content))

    def feedback(self, *content: str) -> ox.NamedNode:
        """What a reader found an answer to be."""
        return self._iri("feedback", digest(*content))

    def feedback_graph(self, *content: str) -> ox.NamedNode:
        """The graph of a reader's feedback on an answer."""
        return self._iri("graph/feedback", digest(*content))

    def saved_query(self, name: str) -> ox.NamedNode:
        """A saved query, by its name, which is a part of an IRI."""
        return self._iri("query", name)

    def query_graph(self, name: str) -> ox.NamedNode:
        """The graph of a saved query."""
        return self._iri("graph/query", name)

    def text_index(self, name: str) -> ox.NamedNode:
        """An index that a user declared, by its name, which is a part of an IRI."""
        return self._iri("index", name)

    def index_graph(self, name: str) -> ox.NamedNode:
        """The graph of an index that a user declared."""
        return self._iri("graph/index", name)

    def conversation(self, name: str) -> ox.NamedNode:
        """A kept conversation, by its name."""
        return self._iri("conversation", digest(name))
