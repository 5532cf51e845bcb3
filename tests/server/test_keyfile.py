import hashlib
from pathlib import Path

import pytest

from kgrag.errors import InvalidSettings
from kgrag.server import access_keys as module
from kgrag.server.access_keys import Key, Keys, Rights, digest_of
from kgrag.server.key_file import read_keys
from kgrag.server.problems import Problem

LONG = "a-key-of-many-characters"


def _file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "keys.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_a_key_file_gives_names_rights_and_graphs(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"another").hexdigest()
    text = f"""
        [[keys]]
        name = "loader"
        key = "{LONG}"
        graphs = ["urn:a", "http://example.org/*"]
        [[keys]]
        name = "boss"
        sha256 = "{digest}"
        rights = "admin"
    """
    assert read_keys(_file(tmp_path, text)) == [
        Key("loader", digest_of(LONG), Rights.WRITE, ("urn:a", "http://example.org/*")),
        Key("boss", digest_of("another"), Rights.ADMIN),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no toml", "cannot be read as TOML"),
        ("[keys]", "no .*tables"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\nright = 'read'", "unknown field 'right'"),
        (f"[[keys]]\nname = 'a b'\nkey = '{LONG}'", "a name of"),
        ("[[keys]]\nname = 'a'\nkey = 'short'", "16 characters"),
        ("[[keys]]\nname = 'a'", "either 'key'"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\nsha256 = 'x'", "either 'key'"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\nrights = 'all'", "rights are 'all'"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\nrights = 'read'\ngraphs = ['urn:a']", "limits the right 'write'"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\ngraphs = ['a']", "list of graph IRIs"),
        (f"[[keys]]\nname = 'a'\nkey = '{LONG}'\n" * 2, "two keys of the same name"),
    ],
)
def test_a_wrong_key_file_is_refused_without_telling_a_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSettings, match=said) as refused:
        read_keys(_file(tmp_path, text))
    assert LONG not in str(refused.value)


def test_a_file_of_keys_that_others_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="chmod 600"):
        read_keys(_file(tmp_path, f"[[keys]]\nname = 'a'\nkey = '{LONG}'", 0o644))
    digest = hashlib.sha256(LONG.encode()).hexdigest()
    assert read_keys(_file(tmp_path, f"[[keys]]\nname = 'a'\nsha256 = '{digest}'", 0o644))


@pytest.mark.parametrize("sent", ["Bearer one", "Bearer none", "Bearer ", "Bearer " + "x" * 10_000, ""])
def test_every_key_is_compared_by_digests_of_one_length(monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    compared: list[tuple[int, int]] = []

    class _Watched:
        @staticmethod
        def compare_digest(one: bytes, two: bytes) -> bool:
            compared.append((len(one), len(two)))
            return one == two

    monkeypatch.setattr(module, "hmac", _Watched)
    keys = Keys("one, twelve characters", more=[Key("three", digest_of("3" * 1000))])
    try:
        keys.check(sent)
    except Problem as refused:
        assert refused.status == 401
    assert compared == [(32, 32)] * 3


def test_an_empty_key_is_no_key() -> None:
    for header in ("Bearer ", "Basic Og==", ""):
        with pytest.raises(Problem):
            Keys("one", private=True).reader(header)


def test_the_password_of_basic_reads_and_does_not_write() -> None:
    keys = Keys("one", private=True)
    assert keys.reader("Basic dTpvbmU=").name == "key-1"
    with pytest.raises(Problem) as refused:
        keys.check("Basic dTpvbmU=")
    assert refused.value.status == 401


def test_a_key_for_some_graphs_does_not_pass_where_any_graph_may_be_written() -> None:
    keys = Keys(more=[Key("loader", digest_of("one"), graphs=("urn:a",))])
    assert keys.writer("Bearer one").name == "loader"
    with pytest.raises(Problem) as refused:
        keys.check("Bearer one")
    assert refused.value.status == 403
