"""``python -m benchmarks [NAME…]``: run all or the named ones, say ok, near or off, print the README's table.

Exit code 1 when a figure is off or a run failed, 2 for an unknown name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks import Benchmark, Outcome, data_folder, markdown, measure, names, read

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the named benchmarks (all without a name) and give the exit code."""
    unknown = [name for name in arguments if name not in names()]
    if unknown:
        print(f"no benchmark '{unknown[0]}'. There are: {', '.join(names())}.", file=sys.stderr)
        return 2
    outcomes = [outcome for name in arguments or names() for outcome in _outcomes(read(name))]
    print(markdown(outcomes))
    return int(any(outcome.verdict in {"off", "failed"} for outcome in outcomes))


def _outcomes(benchmark: Benchmark) -> list[Outcome]:
    data = data_folder()
    if not (data / benchmark.data).exists():
        print(f"{benchmark.name}: skipped, {data / benchmark.data} is absent. Set KGRAG_DATA.", file=sys.stderr)
        return [Outcome(benchmark, score) for score in benchmark.scores]
    try:
        outcomes = measure(benchmark, data)
    except (RuntimeError, ValueError) as error:
        print(f"{benchmark.name}: failed. {error}", file=sys.stderr)
        return [Outcome(benchmark, score, failed=True) for score in benchmark.scores]
    for outcome in outcomes:
        print(f"{benchmark.name}: {outcome.score.label} {outcome.measured:.4g} {outcome.verdict}", file=sys.stderr)
    return outcomes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
