"""Settings: environment, file, and what is refused."""

import re
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, settings
from kgrag.errors import InvalidSettings
from kgrag.settings import Settings, read_settings
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("kgrag.toml").write_text('model = "from-file"\nconcurrency = 3\n')
    monkeypatch.setenv("KGRAG_MODEL", "from-environment")
    settings = read_settings()
    assert (settings.model, settings.concurrency) == ("from-environment", 3)


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGRAG_KB", "a.kb")
    assert read_settings(kb=Path("b.kb")).kb == Path("b.kb")


def test_a_value_outside_its_range_is_refused_with_the_known_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGRAG_CONCURRENCY", "0")
    with pytest.raises(InvalidSettings, match="concurrency.*Known settings"):
        read_settings()


def test_an_address_is_no_folder_of_a_knowledge_base(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "http://127.0.0.1:8000 is an address.*--server http://127.0.0.1:8000.*KGRAG_STORE=http"
    with pytest.raises(InvalidSettings, match=message):
        KnowledgeBase("http://name:word@127.0.0.1:8000", settings=read_settings())
    monkeypatch.setenv("KGRAG_KB", "http://127.0.0.1:8000")
    with pytest.raises(InvalidSettings, match=message):
        read_settings()
    assert not Path("http:").exists()


def test_an_unknown_name_in_the_file_is_refused() -> None:
    Path("kgrag.toml").write_text('modle = "x"\n')
    with pytest.raises(InvalidSettings, match="modle"):
        read_settings()


def test_a_secret_in_the_file_is_refused() -> None:
    Path("kgrag.toml").write_text('api_key = "sk-1"\n')
    with pytest.raises(InvalidSettings, match="KGRAG_API_KEY"):
        read_settings()


def test_broken_toml_is_refused() -> None:
    Path("kgrag.toml").write_text("model = \n")
    with pytest.raises(InvalidSettings, match="not valid TOML"):
        read_settings()


def test_a_file_that_is_not_utf8_is_refused() -> None:
    Path("kgrag.toml").write_bytes('kb = "ö"'.encode("latin-1"))
    with pytest.raises(InvalidSettings, match="not UTF-8, at byte 6"):
        read_settings()


def test_the_key_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = read_settings()
    assert settings.api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(settings)


def test_a_table_in_the_environment_that_is_no_json_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGRAG_PRICES", "gpt-4o=1,2")
    with pytest.raises(InvalidSettings, match="KGRAG_PRICES is no JSON"):
        read_settings()


@pytest.mark.parametrize(
    "row", [{"input": 1.0}, {"input": -1.0, "output": 2.0}, {"input": float("nan"), "output": 2.0}]
)
def test_half_and_negative_prices_are_refused_when_settings_are_read(row: dict[str, float]) -> None:
    with pytest.raises(InvalidSettings, match=r"the price of 'gpt-4o'.*Write \{ input = 0\.15"):
        read_settings(prices={"gpt-4o": row})


def test_a_variable_that_nothing_reads_is_named_once_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "_NAMED", set())
    for name in ("KGRAG_TIMOUT", "KGRAG_ZZZ", "KGRAG_SERVER_KEY"):
        monkeypatch.setenv(name, "2")
    read_settings()
    read_settings()
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "KGRAG_TIMOUT in the environment is read by nothing. Did you mean KGRAG_TIMEOUT?"
    assert told[1].startswith("KGRAG_ZZZ in the environment is read by nothing. Known: API_KEY,")
    assert len(told) == 2


def test_every_variable_that_is_read_besides_settings_is_known() -> None:
    names = set[str]()
    for folder, endings in (("kgrag", (".py",)), (".github", (".yml",)), (".gitlab", (".yml",))):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in endings:
                names.update(re.findall(r"KGRAG_([A-Z][A-Z_]*[A-Z])", path.read_text(encoding="utf-8")))
    known = {name.upper() for name in Settings.model_fields} | settings._READ_ELSEWHERE
    assert names - known - {"TIMOUT", "COMPLETE"} == set()
