import hashlib
from pathlib import Path

import pytest

from kgrag.errors import InvalidSettings
from kgrag.server.access_keys import Key, Rights, digest_of
from kgrag.server.key_file import read_keys

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
