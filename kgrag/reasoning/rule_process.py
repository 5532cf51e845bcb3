"""Reasoning by rules within a time limit: in a process of its own, which is killed when time is up.

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

__all__ = ["by_profile", "infer_within"]

_Reply = tuple[bytes, tuple[Contradiction, ...], int]
"""What the process sends: conclusions in N-Triples (triples cannot be pickled), contradictions, and rounds."""


def by_profile(triples: Sequence[ox.Triple], *, profile: str, open_bench: Callable[[], Workbench]) -> Inferences:
    """Return what follows from triples by a profile, on a scratch store of its own."""
    return materialise(open_bench(), triples, profile=profile)


def infer_within(
    seconds: float, triples: Sequence[ox.Triple], *, name: str, infer: Callable[[Sequence[ox.Triple]], Inferences]
) -> Inferences:
    """Return what follows from triples by some rules, if that takes no longer than a time by the clock.

    Args:
        seconds: the time.
        triples: the statements, ontologies and data together.
        name: of the rules, for an error.
        infer: carries out the rules. It is called in another process, so it must be a function of a module, or a
            ``functools.partial`` of one.

    Raises:
        NotDecided: the time is up, or the process ended, perhaps for want of memory; or the rules do not end.
        KgragError: ``infer`` refuses.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    process = context.Process(target=_serve, args=(theirs, infer), daemon=True)
    process.start()
    theirs.close()
    try:
        return _answer(ours, data or b"", seconds, name)
    except (EOFError, ConnectionError):
        raise NotDecided(f"the process that reasoned by {name} ended, perhaps for want of memory") from None
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def _answer(ours: Connection, data: bytes, seconds: float, name: str) -> Inferences:
    ours.send_bytes(data)
    if not ours.poll(seconds):
        raise NotDecided(
            f"the rules of {name} were not through after {seconds:g} s. Give them more time (--timeout), or reason "
            "over fewer graphs"
        )
    reply: _Reply | KgragError = ours.recv()
    if isinstance(reply, KgragError):
        raise reply
    conclusions, contradictions, rounds = reply
    triples = tuple(quad.triple for quad in ox.parse(conclusions, format=ox.RdfFormat.N_TRIPLES))
    return Inferences(triples, contradictions, rounds)


def _serve(theirs: Connection, infer: Callable[[Sequence[ox.Triple]], Inferences]) -> None:
    """Answer one request; runs in the other process."""
    triples = [quad.triple for quad in ox.parse(theirs.recv_bytes(), format=ox.RdfFormat.N_TRIPLES)]
    try:
        inferences = infer(triples)
    except KgragError as error:
        theirs.send(error)
        return
    conclusions = ox.serialize(inferences.triples, format=ox.RdfFormat.N_TRIPLES)
    theirs.send((conclusions, inferences.contradictions, inferences.rounds))
