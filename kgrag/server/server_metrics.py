"""What the server counts, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric

from kgrag.server.readers.reader_pool import ReaderPool

__all__ = ["ServerMetrics"]

_BUCKET_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


class ServerMetrics:
    """The counters of one server.

    Args:
        process: whether figures of the process are among them: its time, memory and files.

    Attributes:
        media: the media type of ``text``.
    """

    media: str = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, *, process: bool = True) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        if process:
            ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "kgrag_requests", "Requests answered.", ["path", "method", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "kgrag_request_seconds", "Seconds from a request to the end of its answer.", ["path"],
            registry=self._registry, buckets=_BUCKET_SECONDS,
        )  # fmt: skip
        self._labelled: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        """To look labels up in the library takes longer than to count; paths, methods and statuses are few."""
        self._writes = Counter(
            "kgrag_writes", "Writes done or refused.", ["operation", "status"], registry=self._registry
        )
        gauges = {
            "kgrag_readers_busy": "Reader processes at work.",
            "kgrag_readers_queued": "Requests that wait for a reader.",
            "kgrag_readers_killed": "Reader processes killed, or found dead, since the start.",
            "kgrag_revision": "Revision of the store.",
            "kgrag_quads": "Triples that the catalogue counts.",
        }
        self._gauges = {name: Gauge(name, text, registry=self._registry) for name, text in gauges.items()}

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        labels = path, method if method in _METHODS else "other", status
        labelled = self._labelled.get(labels)
        if labelled is None:
            counter = self._requests.labels(labels[0], labels[1], str(status))
            labelled = self._labelled[labels] = counter, self._seconds.labels(path)
        labelled[0].inc()
        labelled[1].observe(seconds)

    def count_write(self, operation: str, status: int) -> None:
        """Count a write."""
        self._writes.labels(operation, str(status)).inc()

    def text(self, pool: ReaderPool, *, revision: int, quads: int | None) -> bytes:
        """Return all counters, and gauges with these values, in the text format."""
        self.set_gauges(pool, revision=revision, quads=quads)
        return generate_latest(self._registry)

    def families(self) -> Iterable[Metric]:
        """Return all counters and gauges, as of now."""
        return self._registry.collect()

    def set_gauges(self, pool: ReaderPool, *, revision: int, quads: int | None) -> None:
        """Set the gauges to these values."""
        values = {
            "kgrag_readers_busy": pool.busy,
            "kgrag_readers_queued": pool.waiting,
            "kgrag_readers_killed": pool.killed,
            "kgrag_revision": revision,
            "kgrag_quads": float("nan") if quads is None else quads,
        }
        for name, value in values.items():
            self._gauges[name].set(value)
