"""From a conversation to one question that can be understood alone. Prompt read: ``answering/standalone``.

Without a language model that can do this, a rule does: the last message of the user, and where it has at most five
words, the user's message before it in front of it ("When is chickpea sown in the Hill Zone? And lentil?").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from kgrag import prompting
from kgrag.errors import InputError, ReplyUnusable, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.model import Usage
from kgrag.ports import LanguageModel
from kgrag.vocab import digest

__all__ = ["PROMPT", "Turn", "full_question"]

PROMPT = "answering/standalone"
_MAX_TURNS = 8
_MAX_TURN_CHARACTERS = 2000
_MAX_QUESTION_CHARACTERS = 4000
_FEW_WORDS = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """A message; ``role`` is "user" or "assistant"."""

    role: str
    text: str


def full_question(turns: Sequence[Turn], model: LanguageModel) -> tuple[str, Usage]:
    """Return what the last message of the user asks, and what finding that out cost.

    Args:
        turns: the conversation, the oldest message first.
        model: rewrites the question; not asked where there is one message of the user.

    Raises:
        InputError: there is no message of the user.
        ServiceError: the model could not be reached or refused.
    """
    while turns and turns[-1].role != "user":
        turns = turns[:-1]
    asked = [turn.text.strip() for turn in turns if turn.role == "user"]
    if not asked or not asked[-1]:
        raise InputError("there is no message of the user. Ask something.")
    if len(asked) == 1:
        return asked[0], Usage()
    shown = [asdict(Turn(turn.role, turn.text[:_MAX_TURN_CHARACTERS])) for turn in turns[-_MAX_TURNS:]]
    boundary = f"=== {digest(*(turn['text'] for turn in shown))[:12]} ==="
    try:
        completion = model.complete([prompting.render(PROMPT, turns=shown, boundary=boundary)])[0]
        return structured_output.text_of(completion).strip()[:_MAX_QUESTION_CHARACTERS] or asked[-1], completion.usage
    except (UnsupportedTask, ReplyUnusable):
        return (f"{asked[-2]} {asked[-1]}" if len(asked[-1].split()) <= _FEW_WORDS else asked[-1]), Usage()
