"""A scripted reader that knows the gold answers, behind a real HTTP service on loopback: an upper bound, not a result.

    python -m benchmarks.poly_rag_reader [--set pyramid|popqa] [--wrong SHARE] [--port N]

It stands in for a language model where none is at hand, so that what the pyramid itself does (which layer is asked,
when the descent stops, what is retrieved) is measured apart from how well a model reads. It answers what the prompts of
a question ask, out of what stands in the prompt: a query over the schema and the names that it is shown, "sufficient"
when a gold triple is among the triples, a gold answer when that stands in the evidence. What is not shown it does not
say. With ``--wrong 0.2`` a fifth of its replies, drawn by prompt, are wrong: another
property, the contrary judgement, another name of the evidence. Everything else is refused (HTTP 400).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from benchmarks import data_folder
from benchmarks.poly_rag_scores import Asked, answer_key, questions_of
from kgrag.llm.extractive.sentence_facts import mentions
from kgrag.text.sentences import attribute_words, entity_key

__all__ = ["Reader", "main", "serving"]

_QUESTION = re.compile(r"^Question:? ?\n?(.+)$", flags=re.MULTILINE)
_PROPERTY = re.compile(r'^  (\w+:\S+) (?:[^;\n]*; "([^"\n]*)")?', flags=re.MULTILINE)  # label where it says more
_PREFIX = re.compile(r"^PREFIX (\S+): <(.+)>$", flags=re.MULTILINE)
_NAMED = re.compile(r'^"(.+)" is <\S+> of <(\S+)>', flags=re.MULTILINE)
_TRIPLE = re.compile(r"^(\d+)\. (.+?) \| (.+?) \| (.+)$", flags=re.MULTILINE)
_EVIDENCE = re.compile(r"^=== \w+ === evidence (\d+).*\n((?:(?!=== ).*\n)+)", flags=re.MULTILINE)


@dataclass(frozen=True)
class Reader:
    """Replies to the prompts of questions that it knows; ``wrong`` is the share of its replies that are wrong."""

    questions: Mapping[str, Asked]
    wrong: float = 0.0

    def reply(self, prompt: str) -> str:
        """Return the reply to a prompt.

        Raises:
            LookupError: the prompt is of another kind, or its question is not known.
        """
        question = self.questions[_QUESTION.findall(prompt)[-1].strip()]
        errs = random.Random(f"{prompt[:60]}{question.text}").random() < self.wrong
        kinds = {
            "Write a SPARQL": self._query,
            "A SPARQL query was": self._query,
            "Given a question and": self._judged,
            "Answer the question": self._answered,
        }
        return next(kind for start, kind in kinds.items() if prompt.startswith(start))(prompt, question, errs)

    def _query(self, prompt: str, question: Asked, errs: bool) -> str:
        """Write the query over the property of the question's words, or over another one."""
        wanted = attribute_words(question.relation)
        shown = [(name, label or name.partition(":")[2]) for name, label in _PROPERTY.findall(prompt)]
        fitting = [name for name, label in shown if (attribute_words(label) == wanted) != errs]
        things = [iri for text, iri in _NAMED.findall(prompt) if entity_key(text) == entity_key(question.subject)]
        if not fitting or not things:
            return "There is no such property, or no such name."
        prefixes = dict(_PREFIX.findall(prompt))
        name = next((one for one in fitting if question.domain in prefixes.get(one.split(":")[0], "")), fitting[0])
        prefix = name.split(":")[0]
        return (
            f"PREFIX {prefix}: <{prefixes[prefix]}>\nPREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
            f"SELECT DISTINCT ?answer WHERE {{ <{things[0]}> {name} ?value . "
            "OPTIONAL { ?value rdfs:label ?label } BIND(COALESCE(?label, ?value) AS ?answer) }"
        )

    def _judged(self, prompt: str, question: Asked, errs: bool) -> str:
        """Say that triples suffice when one of them states a gold answer of the question's relation and subject."""
        gold = frozenset().union(*question.gold)
        rows = _TRIPLE.findall(prompt)
        named = [
            {"triple": int(number), "text": value}
            for number, subject, relation, value in rows
            if entity_key(subject) == entity_key(question.subject)
            and (not question.layer or attribute_words(relation) == attribute_words(question.relation))
            and answer_key(value) in gold
        ]
        if errs:
            named = [] if named else [{"triple": int(row[0]), "text": row[3]} for row in rows[:1]]
        return json.dumps({"sufficient": bool(named), "answers": named})

    def _answered(self, prompt: str, question: Asked, errs: bool) -> str:
        """Return each gold answer that stands in the evidence, or a name that is none."""
        pieces = [(int(number), text) for number, text in _EVIDENCE.findall(prompt)]
        gold = frozenset().union(*question.gold)
        found: dict[str, dict[str, Any]] = {}
        for number, text in pieces:
            for said, right in _candidates(text, question.gold):
                if right != errs and (errs or answer_key(said) in gold):
                    cited = [{"evidence": number, "quote": said}]
                    found.setdefault(answer_key(said), {"text": said, "citations": cited})
        chosen = list(found.values())[: 1 if errs else None]
        return json.dumps({"unknown": not chosen, "sentences": chosen})


def _candidates(text: str, gold: Sequence[frozenset[str]]) -> Iterator[tuple[str, bool]]:
    """Yield gold answers as they stand in a text, and names and figures of it that are none."""
    known = frozenset().union(*gold)
    for one in mentions(text):
        yield one.text, answer_key(one.text) in known
    for answer in sorted(known):
        if place := re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, flags=re.IGNORECASE):
            yield place[0], True


class _Handler(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's protocol as a chat completion needs."""

    reader: Reader

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        try:
            said = self.reader.reply(body["messages"][0]["content"])
        except (LookupError, StopIteration) as error:
            self._send(400, {"error": {"message": f"the scripted reader has no reply to this: {error}"}})
            return
        message = {"role": "assistant", "content": said}
        self._send(
            200,
            {
                "id": "scripted",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            },
        )

    def _send(self, code: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep standard error clean."""


@contextmanager
def serving(questions: Iterable[Asked], *, wrong: float = 0.0, port: int = 0) -> Iterator[str]:
    """Serve a reader on loopback while the block runs; gives the base URL for KGRAG_BASE_URL."""
    reader = Reader({question.text: question for question in questions}, wrong)
    server = ThreadingHTTPServer(("127.0.0.1", port), type("_Serving", (_Handler,), {"reader": reader}))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("pyramid", "popqa"), default="pyramid")
    parser.add_argument("--wrong", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=8099)
    given = parser.parse_args()
    with serving(questions_of(data_folder(), given.set), wrong=given.wrong, port=given.port) as url:
        print(f"KGRAG_MODEL=scripted KGRAG_BASE_URL={url}", flush=True)
        with suppress(KeyboardInterrupt):
            Event().wait()


if __name__ == "__main__":
    main()
