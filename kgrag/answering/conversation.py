"""From a conversation to one question that can be understood alone. Prompt read: ``answering/standalone``.

Without a language model that can do this, rules do (``kgrag.answering.follow_ups``); where they cannot, the question
says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from kgrag import prompting
from kgrag.answering.follow_ups import Alike, Exchange, resolve
from kgrag.errors import InputError, ReplyUnusable, UnsupportedTask
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
    "turns_of",
]

PROMPT = "answering/standalone"
_MAX_TURNS = 8
_MAX_TURN_CHARACTERS = 2000
_MAX_QUESTION_CHARACTERS = 4000
_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message; ``role`` is "user" or "assistant"."""

    role: str
    text: str


History = Sequence[Turn | Answer | Mapping[str, str]]
"""What was said before, the oldest first: answers as ``ask`` returns them, turns, or messages as OpenAI's API has them
(``{"role": "user", "content": "…"}``)."""


@dataclass(frozen=True, slots=True)
class FullQuestion:
    """A question that can be understood alone, and what finding it cost; ``unresolved`` is why it may not be."""

    text: str
    usage: Usage = field(default_factory=Usage)
    unresolved: str = ""


def turns_of(history: History) -> list[Turn]:
    """Return what was said before as turns.

    Raises:
        InputError: a message has another role, or no text.
    """
    turns: list[Turn] = []
    for said in history:
        if isinstance(said, Answer):
            turns += [Turn("user", said.question), Turn("assistant", said.text)]
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


def answer_in_turn(answer: Answer, message: str, full: FullQuestion) -> Answer:
    """Return an answer to a full question with the message that it was made of, and what making it cost."""
    asked = message if full.text != message else ""
    notes = (full.unresolved, *answer.explain) if full.unresolved else answer.explain
    usage = full.usage + answer.usage
    return replace(answer, asked=asked, unresolved=full.unresolved, explain=notes, usage=usage)


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
    turns = [*before, Turn("user", message)]
    shown = [asdict(Turn(turn.role, turn.text[:_MAX_TURN_CHARACTERS])) for turn in turns[-_MAX_TURNS:]]
    boundary = f"=== {digest(*(turn['text'] for turn in shown))[:12]} ==="
    usage = Usage()
    try:
        completion = model.complete([prompting.render(PROMPT, turns=shown, boundary=boundary)])[0]
        usage = completion.usage
        text = " ".join(structured_output.text_of(completion).split())[:_MAX_QUESTION_CHARACTERS]
        return FullQuestion(text or message, usage)
    except (UnsupportedTask, ReplyUnusable):
        resolved = resolve(message, _exchanges(before, alike), alike)
        return FullQuestion(resolved.text, usage, resolved.unresolved)


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
    """Return the turns as questions with their answers; each question is made full by those before it."""
    exchanges: list[Exchange] = []
    for turn in turns:
        if turn.role == "user":
            exchanges.append(Exchange(resolve(turn.text, exchanges, alike).text))
        elif exchanges:
            exchanges[-1] = Exchange(exchanges[-1].question, turn.text)
    return exchanges
