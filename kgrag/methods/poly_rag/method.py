"""The method: build the layers of the pyramid, ask them from the top."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from kgrag import queries
from kgrag.answering import cited_answers
from kgrag.capabilities import LeftToEvidence, OwnAnswer
from kgrag.errors import InvalidSettings, NotBuilt, UnsupportedTask
from kgrag.index import bm25, vector_spaces
from kgrag.index.revision_cache import RevisionCache
from kgrag.llm.reading_by_rules import PASSED_OVER, is_by_rules, notes_on
from kgrag.mapping import Triage, triage_of
from kgrag.methods.poly_rag import (
    PolyRagOptions,
    condensation,
    inferred_facts,
    layer_drafts,
    layer_files,
    proposals,
    row_texts,
    text_values,
    triple_extraction,
)
from kgrag.methods.poly_rag.computed_rows import by_rules
from kgrag.methods.poly_rag.layers import Found, GraphLayer, Layer, OntologyLayer, TextLayer, ontology_of
from kgrag.methods.poly_rag.proposals import Completion, Decision, Proposal
from kgrag.model import Allowed, Answer, BuildReport, Hit, Usage, Value
from kgrag.ports import Embedder, LanguageModel, Progress, TripleStore, VectorIndex, VectorSpaces, Workbench
from kgrag.querying import data_profile
from kgrag.querying.text_to_sparql import CYCLES, Asker, Runner, fact_sentences, marked
from kgrag.vocab import KG

__all__ = ["PolyRag"]

_LAYERS: tuple[Layer, ...] = ("ontology", "graph", "text")
_MAX_ANSWERS_LISTED = 20
_UNANSWERED = "what it found does not carry an answer"
_KINDS = (KG.DocumentGraph, KG.OntologyGraph, KG.TripleGraph)
_BUILT = RevisionCache[frozenset[str]](kinds=_KINDS)
_STATEMENTS = RevisionCache[frozenset[str]]()


class _OntologyAsker(Asker):
    name = layer_drafts.METHOD


@dataclass(frozen=True, slots=True)
class PolyRag:
    """Answers from the topmost layer that can: ontology, knowledge graph, text.

    Args:
        store: contains the layers.
        spaces: store the vectors of triples, chunks and schema terms.
        embedder: embeds them, and questions.
        model: writes SPARQL, judges whether triples suffice, writes answers, extracts.
        runner: runs a query that a model wrote, in a process that can be killed.
        open_scratch: returns a small store in memory, for the check of queries.
        lexical: folder of the BM25 index; None keeps it in memory.
        layers: which layers are asked, joined by "+" ("ontology+graph+text"; Table 3 leaves some out).
        triples: how many of the nearest triples are judged (paper: 10), at least 1.
        chunks: how many chunks the text layer returns (paper: 5), at least 1.
        signal: of the text layer: "dense" as in the paper, or "fusion" with BM25.
        templates: whether questions of a fixed form are read without the model, before it is asked.
        cycles: how often the model may repair a query.
        near: cosine from which a stored question answers where there is no model, 0 to 1.
        rows: the largest number of rows that a query returns.
        seconds: how long a query may run.
        read_only: leaves the BM25 index on disk as it is.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        The paper's code asks all three layers at every question; section 4 stops at the first that answers, as here.
        A triple that was judged to answer is passed on, the others of the ten are not. A layer whose evidence does not
        answer leaves the question to those below; the paper asks whether it found anything.
    """

    name: ClassVar[str] = layer_drafts.METHOD

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    runner: Runner
    open_scratch: Callable[[], Workbench]
    lexical: Path | None = None
    layers: str = "+".join(_LAYERS)
    triples: int = 10
    chunks: int = 5
    signal: Literal["dense", "fusion"] = "fusion"
    templates: bool = True
    cycles: int = CYCLES
    near: float = 0.9
    rows: int = 1000
    seconds: float = 10.0
    read_only: bool = False

    def __post_init__(self) -> None:
        chosen = self.layers.split("+")
        if not set(chosen) <= set(_LAYERS) or len(set(chosen)) != len(chosen):
            raise InvalidSettings(
                f"poly_rag: layers {self.layers!r} is unknown. Join some of {', '.join(_LAYERS)} by '+'."
            )
        if self.signal not in ("dense", "fusion"):
            raise InvalidSettings(f"poly_rag: signal {self.signal!r} is unknown. Use 'dense' or 'fusion'.")
        if min(self.triples, self.chunks, self.rows) < 1 or self.cycles < 0 or self.seconds <= 0:
            raise InvalidSettings("poly_rag: use triples, chunks and rows from 1, cycles from 0, seconds above 0.")
        if not 0 <= self.near <= 1:
            raise InvalidSettings(f"poly_rag: near is {self.near}. Use a cosine from 0 to 1.")

    def build(
        self, options: PolyRagOptions = PolyRagOptions(), *, progress: Progress | None = None, dry_run: bool = False
    ) -> BuildReport:
        """Fill the layers, from files or else by the model, and embed them; building again changes nothing.

        A layer that was loaded from a file is not asked of the model. Instances are asked for when an ontology is
        loaded.

        Args:
            options: files of ready-made layers: ``schema``, ``instances``, ``triples``; and further steps. ``complete``
                proposes attributes that the ontology lacks, and names of one thing (section 3.2), for a person to
                decide; ``accept`` accepts the attributes at once; ``infer`` adds what follows from ontologies and
                instances; ``condense`` merges triples of the same meaning, and retrieval then reads the merged ones
                (section 3.3). ``share`` below 1 asks about so many of the chunks only (``kgrag.mapping.triage``).
            progress: called after each batch.
            dry_run: count the completions that the text in the store would ask for, and write nothing. An ontology of
                ``schema`` that is not loaded yet is not counted with.

        Raises:
            NotBuilt: there is no ontology, no triple and no text.
            InputError: a file cannot be read.
            ServiceError: the embedder or the model is a service that does not answer.
        """
        triage = triage_of(self, options.share, dry_run=dry_run)
        if dry_run:
            return self._estimated(options, triage)
        loaded = [layer_files.load_schema(options.schema, store=self.store)] if options.schema else []
        if options.instances is not None:
            loaded.append(layer_files.load_instances(options.instances, store=self.store))
        if options.triples is not None:
            loaded.append(layer_files.load_triples(options.triples, store=self.store))
        counts = {name: count for one in loaded for name, count in one.counts.items()}
        condensed = self._refuse_unbuilt()
        wanted = triple_extraction.Asked(self._loaded(), triage)
        done = triple_extraction.extract(
            store=self.store, model=self.model, embedder=self.embedder, wanted=wanted, progress=progress
        )
        counts |= done.counts
        counts |= self._further(options, progress, condense=options.condense or condensed)
        data_profile.keep(self.store)
        for name, label in (("schema-term", "terms"), ("triple", "statements"), ("chunk", "chunks")):
            counts[label] = len(self._space(name, progress))
        bm25.fresh(self.store, self.lexical, save=not self.read_only)
        pending = (*(line for one in loaded for line in one.undone), *done.undone)
        read = sum(done.counts.get(f"{name}_extracted", 0) for name in ("triples", "instances"))
        report = BuildReport(self.name, counts, done.usage, notes_on(self.model.identity, read), pending)
        return done.choice.noted(report) if done.choice else report

    def _estimated(self, options: PolyRagOptions, triage: Triage | None) -> BuildReport:
        self._refuse_unbuilt()
        given = {"ontology": options.instances, "graph": options.triples}
        from_files = {layer for layer, path in given.items() if path is not None}
        wanted = triple_extraction.Asked(from_files | self._loaded(), triage)
        expected, choice = triple_extraction.estimate(
            store=self.store, model=self.model, embedder=self.embedder, wanted=wanted
        )
        note = f"tokens are estimated: 4 characters a token; {expected.note}".rstrip("; ")
        report = BuildReport(self.name, expected.counts(), notes=(note,))
        return choice.noted(report) if choice else report

    def _loaded(self) -> set[str]:
        """Return the layers that came from files."""
        layers = triple_extraction.layer_graphs(self.store).items()
        return {layer for layer, graphs in layers if any(by.startswith("loaded=") for by in graphs.values())}

    def _further(self, options: PolyRagOptions, progress: Progress | None, *, condense: bool) -> dict[str, int]:
        counts: dict[str, int] = {}
        if options.complete or options.accept:
            counts |= self._completed(accept=options.accept)
        if options.infer:
            counts["inferred"] = inferred_facts.infer(self.store, self.open_scratch())
        if condense:
            counts |= condensation.condense(self.store, self._space("triple", progress), self.embedder)
            self._space("condensed-triple", progress)
        return counts

    def _completed(self, *, accept: bool) -> dict[str, int]:
        made = self.propose()
        aliases = proposals.proposed_aliases(self.store)
        for one in made.proposals if accept else ():
            if one.decision == "open":
                proposals.decide(one.iri, "accepted", store=self.store)
        return {"proposed_attributes": len(made.proposals), "proposed_aliases": len(aliases)}

    def propose(self) -> Completion:
        """Propose attributes that the graph layer has much of and the ontology does not have; nothing else changes.

        Raises:
            NotBuilt: there is no ontology with attributes, or no triple.
        """
        return proposals.proposed_attributes(self.store, self.embedder)

    def proposals_picture(self) -> str:
        """Draw both layers and what is proposed between them, as SVG (Figure 2); proposes anew.

        Raises:
            NotBuilt: there is no ontology with attributes, or no triple.
            InvalidSettings: there are too few phrases for two dimensions.
        """
        from kgrag.methods.poly_rag.completion import picture

        made = self.propose()
        return picture(made.space, made.medoids, made.labels)

    def proposals(self) -> list[Proposal]:
        """Return every proposal with what was decided."""
        return proposals.listed(self.store)

    def wordings(self) -> dict[str, str]:
        """Return the IRI of each proposal -> the words of a statement that is evidence for it."""
        return proposals.wordings(self.proposals(), self.store)

    def decide(self, name: str, decision: Decision) -> Proposal:
        """Accept or reject a proposal by its IRI or name, or open it again; inferences follow. Raises UnknownName."""
        made = proposals.decide(name, decision, store=self.store)
        if self.store.described(self.store.names.layer_graph("inferred")):
            inferred_facts.infer(self.store, self.open_scratch())
        return made

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the hits of the topmost layer that answers, at most k; rows, triples or passages.

        Raises:
            NotBuilt: there is no layer at all.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        return list(self._descent(question, k, None)[-1].hits)

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return the hits of the topmost layer that answers from allowed documents alone.

        The ontology layer is passed over: its facts are merged from all documents.

        Raises:
            InvalidSettings: it is the only layer.
            NotBuilt, ServiceError: as above.
        """
        return list(self._descent(question, k, allowed)[-1].hits)

    def answer(self, question: str, k: int) -> Answer:
        """Answer from the topmost layer that can; ``explain`` names it, and why those above did not.

        Raises:
            NotBuilt: there is no layer at all.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        return self._answered(question, k, None)

    def exact_answer(self, question: str, k: int) -> OwnAnswer:
        """Return what instances answer to a question of a fixed form, unless there are none, or for another form.

        It is left to the text too where a row rests on what was read from text by rules, without a language model: too
        often that is not what the text says.
        """
        found = OntologyLayer(self._asker, self.templates).exact(question, k) if "ontology" in self.layers else None
        if found is None or not found.hits:
            return LeftToEvidence((f"poly_rag: {found.why}",) if found is not None and found.why else ())
        if by_rules([span.chunk for hit in found.hits for span in hit.sources], self.store):
            return LeftToEvidence((PASSED_OVER,))
        answer = self._answer_in_words(question, found)
        if answer.unknown:
            return LeftToEvidence(tuple(f"poly_rag: {line}" for line in answer.explain))
        return replace(answer, explain=(*_explained([found]), *answer.explain), sparql=found.sparql)

    def answer_among(self, question: str, k: int, allowed: Allowed) -> Answer:
        """Answer from the topmost layer that can from allowed documents alone. Raises as ``retrieve_among``."""
        return self._answered(question, k, allowed)

    def _answered(self, question: str, k: int, allowed: Allowed | None) -> Answer:
        """Ask layer after layer until one answers all that is asked; what one answers in part the text completes."""
        asked: list[Found] = []
        usage, part = Usage(), None
        answer = self._asker.unknown(question, (), usage=usage)
        for layer, search in self._searches(k, allowed):
            if part is not None and layer == "graph":
                asked.append(Found("graph", why="text completes what was answered in part"))
                continue
            found = search(question)
            answer = self._answer_of(question, found, part)
            usage += answer.usage
            known = bool(found.hits) and not answer.unknown
            open_part = f"left open {answer.not_stated!r}" if answer.not_stated else ""
            why = open_part if known else found.why or _UNANSWERED
            asked.append(replace(found, why=why, hits=found.hits if known else ()))
            if known and not answer.not_stated:
                break
            part = part or (answer if known else None)
        if part is not None and answer.unknown:
            answer = replace(part, failure=answer.failure)
        explain = (*_explained(asked), *answer.explain)
        sparql = next((found.sparql for found in reversed(asked) if found.hits), asked[-1].sparql if asked else "")
        remarks = [line for found in asked if found.hits for line in found.remarks if line not in answer.text]
        return replace(answer, text="\n".join([answer.text, *remarks]), usage=usage, explain=explain, sparql=sparql)

    def _answer_of(self, question: str, found: Found, part: Answer | None) -> Answer:
        """Return what a layer answers; ``part`` is what one above did, whose passages are shown again."""
        if found.answers:
            return self._answer_in_words(question, found)
        hits = found.hits
        if found.answer is not None:
            among = row_texts.evidence(question, found.answer, self._text(None), self.chunks, store=self.store)
            if not found.unproven or not among:
                return found.answer
            hits = tuple(among)
        if part is not None and hits:
            shown = [hit for hit in part.hits if hit.kind == "passage"]
            further = _further(hits, shown)
            if not further:
                return replace(part, usage=found.usage)
            hits = (*shown, *further)
        try:
            answer = cited_answers.answer(
                question,
                hits,
                model=self.model,
                store=self.store,
                method=self.name,
                refusable=found.answer is None,
            )
        except UnsupportedTask:
            assert found.answer is not None
            return found.answer
        answer = replace(answer, usage=answer.usage + found.usage)
        if found.answer is None:
            return answer
        answer = row_texts.with_compared(answer, found.answer)
        return replace(answer, values=row_texts.values_of(answer, found.answer.values))

    def statistics(self) -> dict[str, Any]:
        """Count the graphs of each layer, and what is embedded."""
        table = self.store.select(queries.bind("poly_rag/layers", catalogue=self.store.names.catalogue))
        counts: dict[str, int] = {}
        for _, _, layer, _ in table.values():
            counts[f"{layer}_graphs"] = counts.get(f"{layer}_graphs", 0) + 1
        return counts

    # the waterfall

    def _descent(self, question: str, k: int, allowed: Allowed | None) -> list[Found]:
        """Ask layer after layer until one finds something; the last result is the one that counts."""
        asked: list[Found] = []
        for _, search in self._searches(k, allowed):
            asked.append(search(question))
            if asked[-1].hits:
                break
        return asked

    def _searches(self, k: int, allowed: Allowed | None) -> Iterator[tuple[Layer, Callable[[str], Found]]]:
        if k < 1:
            raise InvalidSettings(f"poly_rag: k is {k}. Ask for at least 1 hit.")
        if allowed is not None and self.layers == "ontology":
            raise InvalidSettings("poly_rag: the ontology layer cannot keep to a filter (where). Add graph or text.")
        condensed = self._refuse_unbuilt()
        chosen = self.layers.split("+")
        if "ontology" in chosen and allowed is None:
            yield "ontology", lambda question: OntologyLayer(self._asker, self.templates).search(question, k)
        elif "ontology" in chosen:
            merged = Found("ontology", why="its facts are merged from all documents, and a filter is set")
            yield "ontology", lambda _: merged
        if "graph" in chosen:
            # a statement that was condensed from several documents is found there by the statements of each
            space = "condensed-triple" if condensed and allowed is None else "triple"
            within = None if allowed is None else self._statements_of(allowed)
            graph = GraphLayer(self.store, self.spaces, self.embedder, self.model, self.triples, space, within)
            yield "graph", lambda question: graph.search(question, k)
        if "text" in chosen:
            text = self._text(None if allowed is None else allowed.chunks)
            yield "text", lambda question: self._found_in_text(question, text, min(k, self.chunks))

    def _found_in_text(self, question: str, text: TextLayer, k: int) -> Found:
        """Return the best passages; without a model, the values that they state, where an attribute is asked for."""
        without_model = self.templates and is_by_rules(self.model.identity)
        asked = text_values.asked_attribute(question, ontology_of(self.store)) if without_model else None
        if asked is None:
            return text.search(question, k)
        found = text.search(question, max(k, text_values.PASSAGES))
        return text_values.found_in_text(asked, found.hits, k) or replace(found, hits=found.hits[:k])

    def _text(self, among: frozenset[str] | None) -> TextLayer:
        return TextLayer(self.store, self.spaces, self.embedder, self.lexical, self.signal, self.read_only, among)

    def _statements_of(self, allowed: Allowed) -> frozenset[str]:
        """Return the statements that were taken from allowed chunks alone."""

        def read() -> frozenset[str]:
            query = queries.bind("poly_rag/origins_of_all", catalogue=self.store.names.catalogue)
            rows = self.store.select(query).values()
            others = {statement for statement, source in rows if source not in allowed.chunks}
            return frozenset(statement for statement, _ in rows if statement not in others)

        return _STATEMENTS.get(self.store, allowed.chunks, read)

    @property
    def _asker(self) -> Asker:
        return _OntologyAsker(
            self.store,
            self.spaces,
            self.embedder,
            self.model,
            self.runner,
            self.open_scratch,
            cycles=self.cycles,
            near=self.near,
            rows=self.rows,
            seconds=self.seconds,
        )

    def _answer_in_words(self, question: str, found: Found) -> Answer:
        """Return the answers that a layer knows as sentences, each with citations of what states it.

        One that was taken from text, and that no text states, is left out.
        """
        shown = found.answers[:_MAX_ANSWERS_LISTED]
        cited = [one for one in found.cited if one.sentence < len(shown)]
        cited = cited or fact_sentences.citations([one.facts for one in shown], self.store, question)
        shown, cited, unsupported = fact_sentences.supported(shown, cited)
        if unsupported and not shown:
            reason = "No text states what was found."
            return replace(self._asker.unknown(question, (reason,), usage=found.usage), unsupported=unsupported)
        sentences = tuple(one.text for one in shown)
        first = {one.sentence: number for number, one in reversed(list(enumerate(cited)))}
        more = len(found.answers) - len(shown)
        tail = [f"… and {more:,} more."] if more > 0 else []
        return Answer(
            question=question,
            text="\n".join([*marked(sentences, cited), *tail]),
            method=self.name,
            sentences=sentences,
            citations=tuple(cited),
            hits=found.hits,
            usage=found.usage,
            dropped={"quotes": 0, "sentences": 0, "unsupported": len(unsupported)},
            unsupported=unsupported,
            values=tuple(replace(value, citation=first.get(0, -1)) for value in found.values)
            or tuple(
                Value("text", one.value, citation=first.get(number, -1))
                for number, one in enumerate(shown)
                if one.value
            ),
        )

    # what is there

    def _refuse_unbuilt(self) -> bool:
        """Return whether the statements were condensed. Raises NotBuilt: there is no layer at all."""
        names = self.store.names
        values = {"catalogue": names.catalogue, "kinds": _KINDS, "condensed": names.layer_graph("condensed")}
        query = queries.bind("poly_rag/built", **values)
        there = _BUILT.get(self.store, "", lambda: frozenset(what for (what,) in self.store.select(query).values()))
        if "layer" not in there:
            raise NotBuilt(
                "method 'poly_rag' has no layer to look in. Run `kgrag ingest PATH`, `kgrag load ONTOLOGY` or "
                "`kgrag build poly_rag --instances FILE --triples FILE` first."
            )
        return "condensed" in there

    def _space(self, name: str, progress: Progress | None) -> VectorIndex:
        return vector_spaces.fresh(
            name, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )


def _further(hits: Sequence[Hit], known: Sequence[Hit]) -> list[Hit]:
    """Return the hits that are not among those known."""
    iris = {hit.iri for hit in known}
    return [hit for hit in hits if hit.iri not in iris]


def _explained(asked: Sequence[Found]) -> Iterator[str]:
    for found in asked:
        if found.hits:
            yield f"{found.layer}: answered, but {found.why}" if found.why else f"{found.layer}: answered"
        else:
            yield f"{found.layer}: did not answer: {found.why}"
        yield from (f"  {line}" for line in found.story)
