"""What chat programs ask for besides questions: a title, tags, further questions (Open WebUI's task prompts).

A language model does what the prompt says. The extractive model cannot, so a title is the beginning of the first
question, and there are no tags and no further questions.
"""

from __future__ import annotations

import json
import re

from kgrag.errors import UnsupportedTask
from kgrag.late_patterns import late_re
from kgrag.llm import structured_output
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel

__all__ = ["is_side_task", "side_task"]

_HISTORY = late_re(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_MAX_TITLE_WORDS = 6


def is_side_task(text: str) -> bool:
    """Return whether a message is a prompt about its conversation, and not a question."""
    return text.lstrip().startswith("### Task:") and _HISTORY.search(text) is not None


def side_task(text: str, model: LanguageModel) -> tuple[str, Usage]:
    """Return the reply to such a prompt, and what it cost.

    Raises:
        ServiceError: the model could not be reached or refused.
    """
    try:
        completion = model.complete([Prompt("chat/side_task", text)])[0]
        return structured_output.text_of(completion), completion.usage
    except UnsupportedTask:
        wanted = re.search(r'\{\s*"(title|tags|follow_ups|queries)"', text)
        name = wanted[1] if wanted else "title"
        return json.dumps({name: _title(text) if name == "title" else []}, ensure_ascii=False), Usage()


def _title(text: str) -> str:
    history = _HISTORY.search(text)
    first = re.search(r"USER:\s*(.+)", history[1] if history else "")
    return " ".join((first[1] if first else "Question").split()[:_MAX_TITLE_WORDS])
