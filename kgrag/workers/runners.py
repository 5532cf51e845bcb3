"""Where the work is done, by its name: ``local``, ``process://4``, ``ray://host:10001/4``; or a runner of one's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from kgrag.errors import InputError
from kgrag.late_patterns import late_re
from kgrag.workers.shards import Job
from kgrag.workers.slot_pool import LocalRunner, ProcessSlot, Runner, SlotPool

__all__ = ["FORMS", "check", "opened"]

FORMS = "local, process://WORKERS or ray://ADDRESS/WORKERS (ADDRESS: HOST:PORT, auto, or local to start a cluster here)"
_FORM = late_re(r"local|process://(?P<processes>[1-9]\d{0,3})|ray://(?P<address>[\w.:\[\]-]+)/(?P<actors>[1-9]\d{0,4})")


def check(name: str) -> re.Match[str]:
    """Return the parts of a runner's name.

    >>> check("process://4")["processes"]
    '4'

    Raises:
        InputError: it is none.
    """
    form = _FORM.fullmatch(name)
    if form is None:
        raise InputError(f"{name!r} is no runner. Write {FORMS}.")
    return form


def opened(runner: str | Callable[[Job], Runner], job: Job) -> Runner:
    """Start the workers of a runner, which is named or made by what is called with the job; they are to be closed.

    Raises:
        InputError: there is no runner of this name, or what it needs is not installed.
        ServiceUnavailable: its cluster cannot be reached.
        StateError: its workers end at once.
    """
    if not isinstance(runner, str):
        return runner(job)
    form = check(runner)
    if form["processes"]:
        return SlotPool(partial(ProcessSlot, job), int(form["processes"]))
    if form["address"]:
        from kgrag.workers import ray_slots

        ray_slots.connect(form["address"], int(form["actors"]))
        return SlotPool(partial(ray_slots.RaySlot, job), int(form["actors"]))
    return LocalRunner(job)
