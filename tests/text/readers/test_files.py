"""Folders and files: what is read, what is passed over, and files that change meanwhile."""

import json
import os
from pathlib import Path

import pytest

from kgrag.errors import UnreadableDocument
from kgrag.model import Document
from kgrag.text.readers import read_path, read_paths
from kgrag.text.readers.sources import steady
from tests.text.readers.checks import Make, refused


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def names(documents: "list[Document]") -> list[str]:
    return [Path(document.location).name for document in documents]


def test_a_folder_is_read_recursively_in_order(make: Make, tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "z/c.txt", "d/e/f.txt", ".hidden.txt", ".git/g.txt"):
        make(name, "x")
    assert names(list(read_path(tmp_path))) == ["a.md", "b.txt", "f.txt", "c.txt"]


def test_files_of_a_folder_that_cannot_be_read_are_reported(make: Make, tmp_path: Path) -> None:
    make("a.txt", "x")
    make("b.exe", "x")
    os.mkfifo(tmp_path / "c.txt")
    skipped: list[str] = []
    assert names(list(read_paths([tmp_path], skipped=skipped))) == ["a.txt"]
    assert [line.split("; ")[0].removeprefix(f"{tmp_path}/") for line in skipped] == [
        "b.exe: suffix '.exe' is not one that can be read",
        "c.txt: is no regular file",
    ]


def test_a_link_that_leads_out_of_the_folder_is_passed_over(make: Make, tmp_path: Path) -> None:
    secret = make("elsewhere/secret.txt", "x")
    make("folder/a.txt", "x")
    make("folder/z/b.txt", "x")
    for name, target in (("in.txt", "z/b.txt"), ("out.txt", secret), ("up.txt", "../elsewhere/secret.txt")):
        (tmp_path / "folder" / name).symlink_to(target)
    (tmp_path / "folder" / "all").symlink_to(secret.parent)
    (tmp_path / "folder" / "here").symlink_to("z")
    skipped: list[str] = []
    assert names(list(read_paths([tmp_path / "folder"], skipped=skipped))) == ["a.txt", "in.txt", "b.txt"]
    assert [line.removeprefix(f"{tmp_path}/folder/") for line in skipped] == [
        "all: is a link that leads out of the folder. Name the file itself to read it",
        "here: is a link to a folder, which is not followed",
        "out.txt: is a link that leads out of the folder. Name the file itself to read it",
        "up.txt: is a link that leads out of the folder. Name the file itself to read it",
    ]


def test_a_folder_and_a_file_that_are_links_are_read_when_they_are_named(make: Make, tmp_path: Path) -> None:
    make("folder/a.txt", "x")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "b.txt").symlink_to("folder/a.txt")
    assert names(list(read_paths([tmp_path / "link", tmp_path / "b.txt"]))) == ["a.txt", "b.txt"]


def test_nothing_is_passed_over_in_silence(make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make("a.txt", "x")
    make("b.exe", "x")
    list(read_path(tmp_path))
    assert "1 files were passed over" in caplog.text


def test_an_empty_folder_is_refused_with_the_suffixes_that_were_expected(tmp_path: Path) -> None:
    message = refused(tmp_path)
    assert "found no files; expected some that end in .csv .docx" in message


def test_a_folder_of_unknown_files_is_refused(make: Make, tmp_path: Path) -> None:
    make("b.exe", "x")
    assert "found 1 files, none of which can be read" in refused(tmp_path)


@pytest.mark.parametrize("name", ["README", "crontab.5", "README.Debian", "conf.py"])
def test_a_named_file_whose_name_tells_of_no_other_format_is_read_as_plain_text(make: Make, name: str) -> None:
    assert [document.text for document in read_path(make(name, "Plain words."))] == ["Plain words."]


def test_bytes_of_a_named_file_without_a_suffix_are_refused(tmp_path: Path) -> None:
    (tmp_path / "noext").write_bytes(bytes(range(256)))
    assert "noext" in refused(tmp_path / "noext")


def test_where_one_of_several_paths_cannot_be_read_the_others_are_said_to_be_unread(make: Make) -> None:
    with pytest.raises(UnreadableDocument, match="Nothing was read of the other paths either"):
        list(read_paths([make("a.txt", "x"), make("b.exe", "x")]))
    assert "other paths" not in refused(make("c.exe", "x"))


def test_a_packed_file_is_skipped_for_the_suffix_of_what_is_in_it(make: Make, tmp_path: Path) -> None:
    make("a.txt", "x")
    make("sshd_config.5.gz", "x")
    make("README", "x")
    skipped: list[str] = []
    list(read_paths([tmp_path], skipped=skipped))
    assert [line.removeprefix(f"{tmp_path}/") for line in skipped] == [
        "README: a file without a suffix is read when it is named, not in a folder",
        "sshd_config.5.gz: suffix '.5' is not one that can be read",
    ]


@pytest.mark.parametrize("name", ["a.exe", "a.odt", "a.pdf.gz", "a.gz"])
def test_a_named_file_of_unknown_suffix_is_refused(make: Make, name: str) -> None:
    assert "is not one that can be read; expected one of .csv" in refused(make(name, "x"))


def test_where_readers_are_listed_is_said_with_an_unknown_suffix(make: Make) -> None:
    assert "`kgrag plugins` lists the readers" in refused(make("a.org", "x"))


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "there is no such file or folder" in refused(tmp_path / "a.txt")
    assert "there is no such file or folder" in refused(tmp_path / "folder")


def test_the_first_document_comes_before_the_second_file_is_opened(make: Make, tmp_path: Path) -> None:
    make("a.txt", "x")
    later = make("b.txt", "old")
    documents = read_path(tmp_path)
    assert next(documents).text == "x"
    later.write_text("new")
    assert next(documents).text == "new"


def test_a_file_named_twice_is_read_once(make: Make, tmp_path: Path) -> None:
    path = make("a.txt", "x")
    assert len(list(read_paths([tmp_path, path, path]))) == 1


def test_the_same_text_in_two_files_is_two_locations(make: Make, tmp_path: Path) -> None:
    make("one/a.txt", "x")
    make("two/a.txt", "x")
    first, second = read_path(tmp_path)
    assert (first.text, first.title) == (second.text, second.title)
    assert first.location != second.location


def test_a_broken_file_stops_the_reading_unless_a_list_takes_it(make: Make, tmp_path: Path) -> None:
    make("a.pdf", "broken")
    make("b.txt", "x")
    with pytest.raises(UnreadableDocument, match="is no PDF"):
        list(read_path(tmp_path))
    broken: dict[Path, str] = {}
    assert names(list(read_paths([tmp_path], broken=broken))) == ["b.txt"]
    assert "is no PDF" in broken[tmp_path / "a.pdf"]


def test_a_broken_file_that_was_named_stops_the_reading(make: Make) -> None:
    with pytest.raises(UnreadableDocument, match="is no PDF"):
        list(read_paths([make("a.pdf", "broken")], broken={}))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(make: Make) -> None:
    path = make("a.txt", "x")
    path.chmod(0)
    assert "Permission denied" in refused(path)


def test_a_file_that_grows_while_it_is_read_is_refused(make: Make) -> None:
    path = make("a.jsonl", lines({"text": "x"}, {"text": "y"}))
    documents = read_path(path)
    next(documents)
    with path.open("a") as stream:
        stream.write(lines({"text": "z"}))
    with pytest.raises(UnreadableDocument, match="changed while it was read; run again"):
        list(documents)


def test_a_file_that_is_replaced_while_it_is_read_is_refused(make: Make) -> None:
    path = make("a.txt", "old")
    with pytest.raises(UnreadableDocument, match="changed while it was read"), steady(path):
        path.with_suffix(".new").write_text("new")
        path.with_suffix(".new").replace(path)


def test_a_file_that_vanishes_while_it_is_read_is_refused(make: Make) -> None:
    path = make("a.txt", "old")
    with pytest.raises(UnreadableDocument, match="changed while it was read"), steady(path):
        path.unlink()


def test_damage_that_comes_from_a_change_is_reported_as_one(make: Make) -> None:
    path = make("a.txt", "old")
    with pytest.raises(UnreadableDocument, match="changed while it was read"), steady(path):
        path.write_text("longer")
        raise UnreadableDocument("is no JSON")
