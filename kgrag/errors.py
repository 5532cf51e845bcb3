"""What can go wrong, as one tree; every message names what was found, where, what was expected and what to do.

::

    KgragError
    ├── InputError              exit code 2: the caller gave something unusable
    │   ├── UnreadableDocument      a file that no reader can turn into text
    │   ├── InvalidRDF              RDF that does not parse, or is nested too deep
    │   ├── MappingError            mapped data that is no tree of facts
    │   ├── NothingToCheck          exit code 3: no ontology, no data, or no shapes, so there is no verdict
    │   ├── InvalidSettings         a setting or option outside its range
    │   ├── UnknownName             no method, query, prompt, space, dataset or field of that name
    │   ├── QueryParameterError     a stored query bound with a wrong, missing or unknown value
    │   └── InvalidSPARQL           SPARQL that the store refuses
    ├── StateError              exit code 2: the knowledge base is not in the state that the call needs
    │   ├── NotBuilt                a method was asked before its graphs were built
    │   ├── StoreLocked             another process holds the knowledge base
    │   ├── SchemaMismatch          written by a newer kgrag, or with another base IRI
    │   ├── EmbeddingMismatch       vectors made by another embedder
    │   ├── VectorsCorrupt          a vector file whose checksum is wrong (rebuilt by the caller)
    │   ├── StorageFailed           the disk refused (full), or a file is damaged
    │   │   └── NotWritable             the folder, or its disk, may only be read
    │   └── PluginBroken            a plug-in that is installed and cannot be used
    ├── ShapeViolation          exit code 1: a graph does not conform to its shape
    ├── BudgetSpent             exit code 4: what was done is kept, the rest waits for the next build
    └── ServiceError            exit code 3: something outside this process
        ├── ServiceUnavailable      no answer, refused connection, retries used up
        ├── ServiceRefused          wrong key, no quota, unknown model
        ├── CompletionMissing       replaying a recording that lacks this prompt
        ├── ReplyUnusable           a model's reply is not what was asked for, was withheld, or
        │   └── ReplyCut                ends at the limit of its tokens, in the middle
        └── UnsupportedTask         this model cannot honestly do this task
"""

from collections.abc import Iterable

__all__ = [
    "BudgetSpent",
    "CompletionMissing",
    "EmbeddingMismatch",
    "InputError",
    "InvalidRDF",
    "InvalidSPARQL",
    "InvalidSettings",
    "KgragError",
    "MappingError",
    "NotBuilt",
    "NotDecided",
    "NotWritable",
    "NothingToCheck",
    "PluginBroken",
    "QueryParameterError",
    "ReplyCut",
    "ReplyUnusable",
    "SchemaMismatch",
    "ServiceError",
    "ServiceRefused",
    "ServiceUnavailable",
    "ShapeViolation",
    "StateError",
    "StorageFailed",
    "StoreLocked",
    "UnknownName",
    "UnreadableDocument",
    "UnsupportedTask",
    "VectorsCorrupt",
    "closest",
]


class KgragError(Exception):
    """Anything that kgrag raises on purpose."""


class InputError(KgragError):
    """The caller gave something unusable."""


class UnreadableDocument(InputError):
    """A file that no reader can turn into text."""


class NothingToCheck(InputError):
    """There is no ontology, no data or no shapes to audit or validate, so that there is no verdict: never passed."""


class InvalidRDF(InputError):
    """RDF that does not parse, or is nested too deep to be parsed safely."""


class MappingError(InputError):
    """Mapped data that is not a tree of facts."""


class InvalidSettings(InputError):
    """A setting or option outside its range."""


class UnknownName(InputError):
    """No method, query, prompt, space or dataset of that name."""


class QueryParameterError(InputError):
    """A stored query bound with a wrong, missing or unknown value."""


class InvalidSPARQL(InputError):
    """SPARQL that the store refuses.

    ``line`` and ``column`` count from 1, and are 0 where that is not known. ``mend`` is the start, the end and the new
    text of a change that does away with the mistake, None where none is certain.
    """

    def __init__(
        self, message: str = "", *, line: int = 0, column: int = 0, mend: tuple[int, int, str] | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.mend = mend


class StateError(KgragError):
    """The knowledge base is not in the state that the call needs."""


class NotBuilt(StateError):
    """A method was asked before its graphs were built."""


class StoreLocked(StateError):
    """Another process holds the knowledge base.

    ``url`` is where it serves it, "" where it does not; ``tenant`` is whose it is there, "" where it serves no tenants.
    """

    def __init__(self, message: str = "", *, url: str = "", tenant: str = "") -> None:
        super().__init__(message)
        self.url = url
        self.tenant = tenant


class SchemaMismatch(StateError):
    """The knowledge base was written by a newer kgrag, or with another base IRI."""


class EmbeddingMismatch(StateError):
    """Vectors were made by another embedder than the one in use."""


class VectorsCorrupt(StateError):
    """A vector file is cut short or damaged; the caller rebuilds it from the store."""


class StorageFailed(StateError):
    """The disk refused a write (full, read-only)."""


class NotWritable(StorageFailed):
    """The folder of the knowledge base, or the disk that it is on, may only be read."""


class PluginBroken(StateError):
    """A plug-in is installed, and cannot be imported, is not what it is registered as, or has the name of another."""


class NotDecided(Exception):
    """A check or a reasoner came to no verdict, for the reason in the text. It never counts as passed."""


class ShapeViolation(KgragError):
    """A graph that must conform to its shape does not."""


class BudgetSpent(KgragError):
    """A build asked a language model for as much as it was allowed to; what came before is kept."""


class ServiceError(KgragError):
    """Something outside this process failed."""


class ServiceUnavailable(ServiceError):
    """No answer within the deadline, connection refused, or retries used up."""


class ServiceRefused(ServiceError):
    """The service understood and refused: wrong key, no quota, unknown model."""


class CompletionMissing(ServiceError):
    """A recording is being replayed and does not hold this prompt."""


class ReplyUnusable(ServiceError):
    """A model's reply is not what was asked for, or was withheld; the caller goes on without it, in the open."""


class ReplyCut(ReplyUnusable):
    """A model's reply ends at the limit of its tokens: what it holds is a part, and is never taken as the whole."""


class UnsupportedTask(ServiceError):
    """This model cannot honestly do this task; the caller degrades in the open."""


def closest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is nearest to ``name``, and all known names, for an error message.

    >>> closest("og_rga", ["og_rag", "passages"])
    "Did you mean 'og_rag'? Known: og_rag, passages."
    """
    from difflib import get_close_matches

    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"{hint}Known: {', '.join(names) or 'none'}."
