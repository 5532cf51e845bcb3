"""Conversations: questions that may be follow-ups of those before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgrag.answering import kept_conversations
from kgrag.answering.conversation import FullQuestion, answer_in_turn, said_without_search
from kgrag.answering.kept_conversations import KeptConversation
from kgrag.answering.opening_places import placed_answer
from kgrag.declarations import DEFAULT_METHOD
from kgrag.knowledge_base.question_calls import QuestionCalls, answer_attributes
from kgrag.model import Answer
from kgrag.telemetry import spanned

if TYPE_CHECKING:
    from kgrag.llm.budget import Budget

__all__ = ["Conversation", "ConversationCalls"]

_TURNS_BEHIND = 4
"""Turns of a conversation whose words a question may have: a language model is shown so many."""


class ConversationCalls(QuestionCalls):
    """What a knowledge base answers, one question after the other."""

    def conversation(self, name: str = "", *, budget: Budget | None = None) -> Conversation:
        """Return a conversation, whose questions may be follow-ups; one with a name is kept in the store.

        Args:
            name: continues the conversation of this name, or begins it; "" for one that is not kept.
            budget: the most that its questions may cost together from here on; one that may cost more than is left is
                not asked.
        """
        return Conversation(self if budget is None else self.asking(self.within(budget)), name)

    def conversations(self) -> list[KeptConversation]:
        """Return the kept conversations, the one that was asked last first."""
        return kept_conversations.conversations(self.store)


class Conversation:
    """Questions that may be follow-ups of those before them; its answers are kept as graphs where it has a name.

    >>> from kgrag.knowledge_base import KnowledgeBase
    >>> from kgrag.model import Document
    >>> from kgrag.testing import HashEmbedder
    >>> with KnowledgeBase(embedder=HashEmbedder()) as kb:
    ...     _ = kb.add(Document("In the Hill Zone, chickpea is sown in March."))
    ...     talk = kb.conversation()
    ...     answers = talk.ask("When is chickpea sown in the Hill Zone?"), talk.ask("And in the Coastal Zone?")
    >>> answers[1].asked, answers[1].question
    ('And in the Coastal Zone?', 'When is chickpea sown in the Coastal Zone?')
    """

    def __init__(self, knowledge_base: ConversationCalls, name: str = "") -> None:
        self.name = " ".join(name.split())
        self._kb = knowledge_base
        self._answers: list[Answer] | None = None if self.name else []

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The turns so far, each with what was written, its full question and its answer, in order."""
        if self._answers is None:
            store = self._kb.store
            kept = kept_conversations.answers(self.name, store)
            self._answers = [placed_answer(answer, store) for answer in kept]
        return tuple(self._answers)

    @spanned("invoke_agent kgrag", "invoke_agent", answer_attributes)
    def ask(self, question: str, *, on_question: Callable[[FullQuestion], None] | None = None, **asked: Any) -> Answer:
        """Answer the next question.

        Args:
            question: may leave out what was said before.
            on_question: called with the full question, before anything is searched.
            asked: as of ``KnowledgeBase.ask``, but for the history and ``keep``.

        Raises:
            NotWritable: it has a name, and the knowledge base is read only.
            BudgetSpent: it may cost more than is left of the budget; then nothing was asked of the language model.
        """
        within = self._kb.affording(asked.pop("budget", None), question, history=self.answers, **asked)
        full = within.full_question(question, self.answers)
        if on_question is not None:
            on_question(full)
        answer = said_without_search(full, asked.get("method", DEFAULT_METHOD)) or within.answered(full.text, **asked)
        return self.add(answer_in_turn(answer, question, full))

    def add(self, answer: Answer) -> Answer:
        """Take an answer as the next turn, and keep it where the conversation has a name; returns it with its turn."""
        before = self.answers
        turn = max((one.turn for one in before), default=0) + 1
        answer = replace(answer, turn=turn, conversation=self.name)
        if self.name:
            self._kb.keep(answer, after=before[-_TURNS_BEHIND:] if answer.asked else ())
        self._answers = [*before, answer]
        return answer
