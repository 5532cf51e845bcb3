"""What readers found answers to be, as named graphs: right, wrong, or missing what was asked for.

Graphs written: one feedback graph per answer and verdict; ``kgrag eval --feedback`` reads them as questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import pyoxigraph as ox

from kgrag.errors import InputError
from kgrag.model import Answer, GraphDraft
from kgrag.vocab import KG, PROV, RDF, Names

__all__ = ["VERDICTS", "Verdict", "feedback_draft"]

Verdict = Literal["right", "wrong", "missing"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_MAX_COMMENT_CHARACTERS = 4000


def feedback_draft(answer: Answer, verdict: Verdict, comment: str, *, names: Names) -> GraphDraft:
    """Return the graph of a reader's feedback; the same feedback on the same answer is one graph.

    Args:
        answer: what was judged; kept or not.
        verdict: "right"; "wrong"; "missing" where it lacks what was asked for.
        comment: what the reader wrote, such as what the answer should have been; "" for nothing.
        names: of the knowledge base.

    Raises:
        InputError: there is no such verdict, or the comment is longer than 4,000 characters.
    """
    comment = " ".join(comment.split())
    if verdict not in VERDICTS or len(comment) > _MAX_COMMENT_CHARACTERS:
        raise InputError(
            f"feedback {verdict!r} with a comment of {len(comment):,} characters. Use {', '.join(VERDICTS)}, and at "
            f"most {_MAX_COMMENT_CHARACTERS:,} characters."
        )
    turn = (answer.conversation, str(answer.turn))
    content = (answer.question, answer.method, answer.text, *turn, verdict, comment)
    iri = names.feedback(*content)
    chunks = [ox.NamedNode(chunk) for chunk in dict.fromkeys(citation.chunk for citation in answer.citations)]

    def triples() -> Iterator[ox.Triple]:
        yield ox.Triple(iri, RDF.type, KG.Feedback)
        stated = {KG.question: answer.question, KG.text: answer.text, KG.method: answer.method, KG.verdict: verdict}
        for predicate, text in (stated | ({KG.comment: comment} if comment else {})).items():
            yield ox.Triple(iri, predicate, ox.Literal(text))
        for chunk in chunks:
            yield ox.Triple(iri, PROV.wasDerivedFrom, chunk)

    graph = names.feedback_graph(*content)
    return GraphDraft(iri=graph, kind=KG.FeedbackGraph, triples=list(triples()), method=answer.method, sources=chunks)
