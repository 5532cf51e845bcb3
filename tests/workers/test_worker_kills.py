"""The benchmark that kills workers counts what is wrong, and does not take half a line of a trace for one."""

from pathlib import Path

from benchmarks.worker_kills import Found, Trace, compare


def test_what_is_missing_what_differs_and_what_is_too_much_are_counted() -> None:
    found = Found()
    compare({"a": 1, "b": 2, "c": 3}, {"b": 2, "c": 4, "d": 5}, found)
    assert (found.lost, found.torn, found.doubled, found.faults()) == (1, 1, 1, 3)
    compare({"a": 1}, {"a": 1}, found)
    assert found.faults() == 3


def test_a_trace_is_read_line_by_line(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "trace")
    assert trace.new() == []
    trace.path.write_bytes(b"7 Read\n8 embedded a b\n7 Cut")
    assert trace.new() == [(7, "Read"), (8, "embedded a b")]
    with trace.path.open("ab") as file:
        file.write(b" off\n")
    assert trace.new() == [(7, "Cut off")]
    assert trace.new() == []
