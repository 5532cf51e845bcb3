"""Scores by a language model, as RAGAS 0.1 defines them, which OG-RAG (section 5) reports.

Es, James, Espinosa-Anke and Schockaert, "RAGAS: Automated evaluation of retrieval augmented generation", 2024, and the
documentation of ragas 0.1 (October 2024). The right answer is the first one that a question has.

==================================  =============================================================================
``judged context recall@k``         share of the sentences of the right answer that the first k hits carry (C-Rec)
``judged context entity recall@k``  share of the entities of the right answer that the first k hits name (C-ERec)
``answer similarity``               cosine of the answer with the right one; by the embedder, not the model (A-Sim)
``judged answer correctness``       3/4 F1 of statements + 1/4 answer similarity, the published weights (A-Corr)
``judged answer relevance``         mean cosine of the question with three that the answer would answer, 0 for a
                                    noncommittal answer (A-Rel)
==================================  =============================================================================

The last three need measured answers. Each reply that is not what was asked for leaves its question out of the metric
and is counted; it never counts as 0. The model must write: ``ExtractiveModel`` refuses, and nothing is made up for it.

Prompts read: ``evaluation/*``.

Deviations:
    Statements are judged by number, so that none is lost or counted twice. Entities are compared in lower case without
    punctuation and articles (ragas: letter by letter). The three questions come from one completion (ragas: three). An
    answer that is *unknown* states nothing and is noncommittal, without the model being asked. Without a hit the
    context carries and names nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kgrag import prompting
from kgrag.errors import InputError, ReplyUnusable
from kgrag.evaluation.datasets import Question
from kgrag.evaluation.experiment_report import Experiment, Judging, Row
from kgrag.evaluation.metrics import normalised
from kgrag.llm import structured_output
from kgrag.model import Prompt, Usage
from kgrag.ports import Embedder, LanguageModel
from kgrag.vocab import digest

__all__ = ["check_judge", "statement_f1", "with_judgements"]

_WEIGHT_OF_STATEMENTS = 0.75

Key = TypeVar("Key", bound=Hashable)
Scores = dict[int, dict[str, float]]


def check_judge(model: LanguageModel, questions: Sequence[Question]) -> None:
    """Ask the model for one reply, so that one that cannot judge is refused before anything is measured.

    What is asked here is asked again when judging, and a model behind a cache is then not asked twice.

    Raises:
        InputError: no question has a right answer.
        UnsupportedTask: the model only copies from text.
        ServiceError: the model does not answer.
    """
    answer = next((question.answers[0] for question in questions if question.answers), None)
    if answer is None:
        raise InputError("no question has a right answer, and a judge compares with one. Leave --judge out.")
    model.complete([_prompt("entities", text=answer)])


def with_judgements(experiment: Experiment, *, model: LanguageModel, embedder: Embedder) -> Experiment:
    """Return the same experiment with the judged scores, for every row whose question has a right answer.

    Args:
        experiment: what was measured; rows have the hits that count, and the answer where answers were measured.
        model: judges.
        embedder: for the cosines.

    Raises:
        UnsupportedTask: the model only copies from text.
        ServiceError: the model or the embedder does not answer.
    """
    judge = _CountingJudge(model)
    rows = {place: row for place, row in enumerate(experiment.rows) if row.question.answers}
    answered = {place: row for place, row in rows.items() if row.answer is not None}
    parts = (
        _context_recall(judge, rows, experiment.k),
        _entity_recall(judge, rows, experiment.k),
        _correctness(judge, answered, embedder),
        _relevance(judge, answered, embedder),
    )
    scored = [
        replace(row, scores={**row.scores, **{name: value for part in parts for name, value in part[place].items()}})
        for place, row in enumerate(experiment.rows)
    ]
    cost = Judging(model.identity, judge.usage, judge.unreadable)
    return replace(experiment, rows=tuple(scored), judging=cost)


@dataclass(slots=True)
class _CountingJudge:
    """The model, what it cost so far, and how many of its replies could not be read."""

    model: LanguageModel
    usage: Usage = field(default_factory=Usage)
    unreadable: int = 0

    def ask(self, prompts: Mapping[Key, Prompt]) -> dict[Key, Any]:
        """Return the reply to each prompt, the same prompt asked once; unreadable ones are left out and counted."""
        distinct = list({prompt.text: prompt for prompt in prompts.values()}.values())
        completions = self.model.complete(distinct) if distinct else []
        self.usage = sum((completion.usage for completion in completions), self.usage)
        replies: dict[str, Any] = {}
        for prompt, completion in zip(distinct, completions, strict=True):
            try:
                replies[prompt.text] = structured_output.json_of(completion)
            except ReplyUnusable:
                self.unreadable += 1
        return {key: replies[prompt.text] for key, prompt in prompts.items() if prompt.text in replies}


def _prompt(name: str, **variables: Any) -> Prompt:
    # a line that no text under judgement can foresee, so that orders in it stay text
    boundary = f"=== {digest(name, *(str(value) for value in variables.values()))[:12]} ==="
    return prompting.render(f"evaluation/{name}", boundary=boundary, **variables)


def _right_answer(row: Row) -> str:
    return row.question.answers[0]


def _context_recall(judge: _CountingJudge, rows: Mapping[int, Row], k: int) -> Scores:
    name = f"judged context recall@{k}"
    found: Scores = defaultdict(dict)
    prompts = {}
    for place, row in rows.items():
        if row.hits:
            context = [hit.text for hit in row.hits]
            question = row.question.text
            prompts[place] = _prompt("attribution", question=question, context=context, answer=_right_answer(row))
        else:
            found[place][name] = 0.0
    for place, data in judge.ask(prompts).items():
        sentences = data["sentences"]
        found[place][name] = sum(sentence["attributed"] for sentence in sentences) / len(sentences)
    return found


def _entity_recall(judge: _CountingJudge, rows: Mapping[int, Row], k: int) -> Scores:
    found: Scores = defaultdict(dict)
    wanted = _entities(judge, {place: _right_answer(row) for place, row in rows.items()})
    named = _entities(judge, {place: "\n".join(hit.text for hit in row.hits) for place, row in rows.items()})
    for place, entities in wanted.items():
        if entities and place in named:
            share = len(entities & named[place]) / len(entities)
            found[place][f"judged context entity recall@{k}"] = share
    return found


def _entities(judge: _CountingJudge, texts: Mapping[int, str]) -> dict[int, set[str]]:
    """Return the entities of each text that has any words, as they are compared."""
    replies = judge.ask({place: _prompt("entities", text=text) for place, text in texts.items() if text.strip()})
    found = {place: {normalised(entity) for entity in data["entities"]} - {""} for place, data in replies.items()}
    return {place: set[str]() for place, text in texts.items() if not text.strip()} | found


def _correctness(judge: _CountingJudge, rows: Mapping[int, Row], embedder: Embedder) -> Scores:
    found: Scores = defaultdict(dict)
    similar = _cosines(
        embedder, {place: (_answer_text(row), [_right_answer(row)]) for place, row in rows.items()}, "passage"
    )
    factual = _statement_scores(judge, rows)
    for place, cosine in similar.items():
        found[place]["answer similarity"] = cosine
        if place in factual:
            share = _WEIGHT_OF_STATEMENTS * factual[place] + (1 - _WEIGHT_OF_STATEMENTS) * cosine
            found[place]["judged answer correctness"] = share
    return found


def _statement_scores(judge: _CountingJudge, rows: Mapping[int, Row]) -> dict[int, float]:
    """Return the F1 of the statements of each answer against those of the right one."""
    certain = {place: row for place, row in rows.items() if not _is_unknown(row)}
    given = _statements(judge, certain, right=False)
    expected = _statements(judge, certain, right=True)
    both = {place: (given[place], expected[place]) for place in given if expected.get(place)}
    prompts = {
        place: _prompt("correctness", question=rows[place].question.text, given=ours, expected=theirs)
        for place, (ours, theirs) in both.items()
        if ours
    }
    found = {place: 0.0 for place, row in rows.items() if _is_unknown(row) or (place in both and not both[place][0])}
    for place, data in judge.ask(prompts).items():
        ours, theirs = (len(part) for part in both[place])
        supported, present = set(data["supported"]), set(data["present"])
        true = len(supported & set(range(1, ours + 1)))
        missed = theirs - len(present & set(range(1, theirs + 1)))
        found[place] = statement_f1(true, ours - true, missed)
    return found


def statement_f1(true: int, false: int, missed: int) -> float:
    """Return the F1 of statements: those that the right answer supports, those that it does not, and those missing.

    >>> statement_f1(1, 1, 1)
    0.5
    """
    return true / (true + 0.5 * (false + missed)) if true else 0.0


def _statements(judge: _CountingJudge, rows: Mapping[int, Row], *, right: bool) -> dict[int, list[str]]:
    prompts = {
        place: _prompt(
            "statements", question=row.question.text, answer=_right_answer(row) if right else _answer_text(row)
        )
        for place, row in rows.items()
    }
    return {place: list(data["statements"]) for place, data in judge.ask(prompts).items()}


def _relevance(judge: _CountingJudge, rows: Mapping[int, Row], embedder: Embedder) -> Scores:
    name = "judged answer relevance"
    found: Scores = defaultdict(dict, {place: {name: 0.0} for place, row in rows.items() if _is_unknown(row)})
    certain = {place: row for place, row in rows.items() if not _is_unknown(row)}
    replies = judge.ask({place: _prompt("questions", answer=_answer_text(row)) for place, row in certain.items()})
    guessed = {place: (certain[place].question.text, list(data["questions"])) for place, data in replies.items()}
    for place, cosine in _cosines(embedder, guessed, "query").items():
        found[place][name] = 0.0 if replies[place]["noncommittal"] else cosine
    return found


def _cosines(embedder: Embedder, pairs: Mapping[int, tuple[str, list[str]]], kind: Any) -> dict[int, float]:
    """Return the mean cosine of each text with its others, all embedded at once."""
    texts = sorted({text for first, others in pairs.values() for text in (first, *others)})
    if not texts:
        return {}
    vectors = dict(zip(texts, embedder.embed(texts, kind), strict=True))
    return {
        place: sum(float(vectors[first] @ vectors[other]) for other in others) / len(others)
        for place, (first, others) in pairs.items()
    }


def _answer_text(row: Row) -> str:
    return row.answer.text if row.answer is not None else ""


def _is_unknown(row: Row) -> bool:
    return row.answer is not None and (row.answer.unknown or not row.answer.text.strip())
