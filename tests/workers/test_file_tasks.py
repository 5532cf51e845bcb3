"""What a worker reads and embeds together."""

from pathlib import Path

from kgrag.workers import shard_source


def test_short_files_go_together_and_long_ones_do_not(tmp_path: Path) -> None:
    short, long = ([tmp_path / f"{kind}{number:03}.txt" for number in range(64)] for kind in ("short", "long"))
    for path in short:
        path.write_text("Rye is sown in September.")
    for path in long:
        path.write_text("x" * 60_000)
    assert [len(task.files) for task in shard_source._file_tasks(short)] == [32, 32]
    assert {len(task.files) for task in shard_source._file_tasks(long)} == {4}
