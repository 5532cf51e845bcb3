"""The calls of ``KnowledgeBase`` that ask: questions in words, what they cost, SPARQL."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.answering import cited_answers, kept_answers
from kgrag.answering.conversation import (
    FullQuestion,
    History,
    Turn,
    answer_in_turn,
    full_question,
    likeness,
    said_without_search,
    turns_of,
)
from kgrag.answering.evidence_budget import LEAST_SHARE, MOST_HITS, within_budget
from kgrag.answering.feedback import Verdict, feedback_draft
from kgrag.answering.follow_ups import Alike
from kgrag.answering.opening_places import placed_answer, placed_hits, placed_sentence
from kgrag.capabilities import Answers, AnswersAmong, AnswersExactly, LeftToEvidence, OwnAnswer, among
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InputError
from kgrag.knowledge_base import build_marks, filter_lock, user_queries
from kgrag.knowledge_base.document_calls import DocumentCalls
from kgrag.model import Allowed, Answer, AnswerSentence, Hit, Reranking, Table, Usage
from kgrag.ports import Reranker, ReranksAtCost
from kgrag.querying import document_filters
from kgrag.querying.document_filters import Where
from kgrag.querying.written_results import WrittenTriples
from kgrag.telemetry import Attributes, in_context, spanned

if TYPE_CHECKING:
    from typing import Self

    from kgrag.llm.budget import Budget
    from kgrag.llm.reply_lengths import Forecast

__all__ = ["QuestionCalls", "answer_attributes"]

_LOG = logging.getLogger(__name__)
_CANDIDATES_PER_HIT = 4  # of a reranker
_LOOKED_UP = 3  # passages for a name that no hit is about


def answer_attributes(answer: Answer) -> Attributes:
    """Return what the span of a question shows of its answer."""
    return {"kgrag.answer.unknown": answer.unknown, "kgrag.answer.citations": len(answer.citations)}


def _hit_attributes(found: Reranking) -> Attributes:
    return {"kgrag.hits": len(found.hits)}


def _reranked(reranker: Reranker, question: str, hits: Sequence[Hit]) -> Reranking:
    if not isinstance(reranker, ReranksAtCost):
        return Reranking(tuple(reranker.rerank(question, hits)))
    found = reranker.reranking(question, hits)
    if found.problem:
        _LOG.warning(found.problem)
    return found


class QuestionCalls(DocumentCalls):
    """What a knowledge base answers."""

    def retrieve(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
    ) -> list[Hit]:
        """Return at most k hits, best first.

        Args:
            question: what is asked.
            method: a method by name, with hyper-parameters where wanted.
            k: how many hits at most.
            rerank: a reranker, which puts four times as many hits into its order: "model" (one request to the language
                model), "cross-encoder:NAME or folder", or a registered one; "" = none, None = that of the knowledge
                base.
            where: which documents may be found, decided before anything is ranked
                (``kgrag.querying.document_filters``); None = all.
            evidence_tokens: a budget in place of k: up to 50 hits that have room in it, the best first, until one is
                worth little beside the best (``kgrag.answering.evidence_budget``).

        Raises:
            NotBuilt: the method has nothing to retrieve from yet.
            InputError: the question is empty, k or the budget is below 1, or the filter is none.
            InvalidSPARQL: the filter has a pattern that cannot be run.
            InvalidSettings: the method cannot keep to a filter.
            UnknownName: there is no such method or reranker.
        """
        found = self.found(question, method=method, k=k, rerank=rerank, where=where, evidence_tokens=evidence_tokens)
        return list(found.hits)

    @spanned("retrieval", "retrieval", _hit_attributes)
    def found(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
    ) -> Reranking:
        """Return the hits of ``retrieve`` with what a reranker cost, and why it did nothing. Raises as ``retrieve``."""
        k = k if evidence_tokens is None else MOST_HITS
        _refuse_empty(question, k)
        self._begin(method)
        reranker = self.reranker(rerank, method)
        chosen, depth = self.method(method), _CANDIDATES_PER_HIT * k if reranker else k
        allowed = None if where is None else self.allowed(where)
        if allowed is None:
            hits = chosen.retrieve(question, depth)
        else:
            hits = among(chosen, method).retrieve_among(question, depth, allowed)
        reranked = Reranking(tuple(hits)) if reranker is None else _reranked(reranker, question, hits)
        hits = list(reranked.hits[:k])
        hits = hits if allowed is None else filter_lock.only_allowed(hits, allowed)
        if evidence_tokens is not None:
            has_own_scores = reranker is not None and not reranked.problem
            hits = within_budget(hits, evidence_tokens, least=0 if has_own_scores else LEAST_SHARE)
        return replace(reranked, hits=tuple(placed_hits(hits, self.store)))

    def allowed(self, where: Where) -> Allowed:
        """Return the documents that a filter lets through, with their chunks.

        Raises:
            InputError: it is none, or names a field by nothing.
            InvalidSPARQL: it has a pattern that cannot be run.
        """

        def select(sparql: str) -> Table:
            found = self.query(sparql)
            return found if isinstance(found, Table) else Table((), [])

        return document_filters.allowed(document_filters.read_filter(where), self.store, select)

    def retrieve_timed(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
    ) -> tuple[list[Hit], dict[str, float]]:
        """Return the hits, and the milliseconds that embedding, searching and both took."""
        self.method(method)
        embedded, start = self.embedder.seconds, time.perf_counter()
        hits = self.retrieve(question, method=method, k=k, rerank=rerank, where=where, evidence_tokens=evidence_tokens)
        total = 1000 * (time.perf_counter() - start)
        embed = 1000 * (self.embedder.seconds - embedded)
        return hits, {"embed": round(embed, 3), "search": round(total - embed, 3), "total": round(total, 3)}

    @spanned("invoke_agent kgrag", "invoke_agent", answer_attributes)
    def ask(  # noqa: PLR0913 - each is an option of `kgrag ask`
        self,
        question: str,
        *,
        history: History = (),
        method: str = DEFAULT_METHOD,
        k: int = 5,
        keep: bool = False,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
        on_sentence: Callable[[AnswerSentence], None] | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Answer with citations that were found in stored chunks, or with *unknown*; ``keep`` publishes the answer.

        A method that has an ``answer`` of its own, as those that answer from rows and not from texts, writes it. With
        ``rerank`` the answer is written from the reranked hits, whatever the method, and with ``evidence_tokens`` from
        those that fit, but where stated facts answer it (auto, poly_rag). Raises what ``retrieve`` raises, and
        ``BudgetSpent`` where the answer may cost more than the budget.

        Args:
            question: what is asked; with a history it may be a follow-up ("And lentil?").
            history: what was said before, the oldest first: answers, or ``{"role": …, "content": …}``. The answer's
                ``question`` is then the full question that was made of it, and ``asked`` what was written.
            method: a method by name, with hyper-parameters where wanted.
            k: how many hits at most.
            keep: whether the answer is kept as a graph.
            rerank: as of ``retrieve``.
            where: as of ``retrieve``.
            evidence_tokens: as of ``retrieve``.
            on_sentence: called with each sentence once its citations are found, as ``stream`` yields them.
            budget: the most that the answer may cost; what may cost more, or more than is left of the day's or
                month's (``limit_spending``), is not asked.
        """
        _refuse_empty(question, k)
        options: dict[str, Any] = {"method": method, "k": k, "rerank": rerank, "where": where}
        options |= {"evidence_tokens": evidence_tokens}
        within = self.affording(budget, question, history=history, **options)
        full = within.full_question(question, history)
        answer = said_without_search(full, method) or within.answered(full.text, **options, on_sentence=on_sentence)
        answer = answer_in_turn(answer, question, full)
        if keep:
            self.keep(answer)
        return answer

    def answered(  # noqa: PLR0913 - as of `ask`
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
        on_sentence: Callable[[AnswerSentence], None] | None = None,
    ) -> Answer:
        """Answer a question as ``ask`` does that is no follow-up and may cost what it costs; nothing is kept."""
        from_hits = self.answers_from_hits(method, rerank=rerank, evidence_tokens=evidence_tokens)
        own = LeftToEvidence() if from_hits else self.own_answer(question, method=method, k=k, where=where)
        if isinstance(own, LeftToEvidence):
            found = self.found(
                question, method=method, k=k, rerank=rerank, where=where, evidence_tokens=evidence_tokens
            )
            own = self.answer_from(
                question,
                found.hits,
                method=method,
                where=where,
                on_sentence=on_sentence,
                found=found,
                explain=own.explain,
            )
        elif on_sentence is not None:
            for sentence in cited_answers.sentences_of(own):
                on_sentence(sentence)
        return own

    def answers_from_hits(self, method: str, *, rerank: str | None = None, evidence_tokens: int | None = None) -> bool:
        """Return whether ``ask`` with these arguments writes its answer from hits also where a method has its own."""
        if self.reranker(rerank, method) is not None:
            return True
        chosen = self.method(method)
        states_facts = isinstance(chosen, AnswersExactly) or chosen.name == DEFAULT_METHOD
        return evidence_tokens is not None and not states_facts

    def stream(self, question: str, **asked: Any) -> Iterator[AnswerSentence | Answer]:
        """Yield the sentences of an answer, each once its citations are found, and then the answer.

        A sentence that what it cites does not carry is not yielded, and none that was yielded is taken back. A language
        model that can pass on what it writes (``kgrag.ports.StreamsText``) is read while it writes; of others the
        sentences come together. Where the caller stops early, the answer is still written to its end.

        Args:
            question: as of ``ask``.
            asked: the other arguments of ``ask``.

        Raises:
            KgragError: as of ``ask``; also after some sentences, if the connection to a service breaks.
        """
        arrived: SimpleQueue[AnswerSentence | Answer | BaseException] = SimpleQueue()

        def work() -> None:
            try:
                arrived.put(self.ask(question, **asked, on_sentence=arrived.put))
            except BaseException as error:  # whatever it is belongs to the caller
                arrived.put(error)

        Thread(target=in_context(work), name="kgrag-answer", daemon=True).start()
        while isinstance(item := arrived.get(), AnswerSentence):
            yield item
        if isinstance(item, BaseException):
            raise item
        yield item

    def full_question(self, question: str, history: History, *, alike: Alike | None = None) -> FullQuestion:
        """Return a message as a question that can be understood without what was said before.

        The language model writes it, in one small request; without one that can, rules for English do
        (``kgrag.answering.follow_ups``), and ``unresolved`` says where they could not.

        Args:
            question: the message.
            history: as of ``ask``; without any the message is returned as it is.
            alike: compares words by meaning, for the rules; default: by the embedder.

        Raises:
            InputError: the message is empty, or the history is none.
            ServiceError: the model could not be reached or refused.
        """
        _refuse_empty(question, 1)
        if not history:
            return FullQuestion(question)
        turns = [*turns_of(history), Turn("user", question)]
        return full_question(turns, self.model, alike or likeness(self.embedder))

    def planned_cost(self, question: str, **asked: Any) -> Usage:
        """Return what ``ask`` with the same arguments would cost about; nothing is asked of the language model."""
        return self.forecast(question, **asked).usage

    def forecast(self, question: str, **asked: Any) -> Forecast:
        """Return what ``planned_cost`` does, with the least and the most that replies may take.

        Where this knowledge base has paid for replies to the same prompts, it goes by their lengths.
        """
        from kgrag.llm.planned_model import PlannedModel
        from kgrag.llm.reply_lengths import forecast

        planning = PlannedModel(self.model)
        self.asking(planning).ask(question, **{**asked, "keep": False, "on_sentence": None, "budget": None})
        return forecast(planning.plan, self.model_for(asked.get("method", DEFAULT_METHOD)))

    def affording(self, budget: Budget | None, question: str, **asked: Any) -> Self:
        """Return this knowledge base with a budget, where a question may not cost more than that.

        It shares everything else, and is not to be closed.

        Args:
            budget: what is to be spent; an answer that costs more than was foreseen is broken off there. None: what is
                left of a budget that was set before, where there is one.
            question: as of ``ask``.
            asked: the other arguments of ``ask``.

        Raises:
            BudgetSpent: it may cost more; nothing was asked of the language model.
        """
        view = self if budget is None else self.asking(self.within(budget))
        view.refuse_beyond_budget(question, **asked)
        return view

    def refuse_beyond_budget(self, question: str, **asked: Any) -> None:
        """Refuse a question that may cost more than is left of the budgets that ``within`` and ``limit_spending`` set.

        Raises:
            BudgetSpent: it may; nothing was asked of the language model.
        """
        from kgrag.llm.budget import BudgetedModel
        from kgrag.llm.reading_by_rules import is_by_rules

        asking = getattr(self.model, "inner", self.model)  # in a cache, which is free
        if isinstance(asking, BudgetedModel) and not is_by_rules(asking.identity):
            asking.refuse_beyond(self.forecast(question, **asked).most)

    def own_answer(self, question: str, *, method: str, k: int = 5, where: Where | None = None) -> OwnAnswer:
        """Return the answer of a method that answers by itself, unless it leaves that to what it retrieves.

        With a filter, one that can keep to it only when it retrieves leaves it too.

        Raises:
            NotBuilt: the method has nothing to answer from yet.
            InputError: the question is empty, or k is below 1.
            InvalidSettings: the method cannot keep to a filter.
        """
        chosen = self.method(method)
        _refuse_empty(question, k)
        if where is None:
            if not isinstance(chosen, Answers):
                return LeftToEvidence()
            self._begin(method)
            answer = chosen.answer(question, k)
            return answer if isinstance(answer, LeftToEvidence) else self._complete(answer, method)
        limited = among(chosen, method)
        if not isinstance(limited, AnswersAmong):
            return LeftToEvidence()
        self._begin(method)
        allowed = self.allowed(where)
        return self._complete(filter_lock.checked(limited.answer_among(question, k, allowed), allowed), method)

    def answer_from(  # noqa: PLR0913 - the second half of `ask`
        self,
        question: str,
        hits: Sequence[Hit],
        *,
        method: str,
        where: Where | None = None,
        on_sentence: Callable[[AnswerSentence], None] | None = None,
        found: Reranking | None = None,
        explain: Sequence[str] = (),
        look_up: Callable[[str], Sequence[Hit]] | None = None,
    ) -> Answer:
        """Answer from what was retrieved; the second half of ``ask``. What finding it cost is added to the answer.

        ``explain`` are lines that come before the answer's own. ``look_up`` searches for a name that the model must
        look up to go on; by default as ``retrieve`` does.
        """
        allowed = None if where is None else self.allowed(where)

        def checked_sentence(sentence: AnswerSentence) -> None:
            if allowed is not None:
                filter_lock.check_citations(sentence.citations, allowed, method)
            if on_sentence is not None:
                on_sentence(placed_sentence(sentence, self.store))

        answer = cited_answers.answer(
            question,
            hits,
            model=self.model_for(method),
            store=self.store,
            method=method,
            on_sentence=None if on_sentence is None else checked_sentence,
            look_up=look_up or (lambda name: self.looked_up(name, method=method, where=where)),
        )
        if allowed is not None:
            answer = filter_lock.checked(answer, allowed)
        if found is not None:
            explain = (*explain, *filter(None, [found.problem]))
            answer = replace(answer, usage=answer.usage + found.usage)
        return self._complete(replace(answer, explain=(*explain, *answer.explain)), method)

    def looked_up(self, name: str, *, method: str, where: Where | None = None) -> list[Hit]:
        """Return the passages for a name that a question leads to. Raises what ``retrieve`` raises."""
        return self.retrieve(name, method=method, k=_LOOKED_UP, where=where)

    def _begin(self, method: str) -> None:
        """Begin a question: learn what another process wrote meanwhile, and warn of an unfinished build."""
        self.follow()
        if message := build_marks.warning(self.store, method.partition(":")[0]):
            _LOG.warning(message)

    def _complete(self, answer: Answer, method: str) -> Answer:
        """Return an answer with the places of its evidence, and with a warning where the method's build did not end."""
        warned = filter(None, [build_marks.warning(self.store, method.partition(":")[0])])
        return placed_answer(replace(answer, explain=(*warned, *answer.explain)), self.store)

    def keep(self, answer: Answer, *, after: Sequence[Answer] = ()) -> None:
        """Publish an answer as a graph of its own; keeping it again changes nothing.

        Args:
            answer: what is kept.
            after: the answers before it whose words its question may have: where one of their documents is forgotten,
                it goes too.
        """
        self.store.publish([kept_answers.answer_draft(answer, names=self.store.names, after=after)])

    def feedback(self, answer: Answer, verdict: Verdict, comment: str = "") -> None:
        """Keep what a reader found an answer to be, as a graph that ``kgrag eval --feedback`` reads.

        Args:
            answer: what was judged; kept or not.
            verdict: "right"; "wrong"; "missing" where it lacks what was asked for.
            comment: such as what the answer should have been.

        Raises:
            InputError: there is no such verdict, or the comment is longer than 4,000 characters.
        """
        self.store.publish([feedback_draft(answer, verdict, comment, names=self.store.names)])

    def query(self, sparql: str) -> Table | bool | list[ox.Triple]:
        """Run a SPARQL query of the user's: rows, a truth value, or triples.

        Without FROM and outside GRAPH, a pattern matches the union of all named graphs. Triples of graphs that the
        query names have literals as they were loaded.

        Raises:
            InvalidSPARQL: it does not parse, or asks for SERVICE.
        """
        results = self.raw_query(sparql)
        if isinstance(results, ox.QueryBoolean):
            return bool(results)
        if isinstance(results, WrittenTriples):
            return list(results)
        names = tuple(variable.value for variable in results.variables)
        return Table(names, [tuple(row) for row in results])

    def raw_query(self, sparql: str) -> ox.QuerySolutions | ox.QueryBoolean | WrittenTriples:
        """Run a SPARQL query of the user's and return its results, which can be serialised."""
        return user_queries.run_query(self, self._store, sparql)


def _refuse_empty(question: object, k: int) -> None:
    if not isinstance(question, str):
        raise InputError(f"the question is a {type(question).__name__}, and has to be text. Ask something.")
    if not question.strip():
        raise InputError("the question is empty. Ask something.")
    if not hasattr(k, "__index__"):
        raise InputError(f"k is a {type(k).__name__}; it has to be a whole number of hits.")
    if k < 1:
        raise InputError(f"k is {k}; at least one hit must be asked for.")
