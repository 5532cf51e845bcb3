"""The file of tenants: what it declares, and what is refused because two would have something in common."""

from pathlib import Path

import pytest

from kgrag.errors import InvalidSettings
from kgrag.server.access_keys import Rights
from kgrag.server.tenants.tenant_file import read_tenants
from kgrag.server.tenants.tenant_serving import check_settings
from kgrag.settings import Settings

KEYS = {name: f'[[tenants.keys]]\nname = "app"\nsha256 = "{name * 64}"\n' for name in "abc"}
NORTH = f'[[tenants]]\nname = "north"\n{KEYS["a"]}'


def _written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "tenants.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_tenants_have_folders_keys_and_budgets_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "one.ttl").write_text("", encoding="utf-8")
    text = f'open = 2\nontologies = ["*.ttl"]\n[[operators]]\nname = "ops"\nsha256 = "{"d" * 64}"\nrights = "admin"\n'
    text += f'[[tenants]]\nname = "north"\nfolder = "n/kb"\nbudget = {{ period = "day", tokens = 5 }}\n{KEYS["a"]}'
    declared = read_tenants(_written(tmp_path, text + f'[[tenants]]\nname = "south"\n{KEYS["b"]}'))
    north, south = declared.tenants.values()
    assert (north.folder, south.folder) == ((tmp_path / "n" / "kb").resolve(), (tmp_path / "south.kb").resolve())
    assert (north.budget and north.budget.tokens, south.budget, declared.max_open) == (5, None, 2)
    assert (declared.operators[0].rights, north.keys[0].rights) == (Rights.READ, Rights.WRITE)
    assert declared.ontologies == (tmp_path / "one.ttl",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "tenants: Field required"),
        ('[[tenants]]\nname = "north"\nkeys = []', "keys: .*at least 1"),
        (NORTH + f'[[tenants]]\nname = "North"\n{KEYS["b"]}', "two tenants 'north'"),
        (NORTH + f'[[tenants]]\nname = "south"\n{KEYS["a"]}', "one key in two places"),
        (NORTH + f'[[operators]]\nname = "ops"\nsha256 = "{"a" * 64}"', "one key in two places"),
        (NORTH + f'[[tenants]]\nname = "south"\nfolder = "x/../north.kb"\n{KEYS["b"]}', "'south' is, or is in, that of 'north'"),
        (NORTH + f'[[tenants]]\nname = "south"\nfolder = "north.kb/in"\n{KEYS["b"]}', "'south' is, or is in, that of 'north'"),
        (f'[[tenants]]\nname = "../up"\n{KEYS["a"]}', "name: String should match"),
        ('ontologies = ["none/*.ttl"]\n' + NORTH, "no file fits the ontology"),
        (NORTH.replace("sha256", "digest"), "tenant 'north', .*unknown field 'digest'"),
        (NORTH + "budget = 5", "unknown field 'budget'"),
    ],
)  # fmt: skip
def test_what_is_not_apart_or_not_sound_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidSettings, match=message):
        read_tenants(_written(tmp_path, text))


def test_a_link_to_another_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "north.kb").mkdir()
    (tmp_path / "south.kb").symlink_to(tmp_path / "north.kb")
    with pytest.raises(InvalidSettings, match="'south' is, or is in, that of 'north'"):
        read_tenants(_written(tmp_path, NORTH + f'[[tenants]]\nname = "south"\n{KEYS["b"]}'))


def test_a_file_with_keys_that_others_can_read_is_refused(tmp_path: Path) -> None:
    text = '[[tenants]]\nname = "north"\n[[tenants.keys]]\nname = "app"\nkey = "0123456789abcdef"\n'
    with pytest.raises(InvalidSettings, match="others can read it"):
        read_tenants(_written(tmp_path, text, 0o644))


@pytest.mark.parametrize(
    ("settings", "extra", "message"),
    [
        ({"store": "http://127.0.0.1:7878"}, "", "KGRAG_STORE names a place that all tenants would share"),
        ({"vectors": "elsewhere"}, "", "KGRAG_VECTORS names a place"),
        ({"index": "postgresql://127.0.0.1/all"}, "", "KGRAG_INDEX names a database that all tenants would share"),
        ({"api_keys": "a-key-of-nobody"}, "", "keys of no tenant"),
        ({"model": "gpt"}, "budget = { money = 5.0 }\n", "'north' is in money, and gpt has no price"),
        ({"model": "gpt", "completions": "off"}, "budget = { tokens = 5 }\n", "needs the record of costs"),
        ({}, "", "names no owl:Ontology"),
    ],
)
def test_settings_that_tenants_would_share_are_refused(
    tmp_path: Path, settings: dict[str, str], extra: str, message: str
) -> None:
    text = NORTH.replace(KEYS["a"], extra + KEYS["a"])
    if not settings:
        (tmp_path / "data.ttl").write_text("<urn:a> <urn:b> 1 .", encoding="utf-8")
        text = 'ontologies = ["data.ttl"]\n' + text
    declared = read_tenants(_written(tmp_path, text))
    with pytest.raises(InvalidSettings, match=message):
        check_settings(declared, Settings(**settings))
