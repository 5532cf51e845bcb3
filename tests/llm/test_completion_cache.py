"""What a language model said is kept, and asked for once."""

import json
import logging
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from threading import Event

import pytest

from kgrag.errors import CompletionMissing, ServiceUnavailable, StorageFailed
from kgrag.llm.completion_cache import CachedModel, ahead, erase
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.llm.text_marks import marks_of
from kgrag.model import Completion, Prompt, Usage
from kgrag.testing import ScriptedModel
from tests.fake_openai import FakeOpenAI

CROP = {"type": "object", "required": ["crop"]}
PROMPTS = [Prompt("test/crop", f"Which crop is number {number}?", schema=CROP) for number in range(5)]


def scripted():
    return ScriptedModel(lambda prompt: json.dumps({"crop": prompt.text}))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "completions.sqlite"


def test_a_rerun_asks_nothing_and_costs_nothing(path):
    with CachedModel(scripted(), path) as model:
        first = model.complete(PROMPTS)
    inner = scripted()
    with CachedModel(inner, path) as model:
        second = model.complete(PROMPTS)
    assert inner.prompts == []
    assert [completion.data for completion in second] == [completion.data for completion in first]
    assert all(completion.usage == Usage(1, 5, completion.usage.output_tokens) for completion in first)
    assert all(completion.usage == Usage() for completion in second)


def test_completions_stand_in_the_order_of_their_prompts_when_some_are_known(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS[1::2])
        completions = model.complete(PROMPTS)
    assert [completion.data["crop"] for completion in completions] == [prompt.text for prompt in PROMPTS]


def test_a_completion_is_on_the_disk_before_it_is_handed_on(path):
    with CachedModel(scripted(), path) as model:
        for count, _ in enumerate(model.as_completed(PROMPTS), start=1):
            with sqlite3.connect(path) as other:
                assert other.execute("SELECT count(*) FROM completion").fetchone() >= (count,)
            other.close()


def test_equal_prompts_in_one_call_are_asked_once():
    inner = scripted()
    completions = CachedModel(inner).complete([PROMPTS[0], PROMPTS[1], PROMPTS[0]])
    assert len(inner.prompts) == 2
    assert completions[0].data == completions[2].data
    assert sum((completion.usage for completion in completions), Usage()).completions == 2


@pytest.mark.parametrize(
    "other",
    [
        Prompt("test/crop", "Which crop?", schema={"type": "array"}),
        Prompt("test/crop", "Which crop?"),
        Prompt("test/crop", "Which pest?", schema=CROP),
    ],
)
def test_another_text_or_schema_is_another_completion(other):
    inner = ScriptedModel(lambda prompt: "[]" if prompt.schema == {"type": "array"} else '{"crop": 1}')
    model = CachedModel(inner)
    model.complete([Prompt("test/crop", "Which crop?", schema=CROP), other])
    assert len(inner.prompts) == 2


def test_the_name_of_a_prompt_and_the_order_of_its_schema_do_not_matter():
    inner = scripted()
    model = CachedModel(inner)
    model.complete([Prompt("test/a", "Which crop?", schema={"type": "object", "required": ["crop"]})])
    model.complete([Prompt("test/b", "Which crop?", schema={"required": ["crop"], "type": "object"})])
    assert len(inner.prompts) == 1


class Renamed(ScriptedModel):
    @property
    def identity(self):
        return "another"


def test_another_model_is_asked_anew(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS)
    inner = Renamed(lambda prompt: '{"crop": "rye"}')
    with CachedModel(inner, path) as model:
        assert model.complete(PROMPTS)[0].data == {"crop": "rye"}
        assert model.identity == "another"


def test_closing_closes_the_inner_model_too():
    class Closable(ScriptedModel):
        closed = False

        def close(self):
            self.closed = True

    inner = Closable({})
    CachedModel(inner).close()
    assert inner.closed


def test_a_reply_that_was_cut_is_not_kept_even_when_no_problem_is_told(path):
    cut = Completion('{"crop": "ry', data={"crop": "ry"}, finish="length")
    inner = ScriptedModel({"test/crop": [cut, '{"crop": "rye"}']})
    with CachedModel(inner, path) as model:
        assert model.complete(PROMPTS[:1])[0].finish == "length"
        assert model.complete(PROMPTS[:1])[0].data == {"crop": "rye"}
        assert model.complete(PROMPTS[:1])[0].data == {"crop": "rye"}


def test_a_completion_with_a_problem_is_not_kept(path):
    inner = ScriptedModel({"test/crop": ["prose", '{"crop": "rye"}']})
    with CachedModel(inner, path) as model:
        assert model.complete(PROMPTS[:1])[0].problem
        assert model.complete(PROMPTS[:1])[0].data == {"crop": "rye"}


def test_what_was_received_before_an_error_is_kept(path):
    class Failing(ScriptedModel):
        def as_completed(self, prompts):
            yield from super().as_completed(prompts[:2])
            raise ServiceUnavailable("gone")

    replies = lambda prompt: json.dumps({"crop": prompt.text})  # noqa: E731
    with CachedModel(Failing(replies), path) as model, pytest.raises(ServiceUnavailable):
        model.complete(PROMPTS)
    inner = scripted()
    with CachedModel(inner, path) as model:
        model.complete(PROMPTS)
    assert len(inner.prompts) == 3


@pytest.mark.parametrize("text", ["", "ß 作物 🌾", "a\x00b", "\ud800", "x" * 100_000])
def test_any_text_comes_back_as_it_was(path, text):
    with CachedModel(ScriptedModel(lambda prompt: text), path) as model:
        model.complete([Prompt("test/a", text)])
    with CachedModel(scripted(), path, mode="replay") as model:
        assert model.complete([Prompt("test/a", text)])[0].text == text


# --- replay and off --------------------------------------------------------------------------------------------------


def test_a_recording_replays_without_the_model(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS)
    inner = scripted()
    with CachedModel(inner, path, mode="replay") as model:
        assert model.complete(PROMPTS)[4].data == {"crop": PROMPTS[4].text}
    assert inner.prompts == []


def test_a_prompt_that_was_not_recorded_is_named_before_anything_is_replayed(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS[:2])
    wanted = [*PROMPTS, Prompt("test/pest", "Which pest?")]
    with (
        CachedModel(scripted(), path, mode="replay") as model,
        pytest.raises(CompletionMissing, match=r"lacks 4 of 6 completions of scripted: 3 of 'test/crop', 1 of"),
    ):
        next(model.as_completed(wanted))


def test_replaying_writes_nothing(path):
    with CachedModel(scripted(), path, mode="replay") as model, pytest.raises(CompletionMissing):
        model.complete(PROMPTS)
    assert not path.exists()
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS)
    before = path.read_bytes()
    with CachedModel(scripted(), path, mode="replay") as model:
        model.complete(PROMPTS)
    assert path.read_bytes() == before


def test_a_damaged_recording_is_missing_and_not_lost(path):
    path.parent.mkdir()
    path.write_bytes(b"no database" * 1000)
    with CachedModel(scripted(), path, mode="replay") as model, pytest.raises(CompletionMissing, match="lacks 5 of 5"):
        model.complete(PROMPTS)
    assert path.with_name("completions.sqlite.damaged-1").exists()


def test_a_name_with_odd_characters_is_just_a_name(tmp_path):
    odd = tmp_path / "100% of #1?.sqlite"
    with CachedModel(scripted(), odd) as model:
        model.complete(PROMPTS)
    assert odd.exists()


def test_nothing_is_kept_when_off(path):
    inner = scripted()
    with CachedModel(inner, path, mode="off") as model:
        model.complete(PROMPTS[:1])
        model.complete(PROMPTS[:1])
    assert len(inner.prompts) == 2
    assert not path.exists()


# --- damage ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_cache_is_moved_aside_with_a_warning(path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"this is no database at all, but it is long enough to be one" * 100)
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS)
    assert "is damaged" in caplog.text
    assert (path.parent / "completions.sqlite.damaged-1").read_bytes().startswith(b"this is no database")
    with CachedModel(scripted(), path, mode="replay") as model:
        assert len(model.complete(PROMPTS)) == 5


def test_damage_within_the_file_is_met_by_beginning_anew(path, caplog):
    with CachedModel(ScriptedModel(lambda prompt: "x" * 3000), path) as model:
        model.complete([Prompt("test/a", str(number)) for number in range(200)])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x7f" * (len(content) - 4096)
    path.write_bytes(content)
    inner = ScriptedModel(lambda prompt: "again")
    with CachedModel(inner, path) as model:
        assert model.complete([Prompt("test/a", "7")])[0].text == "again"
    assert caplog.records[0].levelno == logging.WARNING
    assert list(path.parent.glob("*.damaged-1"))


def test_an_entry_that_cannot_be_read_is_asked_for_again(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE completion SET value = substr(value, 1, 9)")
    file.close()
    inner = scripted()
    with CachedModel(inner, path) as model:
        model.complete(PROMPTS)
        model.complete(PROMPTS)
    assert len(inner.prompts) == 5


def test_a_completion_that_was_changed_on_the_disk_is_asked_for_again(path, caplog):
    with CachedModel(scripted(), path) as model:
        (first,) = model.complete(PROMPTS[:1])
    with sqlite3.connect(path) as file:
        file.execute("UPDATE completion SET value = replace(value, 'number 0', 'number 9')")
    file.close()
    with pytest.raises(CompletionMissing), CachedModel(scripted(), path, mode="replay") as model:
        model.complete(PROMPTS[:1])
    with caplog.at_level(logging.WARNING), CachedModel(scripted(), path) as model:
        assert model.complete(PROMPTS[:1])[0].data == first.data
    assert "was changed on the disk" in caplog.text


def test_a_completion_of_an_earlier_version_without_a_checksum_is_reused(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS[:1])
    with sqlite3.connect(path) as file:
        file.execute("UPDATE completion SET value = json_remove(value, '$.sha256')")
    file.close()
    inner = scripted()
    with CachedModel(inner, path) as model:
        model.complete(PROMPTS[:1])
    assert inner.prompts == []


def test_a_folder_that_cannot_be_made_is_a_storage_failure(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        CachedModel(scripted(), tmp_path / "file" / "completions.sqlite") as model,
        pytest.raises(StorageFailed, match="cannot be used"),
    ):
        model.complete(PROMPTS)


def test_a_path_that_is_a_folder_is_a_storage_failure(tmp_path):
    with CachedModel(scripted(), tmp_path) as model, pytest.raises(StorageFailed, match="cannot be used"):
        model.complete(PROMPTS)


# --- crash -----------------------------------------------------------------------------------------------------------

WORKER = """
import sys
from pathlib import Path
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.model import Prompt

inner = OpenAIModel("fake-1", base_url=sys.argv[2], api_key="none", concurrency=2)
with CachedModel(inner, Path(sys.argv[1])) as model:
    for index, _ in model.as_completed([Prompt("test/a", f"prompt {number}") for number in range(12)]):
        print(index, flush=True)
"""


def test_a_killed_process_pays_for_no_received_completion_twice(path):
    root = Path(__file__).parents[2]
    with FakeOpenAI(hold_after=7) as server:
        command = [sys.executable, "-c", WORKER, str(path), server.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as worker:
            received = [int(worker.stdout.readline()) for _ in range(7)]
            worker.send_signal(signal.SIGKILL)
            worker.stdout.read()
        with CachedModel(OpenAIModel("fake-1", base_url=server.url, api_key="none"), path) as model:
            kept = {f"prompt {at}" for at in range(12) if model.known(Prompt("test/a", f"prompt {at}"))}
        server.hold_after = -1
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
        asked = Counter(server.prompts())
    assert len(asked) == 12
    assert all(asked[f"prompt {number}"] == 1 for number in received)
    paid_twice = {prompt for prompt, times in asked.items() if times > 1}
    assert len(kept) == 7
    assert paid_twice.isdisjoint(kept) and len(paid_twice) <= 2  # those under way, as many as are asked at once


def test_what_is_kept_says_which_prompt_it_was_and_what_it_cost(path):
    with CachedModel(scripted(), path) as model:
        model.complete(PROMPTS[:1])
    file = sqlite3.connect(path)
    [(name, value)] = file.execute("SELECT prompt, value FROM completion")
    file.close()
    assert name == "test/crop"
    assert json.loads(value)["input_tokens"] == 5


def test_a_cached_completion_equals_the_first_but_for_its_cost(path):
    with CachedModel(scripted(), path) as model:
        [first], [again] = model.complete(PROMPTS[:1]), model.complete(PROMPTS[:1])
    assert again == Completion(text=first.text, data=first.data, model=first.model)


# --- drawing ahead of a slow consumer ---------------------------------------------------------------------------------


def test_the_source_goes_on_while_nobody_takes() -> None:
    finished = Event()

    def source() -> Generator[int, None, None]:
        yield from range(100)
        finished.set()

    taken = ahead(source())
    assert next(taken) == 0
    assert finished.wait(5)
    assert list(taken) == list(range(1, 100))


def test_an_error_of_the_source_comes_after_what_it_gave() -> None:
    def source() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broken")

    taken = ahead(source())
    assert next(taken) == 1
    with pytest.raises(ValueError, match="broken"):
        next(taken)


def test_a_taker_that_stops_closes_the_source() -> None:
    closed = Event()

    def source() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    taken = ahead(source())
    next(taken)
    taken.close()
    assert closed.wait(5)


def test_completions_made_from_a_text_are_erased_and_so_are_those_made_from_their_own_words(path):
    text = "Ann Lee met the other singer in Bath last year"
    replies = {
        "facts": "Two vocalists came together once in a town of Somerset",
        "summary": "A meeting took place",
        "other": "Soybean is sown in June",
    }
    prompts = {
        "facts": Prompt("facts", f"State the facts: {text}.", {"text": text}),
        "summary": Prompt("summary", f"Sum up: {replies['facts']}", {"texts": [replies["facts"], "Something else"]}),
        "other": Prompt("other", "State the facts: Soybean.", {"text": "Soybean is sown in the month of June"}),
    }
    with CachedModel(ScriptedModel(replies), path) as model:
        model.complete(list(prompts.values()))
        assert erase(path, marks_of, [text], set()) == 2
    with CachedModel(ScriptedModel({}), path, mode="replay") as model:
        assert model.complete([prompts["other"]])[0].text == replies["other"]
        for name in ("facts", "summary"):
            with pytest.raises(CompletionMissing):
                model.complete([prompts[name]])
    content = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"vocalists" not in content
    assert b"A meeting" not in content
    assert b"Soybean" in content


def test_a_completion_of_a_version_that_kept_no_marks_is_judged_by_its_reply(path):
    with CachedModel(ScriptedModel(lambda prompt: prompt.text), path) as model:
        model.complete([Prompt("a", "Who is Farida?"), Prompt("a", "Who is Ann?")])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE completion SET value = json_remove(value, '$.marks')")
    assert erase(path, marks_of, ["an old text about something"], {"farida"}) == 1
