"""From a conversation to one question that can be understood alone. Prompt read: ``answering/standalone``.

Without a language model that can do this, rules do (``kgrag.answering.follow_ups``); where they cannot, the question
says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kgrag import prompting
from kgrag.answering.courtesies import asks_why, is_courtesy, reply_to_courtesy, why_unknown
from kgrag.answering.evidence_counterparts import names_all
from kgrag.answering.follow_ups import Alike, Exchange, resolve
from kgrag.answering.reply_words import is_unknown_text
from kgrag.errors import InputError, ReplyUnusable, UnsupportedTask
from kgrag.languages import ENGLISH, language_of
from kgrag.llm import structured_output
from kgrag.model import Answer, Usage
from kgrag.ports import Embedder, LanguageModel
from kgrag.vocab import digest

__all__ = [
    "PROMPT",
    "FullQuestion",
    "History",
    "Turn",
    "answer_in_turn",
    "full_question",
    "last_question",
    "likeness",
    "said_without_search",
    "turns_of",
]

PROMPT = "answering/standalone"
_MAX_TURNS = 8
_MAX_TURN_CHARACTERS = 2000
_MAX_QUESTION_CHARACTERS = 4000
_ROLES = ("user", "assistant")


_UNCHECKED = MappingProxyType(
    {
        ENGLISH: "“{}” was put into the question before, and nothing cited names it: something else may be meant.",
        "de": "„{}“ wurde in die vorige Frage gesetzt, doch nichts Zitiertes nennt es: gemeint ist vielleicht anderes.",
        "fr": "« {} » a été mis dans la question précédente, mais rien de cité ne le nomme : est-ce bien le sens ?",
    }
)
"""Says that a fragment was put into the question before without a sign that it belongs there, by language."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A message; ``role`` is "user" or "assistant".

    Of an answer ``evidence`` are the texts that it was looked for in, and ``reason`` is why there is none; both are
    empty where they are not known.
    """

    role: str
    text: str
    evidence: tuple[str, ...] = ()
    reason: str = ""


History = Sequence[Turn | Answer | Mapping[str, str]]
"""What was said before, the oldest first: answers as ``ask`` returns them, turns, or messages as OpenAI's API has them
(``{"role": "user", "content": "…"}``)."""


@dataclass(frozen=True, slots=True)
class FullQuestion:
    """A question that can be understood alone, and what finding it cost; ``unresolved`` is why it may not be.

    ``put_in`` are the words that rules put into the question before, "" where they did not, and ``is_guess`` says that
    nothing showed that they belong there. ``reply`` is what is said to a message that is not searched.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    unresolved: str = ""
    put_in: str = ""
    is_guess: bool = False
    reply: str = ""


def turns_of(history: History) -> list[Turn]:
    """Return what was said before as turns.

    Raises:
        InputError: a message has another role, or no text.
    """
    turns: list[Turn] = []
    for said in history:
        if isinstance(said, Answer):
            texts = tuple(hit.text for hit in said.hits) or tuple(one.quote for one in said.citations)
            turns += [Turn("user", said.question), Turn("assistant", said.text, texts, _reason_of(said))]
        elif isinstance(said, Turn):
            turns.append(said)
        else:
            turns.append(Turn(str(said.get("role")), str(said.get("content") or said.get("text") or "")))
    for turn in turns:
        if turn.role not in _ROLES or not turn.text:
            raise InputError(
                f"the history has a message of the role {turn.role!r} with the text {turn.text[:50]!r}. "
                'Send {"role": "user" or "assistant", "content": "…"}.'
            )
    return turns


def _reason_of(answer: Answer) -> str:
    """Return why an answer is unknown: what was noted, else its text where that says more; "" where nothing does."""
    notes = " ".join(note for note in answer.explain if note != answer.unresolved)
    said = notes or ("" if is_unknown_text(answer.text) else answer.text)
    return said if answer.unknown else ""


def answer_in_turn(answer: Answer, message: str, full: FullQuestion) -> Answer:
    """Return an answer to a full question with the message that it was made of, and what making it cost.

    Where words were put into the question before and nothing shows that they belong there, it says so, and has neither
    a short answer nor a confidence: both are of a question that may not have been asked.
    """
    asked = message if full.text != message else ""
    doubt = _doubt(answer, full)
    if doubt:
        answer = replace(answer, values=(), confidence=None)
    unresolved = full.unresolved or doubt
    notes = (unresolved, *answer.explain) if unresolved else answer.explain
    usage = full.usage + answer.usage
    return replace(answer, asked=asked, unresolved=unresolved, explain=notes, usage=usage)


def said_without_search(full: FullQuestion, method: str) -> Answer | None:
    """Return the answer to a message for which nothing is searched; None for a question."""
    return Answer(full.text, full.reply, method, unknown=True) if full.reply else None


def _doubt(answer: Answer, full: FullQuestion) -> str:
    """Return that words which were put into a question may not belong there; "" where what is cited names them."""
    if not full.put_in or (answer.unknown and not full.is_guess):
        return ""
    places = (f"{one.place.title} {one.place.heading}" for one in answer.citations if one.place)
    cited = " ".join([*answer.sentences, *(one.quote for one in answer.citations), *places])
    if answer.unknown or full.put_in.isdecimal():  # a year often stands elsewhere in the text that is cited
        cited = " ".join([cited, *(hit.text for hit in answer.hits)])
    language = language_of(full.text)
    if names_all(full.put_in, cited, language):
        return ""
    return _UNCHECKED.get(language, _UNCHECKED[ENGLISH]).format(full.put_in)


def likeness(embedder: Embedder) -> Alike:
    """Return how alike words are by an embedder: the cosines of a text with others."""

    def alike(text: str, others: Sequence[str]) -> list[float]:
        vectors = embedder.embed([text, *others], "passage")
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    return alike


def full_question(turns: Sequence[Turn], model: LanguageModel, alike: Alike | None = None) -> FullQuestion:
    """Return what the last message of the user asks.

    Args:
        turns: the conversation, the oldest message first.
        model: rewrites the question; not asked where there is one message of the user.
        alike: compares words by meaning, for the rules.

    Raises:
        InputError: there is no message of the user.
        ServiceError: the model could not be reached or refused.
    """
    before, message = last_question(turns)
    if not any(turn.role == "user" for turn in before):
        return FullQuestion(message)
    if reply := _reply_without_search(message, before):
        return FullQuestion(message, reply=reply)
    turns = [*before, Turn("user", message)]
    shown = [{"role": turn.role, "text": turn.text[:_MAX_TURN_CHARACTERS]} for turn in turns[-_MAX_TURNS:]]
    boundary = f"=== {digest(*(turn['text'] for turn in shown))[:12]} ==="
    usage = Usage()
    try:
        completion = model.complete([prompting.render(PROMPT, turns=shown, boundary=boundary)])[0]
        usage = completion.usage
        text = " ".join(structured_output.text_of(completion).split())[:_MAX_QUESTION_CHARACTERS]
        return FullQuestion(text or message, usage)
    except (UnsupportedTask, ReplyUnusable):
        resolved = resolve(message, _exchanges(before, alike), alike)
        return FullQuestion(resolved.text, usage, resolved.unresolved, resolved.put_in, resolved.is_guess)


def _reply_without_search(message: str, before: Sequence[Turn]) -> str:
    """Return what is said to thanks, and to "Why?" behind an answer that could not be given; "" for a question."""
    asked = next(turn.text for turn in reversed(before) if turn.role == "user")
    if is_courtesy(message):
        return reply_to_courtesy(message, asked)
    last = before[-1]
    if asks_why(message) and last.role == "assistant" and (last.reason or is_unknown_text(last.text)):
        return why_unknown(last.reason, asked)
    return ""


def last_question(turns: Sequence[Turn]) -> tuple[list[Turn], str]:
    """Return what was said before the last message of the user, and that message.

    Raises:
        InputError: there is none.
    """
    place = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=-1)
    if place < 0 or not turns[place].text.strip():
        raise InputError("there is no message of the user. Ask something.")
    return list(turns[:place]), turns[place].text.strip()


def _exchanges(turns: Sequence[Turn], alike: Alike | None) -> list[Exchange]:
    """Return the turns as questions with their answers; each question is made full by those before it.

    What was not searched is no question: the one before it is followed up on.
    """
    exchanges: list[Exchange] = []
    is_question = False
    for place, turn in enumerate(turns):
        if turn.role == "user":
            said_before = turns[:place]
            is_question = not (exchanges and _reply_without_search(turn.text, said_before))
            if is_question:
                exchanges.append(Exchange(resolve(turn.text, exchanges, alike).text))
        elif exchanges and is_question:
            exchanges[-1] = Exchange(exchanges[-1].question, turn.text, turn.evidence)
    return exchanges
