"""Answers a question with words of the evidence, or *unknown*; fulfils ``answering/answer``.

Of prose whole sentences are quoted, ranked by ``sentence_ranking``; a term that such a sentence explains is quoted with
it, and those beside it about the same term (``sentence_windows``). Of facts the pairs asked for are quoted
(``evidence_facts``). A further sentence is added where it continues from a name in the first, or brings a name of the
question that is missing.

Before all that, a question that goes from a name over relations to a value is followed through the passages about
those names (``chained_answers``), and where one of them is missing, its name is returned to be looked up. A question
about two names is decided by the passages about both (``compared_names``), one that yes or no answers by the results
of a study (``study_findings``). Where a question of several steps cannot be followed, the answer is unknown and the
missing step is named: sentences that are ranked by themselves were nearly always wrong there.

The answer is unknown where the best sentence of prose is too improbable, and where facts cover too little of the
question. The best sentences of three pieces are named all the same, for a person to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import regex

from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.asked_measures import count_lacking, measure_lacking, price_lacking
from kgrag.llm.extractive.broken_words import unbroken
from kgrag.llm.extractive.direct_readings import read_directly
from kgrag.llm.extractive.document_editions import in_force
from kgrag.llm.extractive.evidence_facts import FactLine, fact_candidates, is_fact, read_fact
from kgrag.llm.extractive.evidence_sentences import Candidate, EvidenceText, ProseSentence, once, read_sentences
from kgrag.llm.extractive.excepted_groups import with_exception
from kgrag.llm.extractive.fact_values import fact_confidence, fact_values
from kgrag.llm.extractive.footnotes import with_footnotes
from kgrag.llm.extractive.kept_until import answered_by_end
from kgrag.llm.extractive.measured_things import states_asked, with_measure_first
from kgrag.llm.extractive.other_things import other_thing
from kgrag.llm.extractive.question_languages import (
    asked_in,
    language_to_answer_in,
    question_language,
    value_lacking_in,
)
from kgrag.llm.extractive.question_names import NamesAsked, name_lacking, names_asked, names_by_piece
from kgrag.llm.extractive.question_words import WeighedQuestion, read_question, terms
from kgrag.llm.extractive.role_rows import read_role
from kgrag.llm.extractive.rule_words import topic_lacking
from kgrag.llm.extractive.sentence_ranking import (
    FITTED_EMBEDDER,
    Nearness,
    RankedSentence,
    probability,
    ranked,
    stated_confidence,
)
from kgrag.llm.extractive.sentence_windows import sentence_window
from kgrag.llm.extractive.several_answers import further_rows, several_asked
from kgrag.llm.extractive.stated_counts import counts_stated
from kgrag.llm.extractive.table_answers import NOT_NAMED, read_table_answer, without_rows_of_others
from kgrag.llm.extractive.value_owners import owner_lacking
from kgrag.llm.extractive.value_vetoes import value_lacking
from kgrag.llm.extractive.weak_answers import (
    MIN_PROBABILITY,
    is_a_part,
    is_rarely_right,
    probability_needed,
    subject_lacking,
    why_vetoed,
)
from kgrag.text.sentences import words

__all__ = ["MIN_PROBABILITY", "reply", "with_value_first"]

_MIN_COVERAGE = 0.42
"""Share of the question (by weight) that the sentences of an answer from facts cover together, at least."""
_MIN_COVERAGE_PER_SENTENCE = 0.06
"""Added to that for each further sentence of prose, since words of distant sentences cover a question by chance."""
_MIN_FIRST_COVERAGE = 0.28
"""Share of the question that the first sentence alone covers, at least."""
_MIN_GAIN = 0.12
"""Share of the question that a further sentence adds, at least."""
_MAX_SENTENCES = 3
_MAX_NEAREST = 3
_MIN_SHARE_OF_BEST_FACT = 0.95
_MAX_VALUES_LOOKED_FOR = 8
"""Of the best sentences, those in which a value is looked for that the best one lacks."""
_CONTEXT_WEIGHT = 0.6
_RANK_COST = 0.02

_NAME = late_regex(r"\p{Lu}[\p{L}\p{M}'’-]+")
_RankedPart = tuple[WeighedQuestion, Sequence[RankedSentence]]
_ASKS_FOR_A_TERM = late_regex(
    r"\s*(?:(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must|happens)\b)"
    r"\p{L}|how\s+(?:do|does|can|could|should|to)\b)",
    flags=regex.IGNORECASE,
)
"""Asks for one of a kind ("Which mode …?", "What port …?") or for a way, which the explained term often is."""
_NO_NAME = late_regex(r".*\?|\p{N}+(?:\s*(?:[,/-]|or|and|to)\s*\p{N}+)+", flags=regex.DOTALL)
"""A label that names nothing: a question, and the values that a setting may have ("0 or 1")."""


def reply(variables: Mapping[str, Any], nearness: Nearness | None = None) -> dict[str, Any]:
    """Return the reply to ``answering/answer``: at most three sentences, each quoted word by word.

    Args:
        variables: ``question`` (text) and ``evidence`` (list of number, kind, heading, text, source, before,
            following).
        nearness: cosines of the embedder; None goes by words alone. Of another embedder than the one of the fit, only
            the order of sentences depends on it.

    Returns:
        ``unknown``, ``sentences`` as any model returns them, and what other models leave out: ``confidence``, the
        probability that the answer is right (prose, with the embedder of the fit); ``values``, the short answer where
        the sentences are the steps to it, and ``look_up``, names of which a passage may complete such steps; where
        there is no answer ``nearest``, the best sentences, ``reason``, why there is none, and ``not_stated``, the step
        of a question of several that is missing.
    """
    # the patterns of relations take time to compile, which only questions need
    from kgrag.llm.extractive.chained_answers import read_chain
    from kgrag.llm.extractive.compared_names import PairReading, read_pair
    from kgrag.llm.extractive.described_names import DescriptionReading, read_description
    from kgrag.llm.extractive.study_findings import read_findings

    pieces, asked = variables["evidence"], str(variables["question"])
    texts = in_force(asked, [_evidence_text(piece) for piece in pieces])
    if any(piece.get("in_order") for piece in pieces):  # whole tables, to which nothing but their rows is asked
        return read_table_answer(asked, texts, in_order=True) or {"unknown": True, "sentences": []}
    reading = read_chain(asked, texts)
    pair = PairReading({}) if reading.reply or reading.not_stated else read_pair(asked, texts)
    found = dict(reading.reply or pair.reply or read_findings(asked, texts))
    found = found or read_directly(asked, texts)
    of_tables = {} if found else read_role(asked, texts) or read_table_answer(asked, texts)
    whole_tables = of_tables.pop("whole_tables", [])
    found = found or (of_tables if "reason" in of_tables or not of_tables.get("unknown") else {})
    if not found:
        looked_up = any(piece.get("looked_up") for piece in pieces)
        ranked_for = partial(_ranked, texts=texts, nearness=nearness)
        found = {"unknown": True, "sentences": []} if looked_up else answered_by_end(asked, texts, ranked_for)
        found = found if counts_stated(asked, found) else without_rows_of_others(asked, found, texts)
    if reading.not_stated and not _is_direct(asked, found) and not any(map(is_fact, texts)):
        found = _without_step(found, reading.not_stated)
    is_chain = bool(reading.reply or reading.not_stated or reading.look_up)
    is_open = bool(found.get("unknown")) and not is_chain and not any(map(is_fact, texts))
    described = read_description(asked, texts) if is_open else DescriptionReading({})
    found = with_footnotes(with_exception(asked, dict(described.reply) or found, texts), texts)
    look_up = list(dict.fromkeys((*reading.look_up, *pair.look_up, *described.look_up)))
    return found | ({"look_up": look_up} if look_up else {}) | ({"whole_tables": whole_tables} if whole_tables else {})


def _without_step(found: Mapping[str, Any], step: str) -> dict[str, Any]:
    """Return *unknown* because of a step that is not stated; what would have been the answer is what comes nearest."""
    quotes = [quote for row in found["sentences"] for quote in row["citations"]]
    nearest = found.get("nearest") or quotes[:_MAX_NEAREST]
    reply = {"unknown": True, "sentences": [], "not_stated": step, "reason": f"The evidence does not state {step}."}
    return reply | ({"nearest": nearest} if nearest else {})


def _is_direct(question: str, found: Mapping[str, Any]) -> bool:
    """Return whether a sentence of an answer has the words of a question, steps and all: "Rain's director was born"."""
    asked = frozenset(terms(question))
    return any(asked <= frozenset(terms(row["text"])) for row in found["sentences"])


def _ranked(asked: str, texts: Sequence[EvidenceText], nearness: Nearness | None) -> dict[str, Any]:
    """Return the sentences that answer a question best, each by itself."""
    facts = [read_fact(text) for text in texts if is_fact(text)]
    language = language_to_answer_in(asked, [text.text for text in texts])
    read = [text for text in texts if text.source or not is_fact(text)]
    sentences = [line for text in read for line in read_sentences(text, language)]
    pairs = dict.fromkeys(pair for fact in facts for pair in fact.pairs if not pair.is_placeholder)
    units = [pair.key_terms | pair.value_terms for pair in pairs]
    units += [one.own | one.about | one.around for one in sentences]
    fitted = nearness is not None and nearness.identity == FITTED_EMBEDDER
    if language != ENGLISH:
        rules = question_language(language)
        names = {"names": rules.names} if rules else {}
        question = read_question(asked, units, language=language, **names)
        rows = ranked(asked, question, texts, sentences, nearness, language)
        return _in_language(asked, question, rows, language, by_words=not fitted)
    question = read_question(asked, units)
    rows = ranked(asked, question, texts, sentences, nearness)
    if not fitted or facts:
        by_words = nearness is None or bool(facts)
        prose = _prose_candidates(question, rows, by_words=by_words, items=several_asked(asked).items)
        chosen = _choose(question, [*fact_candidates(question, facts), *prose])
        if chosen and chosen[0].is_fact and (lacking := _fact_name_lacking(asked, chosen, facts, texts)):
            return _unknown(asked, rows, f"{NOT_NAMED} {lacking}.")
        if not fitted or not rows or (chosen and chosen[0].is_fact):
            return (
                _answered_by_words(asked, question, chosen)
                if _covers_enough(question, chosen)
                else _unknown(asked, rows, "")
            )
    if not rows:
        return _unknown(asked, rows, why_vetoed(asked, texts))
    named = names_by_piece(asked, texts)
    first = with_measure_first(asked, with_value_first(asked, rows, named))
    return _by_probability(asked, question, first, named, lambda part: _ranked_again(part, texts, sentences, nearness))


def _fact_name_lacking(
    asked: str, chosen: Sequence[Candidate], facts: Sequence[FactLine], texts: Sequence[EvidenceText]
) -> str:
    """Return the name of a question that neither the facts of its answer have, whole, nor their headings."""
    numbers = {number for candidate in chosen for number, _ in candidate.quotes}
    found = [_found_of(chosen), *(fact.all_terms for fact in facts if fact.number in numbers)]
    found += [frozenset(terms(f"{text.title} {text.heading}")) for text in texts if text.number in numbers]
    return name_lacking(names_asked(asked), frozenset[str]().union(*found))


def _by_probability(
    asked: str,
    question: WeighedQuestion,
    rows: Sequence[RankedSentence],
    names: NamesAsked,
    ranked_for: Callable[[str], _RankedPart],
) -> dict[str, Any]:
    """Return the answer that begins with the first of the ranked sentences; *unknown* where that is too improbable.

    ``ranked_for`` ranks the sentences for a part of the question.
    """
    confidence = round(probability(question, rows), 3)
    several, is_measured = several_asked(asked), states_asked(asked, rows[0].sentence)
    if several.first and (both := _both_answers((several.first, several.second), ranked_for)):
        return both
    term_asked = _ASKS_FOR_A_TERM.match(asked) is not None
    candidates = list(_prose_candidates(question, rows, items=several.items, term_asked=term_asked))
    chosen = _choose(question, candidates, first=candidates[0])
    reason = ""
    if lacking := value_lacking(asked, " ".join(candidate.text for candidate in chosen)) or _measure_lacking(
        asked, rows[0].sentence
    ):
        reason = f"The best sentence has no {lacking}."
    elif lacking := subject_lacking(asked, rows[0].sentence):
        reason = f"The best sentence and its headings do not name {lacking}."
    elif not is_measured and confidence < (needed := probability_needed(asked, rows)):
        reason = f"The best sentence answers with a probability of {confidence}, and {needed} is needed."
    elif name := names.lacking(rows[0].sentence.number, _found_of(chosen if several.sides else chosen[:1])):
        reason = f"The best sentence and its headings do not name {name}."
    elif is_a_part(asked, question, rows[0].sentence):
        reason = "The best sentence has only a part of what the question says."
    elif not is_measured and not several.second and is_rarely_right(asked, rows[0], confidence):
        reason = "Of such sentences fewer than one in five was the answer."
    if reason:
        return _unknown(asked, rows, reason) | {"confidence": confidence}
    first = [rows[candidates.index(candidate)] for candidate in chosen]
    further = further_rows(several, first, rows, ranked_for(several.second)[1] if several.second else ())
    window = sentence_window(asked, first[0], rows)
    opening = candidates[rows.index(window[0])]
    beside = [row for row in window[1:] if row not in (*first[1:], *further)]
    chosen = [opening, *map(_continuing, beside), *chosen[1:], *(candidates[rows.index(row)] for row in further)]
    return _answered(once(chosen)) | {"confidence": stated_confidence(asked, rows[0].sentence, confidence)}


def _in_language(
    asked: str, question: WeighedQuestion, rows: Sequence[RankedSentence], language: str, *, by_words: bool
) -> dict[str, Any]:
    """Return the answer to a question in another language than English, with the sentences that belong to the best.

    With ``by_words`` it is one if it covers enough of the question. Without a confidence: what is fitted was fitted on
    English questions.
    """
    known = frozenset(words(asked))
    of_best = probability(question, rows) if rows else 0.0
    rows = _with_first(rows, lambda one: _lacking_in(asked, one, language, known))
    if not rows:
        return _unknown(asked, rows, "")
    term_asked = asked_in(asked, language).kind == "text"
    candidates = list(_prose_candidates(question, rows, term_asked=term_asked))
    given = round(probability(question, rows), 3)
    if asked_in(asked, language).kind == "boolean" and not topic_lacking(asked, rows[0].sentence.all_terms, language):
        given = max(given, round(of_best, 3))  # a sentence with all that is asked is no worse than the one it passed
    reason = ""
    if lacking := value_lacking_in(asked, candidates[0].text, language, known) or _owner_lacking(
        asked, rows[0].sentence, language
    ):
        reason = f"The best sentence has no {lacking}."
    elif by_words and not _covers_enough(question, candidates[:1]):
        reason = "The best sentence has too little of what the question says."
    elif not by_words and given < MIN_PROBABILITY:
        reason = f"The best sentence answers with a probability of {given}, and {MIN_PROBABILITY} is needed."
    if reason:
        return _unknown(asked, rows, reason)
    window = sentence_window(asked, rows[0], rows) if term_asked else rows[:1]
    opening = candidates[rows.index(window[0])]
    return _answered(once([opening, *map(_continuing, window[1:])]))


def _both_answers(parts: Sequence[str], ranked_for: Callable[[str], _RankedPart]) -> dict[str, Any]:
    """Return the answers to two questions, {} where one of them by itself has none; the confidence is the lower one."""
    chosen, stated = [], []
    for part in parts:
        question, rows = ranked_for(part)
        if not rows or (given := probability(question, rows)) < MIN_PROBABILITY:
            return {}
        first = next(_prose_candidates(question, rows[:1], items=several_asked(part).items))
        if value_lacking(part, first.text) or is_a_part(part, question, rows[0].sentence):
            return {}
        chosen.append(first)
        stated.append(stated_confidence(part, rows[0].sentence, given))
    return _answered(once(chosen)) | {"confidence": min(stated)}


def with_value_first(
    asked: str, rows: Sequence[RankedSentence], names: NamesAsked | None = None
) -> list[RankedSentence]:
    """Return the sentences with the best one first that has a value of the kind asked for, if it is among the best.

    One that has the names of the question too comes before one that lacks them.
    """

    def lacking(one: ProseSentence) -> str:
        named = names.lacking(one.number, one.all_terms) if names else ""
        return value_lacking(asked, _with_label(one)) or _measure_lacking(asked, one) or named

    best = _with_first(rows, lacking)
    return (
        best
        if not rows or not lacking(best[0].sentence)
        else _with_first(rows, lambda one: value_lacking(asked, _with_label(one)))
    )


def _found_of(chosen: Sequence[Candidate]) -> frozenset[str]:
    return frozenset[str]().union(*(candidate.found for candidate in chosen))


def _measure_lacking(asked: str, one: ProseSentence) -> str:
    """Return the dimension, unit, counted or priced thing that a sentence lacks, with what stands above it."""
    found = one.all_terms
    lacking = measure_lacking(asked, one.meaning) or price_lacking(asked, found) or count_lacking(asked, found)
    return lacking or other_thing(asked, one, ENGLISH)


def _with_label(one: ProseSentence) -> str:
    return unbroken(f"{one.label} {one.text} {' '.join(one.items)}")


def _lacking_in(asked: str, one: ProseSentence, language: str, known: frozenset[str]) -> str:
    """Return what a sentence lacks in another language than English: a value, its owner, what yes or no is said of."""
    if asked_in(asked, language).kind == "boolean" and (lacking := topic_lacking(asked, one.all_terms, language)):
        return lacking
    return value_lacking_in(asked, _with_label(one), language, known) or _owner_lacking(asked, one, language)


def _owner_lacking(asked: str, one: ProseSentence, language: str) -> str:
    before, kind = one.before.text if one.before else "", asked_in(asked, language).kind
    lacking = owner_lacking(asked, kind, one.text, f"{before} {one.meaning}", language, one.earlier)
    return lacking or other_thing(asked, one, language)


def _with_first(rows: Sequence[RankedSentence], lacking: Callable[[ProseSentence], str]) -> list[RankedSentence]:
    for place, row in enumerate(rows[:_MAX_VALUES_LOOKED_FOR]):
        if not lacking(row.sentence):
            return [row, *rows[:place], *rows[place + 1 :]]
    return list(rows)


def _continuing(row: RankedSentence) -> Candidate:
    """Return a sentence as it is, since the one before it in the answer names what it is about."""
    one = row.sentence
    return Candidate(" ".join(one.text.split()), ((one.number, one.text),), one.all_terms, row.score)


def _ranked_again(
    part: str, texts: Sequence[EvidenceText], sentences: Sequence[ProseSentence], nearness: Nearness | None
) -> _RankedPart:
    """Return a part of the question, weighed, and the sentences in the order in which they answer it."""
    question = read_question(part, [one.own | one.about | one.around for one in sentences])
    rows = ranked(part, question, texts, sentences, nearness)
    return question, with_value_first(part, rows, names_by_piece(part, texts))


def _evidence_text(piece: Mapping[str, Any]) -> EvidenceText:
    names = ("kind", "heading", "text", "source", "before", "following", "title")
    return EvidenceText(int(piece["number"]), *(str(piece.get(name, "")) for name in names))


def _answered(chosen: Sequence[Candidate]) -> dict[str, Any]:
    rows = []
    for candidate in chosen:
        citations = [{"evidence": number, "quote": quote} for number, quote in candidate.quotes]
        rows.append({"text": candidate.text, "citations": citations})
    return {"unknown": False, "sentences": rows}


def _answered_by_words(asked: str, question: WeighedQuestion, chosen: Sequence[Candidate]) -> dict[str, Any]:
    """Return an answer that words alone were compared for; with confidence and values where it begins with a fact."""
    if not chosen[0].is_fact:
        return _answered(chosen)
    values = fact_values(asked, chosen)
    confidence = fact_confidence(question.coverage(_found_of(chosen)), values)
    return _answered(chosen) | {"confidence": confidence} | ({"values": values} if values else {})


def _unknown(asked: str, rows: Sequence[RankedSentence], reason: str) -> dict[str, Any]:
    """Return *unknown* with the best sentences, of one piece each; in the language of the question if any are in it."""
    language = language_of(asked, "")
    own = [row for row in rows if language and language_of(row.sentence.text, language) == language]
    best: dict[int, str] = {}
    for row in own or rows:
        best.setdefault(row.sentence.number, row.sentence.text)
    nearest = [{"evidence": number, "quote": quote} for number, quote in best.items()][:_MAX_NEAREST]
    extra = {"reason": reason, "nearest": nearest}
    return {"unknown": True, "sentences": []} | {name: value for name, value in extra.items() if value}


def _covers_enough(question: WeighedQuestion, chosen: Sequence[Candidate]) -> bool:
    """Return whether the chosen sentences cover the question well enough to be an answer."""
    if not chosen or question.coverage(chosen[0].found) < _MIN_FIRST_COVERAGE:
        return False
    further_prose = sum(not candidate.is_fact for candidate in chosen[1:])
    covered = question.coverage(frozenset().union(*(candidate.found for candidate in chosen)))
    return covered >= _MIN_COVERAGE + _MIN_COVERAGE_PER_SENTENCE * further_prose


def _choose(
    question: WeighedQuestion, candidates: Sequence[Candidate], *, first: Candidate | None = None
) -> list[Candidate]:
    """Return the best candidate, or ``first``, then those that add to it."""
    chosen = [] if first is None else [first]
    rest = [candidate for candidate in candidates if candidate is not first]
    while rest and len(chosen) < _MAX_SENTENCES:
        gains = [_gain(question, candidate, chosen) for candidate in rest]
        best = max(range(len(rest)), key=gains.__getitem__)
        if chosen and gains[best] < _MIN_GAIN:
            break
        chosen.append(rest.pop(best))
    return chosen


def _gain(question: WeighedQuestion, candidate: Candidate, chosen: Sequence[Candidate]) -> float:
    """Return what a candidate adds: nothing when it repeats the chosen ones or has nothing to do with them."""
    if not chosen:
        return candidate.score
    quoted = {quote for taken in chosen for _, quote in taken.quotes}
    if all(quote in quoted for _, quote in candidate.quotes):
        return 0.0
    if candidate.is_fact:
        return _MIN_GAIN + candidate.score if candidate.score >= _MIN_SHARE_OF_BEST_FACT * chosen[0].score else 0.0
    new = candidate.found.difference(*(taken.found for taken in chosen))
    # A further sentence continues from a name in the chosen ones, or brings a name of the question that they lack.
    links = frozenset().union(*(taken.links for taken in chosen)) - question.weights.keys()
    return question.coverage(new) if links & candidate.found or question.names & new else 0.0


def _prose_candidates(
    question: WeighedQuestion,
    rows: Sequence[RankedSentence],
    *,
    by_words: bool = False,
    items: bool = False,
    term_asked: bool = False,
) -> Iterator[Candidate]:
    """Yield the ranked sentences, each behind the sentence or the term that it needs to be understood.

    ``by_words`` scores them by shared words, as facts are; ``items`` are wanted, where a sentence introduces a list.
    With ``term_asked`` the term that a sentence explains is always shown: it is what the question asks for.
    """
    for row in rows:
        one = row.sentence
        own = question.coverage(one.own)
        if by_words and own <= 0:
            continue
        before = one.before
        needed = before if before and question.coverage(before.own - one.own) > 0 else None
        quoted = [needed, one] if needed else [one]
        parts = [" ".join(part.text.split()) for part in quoted]
        quotes = [(part.number, part.text) for part in quoted]
        is_term = term_asked and not _NO_NAME.fullmatch(one.label.strip())
        if one.labelled and (is_term or question.coverage(one.about) > 0):
            parts[0] = f"{' '.join(one.label.split())}: {parts[0]}"
            quotes.insert(0, (one.number, one.label))
        for shown in one.items if items and one.items else filter(None, (one.shown,)):
            parts.append(" ".join(shown.split()))
            quotes.append((one.number, shown))
        found = one.all_terms.union(*(part.own for part in quoted))
        context = _CONTEXT_WEIGHT * question.coverage(found - one.own)
        yield Candidate(
            text=" ".join(parts),
            quotes=tuple(quotes),
            found=found,
            score=own + context - _RANK_COST * one.number if by_words else row.score,
            links=frozenset(word for part in quoted for name in _NAME.findall(part.text) for word in terms(name)),
        )
