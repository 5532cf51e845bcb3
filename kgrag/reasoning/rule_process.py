"""Reasoning by rules within a time limit: in a process of its own, which is ended when it is late.

A rule is one update of the store, and an update cannot be stopped; a process can.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

import pyoxigraph as ox

from kgrag.errors import KgragError, NotDecided
from kgrag.ports import Workbench
from kgrag.reasoning.inference import Contradiction, Inferences, materialise

__all__ = ["infer_within"]

_Told = tuple[bytes, list[tuple[str, str, str, str]], int]


def infer_within(
    seconds: float, triples: Sequence[ox.Triple], *, profile: str, open_bench: Callable[[], Workbench]
) -> Inferences:
    """Give what follows from triples by the rules of a profile, if that takes no longer than a time by the clock.

    Args:
        seconds: the time.
        triples: the statements, ontologies and data together.
        profile: "rdfs" or "owl-rl".
        open_bench: gives a scratch store; it is called in another process, so it must be a class or a function of a
            module.

    Raises:
        NotDecided: the time is over, or the process ended, perhaps for want of memory.
        InputError: there is no such profile, or more than five million triples follow.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    process = context.Process(target=_serve, args=(theirs, profile, open_bench), daemon=True)
    process.start()
    theirs.close()
    try:
        return _answer(ours, data or b"", seconds, profile)
    except (EOFError, ConnectionError):
        raise NotDecided(f"the process that reasoned by {profile} ended, perhaps for want of memory") from None
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def _answer(ours: Connection, data: bytes, seconds: float, profile: str) -> Inferences:
    ours.send_bytes(data)
    if not ours.poll(seconds):
        raise NotDecided(
            f"the rules of {profile} were not through after {seconds:g} s. Give them more time (--timeout), or reason "
            "over fewer graphs"
        )
    told: _Told | KgragError = ours.recv()
    if isinstance(told, KgragError):
        raise told
    follows, contradictions, rounds = told
    found = tuple(quad.triple for quad in ox.parse(follows, format=ox.RdfFormat.N_TRIPLES))
    return Inferences(found, tuple(Contradiction(*each) for each in contradictions), rounds)


def _serve(theirs: Connection, profile: str, open_bench: Callable[[], Workbench]) -> None:
    """Answer one request; this is the other process."""
    triples = [quad.triple for quad in ox.parse(theirs.recv_bytes(), format=ox.RdfFormat.N_TRIPLES)]
    try:
        found = materialise(open_bench(), triples, profile=profile)
    except KgragError as error:
        theirs.send(error)
        return
    told = [(each.rule, each.focus, each.value, each.other) for each in found.contradictions]
    theirs.send((ox.serialize(found.triples, format=ox.RdfFormat.N_TRIPLES), told, found.rounds))
