"""The remote model and embedder against a real server on loopback, one test a kind of failure."""

import json
import logging
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Event, Semaphore

import numpy as np
import pytest

from kgrag.errors import EmbeddingMismatch, InvalidSettings, ServiceRefused, ServiceUnavailable
from kgrag.llm.openai_chat import OpenAIModel, side_by_side
from kgrag.llm.openai_connection import Retries, retry_after
from kgrag.llm.openai_embeddings import OpenAIEmbedder
from kgrag.model import Prompt, Usage
from tests import fake_openai as fake
from tests.fake_openai import FakeOpenAI, say, status

KEY = "sk-secret-0123456789"
CROP = {
    "type": "object",
    "properties": {"crop": {"type": "string"}},
    "required": ["crop"],
    "additionalProperties": False,
}
SOYBEAN = '{"crop": "soybean"}'
NO_RETRY = Retries(attempts=1)


class Waits:
    """Counts waiting instead of doing it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model_at(server, **given):
    given = {"retries": Retries(sleep=Waits()), "timeout": 10.0, "api_key": KEY, **given}
    return OpenAIModel("fake-1", base_url=server.url, **given)


def ask(server, *, schema=CROP, text="Which crop?", **given):
    with model_at(server, **given) as model:
        return model.complete([Prompt("test/crop", text, schema=schema)])[0]


def refusal_of(server, **given):
    with pytest.raises((ServiceRefused, ServiceUnavailable)) as caught:
        ask(server, **given)
    return str(caught.value)


# --- replies that are fine ---------------------------------------------------------------------------------------


def test_a_reply_gives_text_data_model_and_tokens():
    with FakeOpenAI([say(SOYBEAN)]) as server:
        completion = ask(server)
    assert completion.text == SOYBEAN
    assert completion.data == {"crop": "soybean"}
    assert completion.model == "fake-1"
    assert completion.usage == Usage(1, 11, 7)
    assert completion.problem == ""


def test_free_text_is_given_as_it_is():
    with FakeOpenAI([say("Soybean.")]) as server:
        completion = ask(server, schema=None)
    assert (completion.text, completion.data, completion.problem) == ("Soybean.", None, "")
    assert "response_format" not in server.requests[0].body


def test_a_request_is_deterministic_and_carries_its_content_as_idempotency_key():
    with FakeOpenAI([say(SOYBEAN), say(SOYBEAN)]) as server:
        ask(server)
        ask(server)
    first, second = server.requests
    assert first.body["temperature"] == 0
    assert first.body["seed"] == 0
    assert "max_tokens" not in first.body
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"] == first.key
    assert first.headers["Authorization"] == f"Bearer {KEY}"


def test_completions_stand_in_the_order_of_their_prompts():
    with FakeOpenAI(reply=lambda prompt: prompt) as server, model_at(server) as model:
        completions = model.complete([Prompt("test/echo", f"crop {number}") for number in range(40)])
    assert [completion.text for completion in completions] == [f"crop {number}" for number in range(40)]


def test_no_prompts_ask_nothing():
    with FakeOpenAI() as server, model_at(server) as model:
        assert model.complete([]) == []
    assert server.requests == []


def test_completions_are_yielded_as_they_come():
    with FakeOpenAI([fake.silence(), say("second")]) as server, model_at(server, concurrency=2) as model:
        arriving = model.as_completed([Prompt("test/a", "a"), Prompt("test/b", "b")])
        _, completion = next(arriving)
        arriving.close()
    assert completion.text == "second"


def test_no_more_requests_are_under_way_than_allowed():
    with (
        FakeOpenAI(always=fake.silence()) as server,
        model_at(server, concurrency=3, timeout=0.2) as model,
        pytest.raises(ServiceUnavailable),
    ):
        model.complete([Prompt("test/a", str(number)) for number in range(20)])
    assert len(server.counts) == 3


def test_tokens_that_the_server_does_not_count_are_zero():
    with FakeOpenAI([say(SOYBEAN, usage=None), say(SOYBEAN, usage={"prompt_tokens": "many"})]) as server:
        assert ask(server).usage == Usage(1, 0, 0)
        assert ask(server).usage == Usage(1, 0, 0)


def test_content_in_parts_is_joined():
    parts = fake.completion(None)
    parts["choices"][0]["message"]["content"] = [
        {"type": "text", "text": '{"crop": '},
        {"type": "text", "text": '"rye"}'},
    ]
    with FakeOpenAI([fake.reply_json(parts)]) as server:
        assert ask(server).data == {"crop": "rye"}


def test_text_that_utf8_cannot_encode_is_sent_with_question_marks():
    with FakeOpenAI([say("fine")]) as server:
        assert ask(server, schema=None, text="a \ud800 b").text == "fine"
    assert server.requests[0].body["messages"][0]["content"] == "a ? b"


# --- replies off their schema --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [f"```json\n{SOYBEAN}\n```", f"Sure, here it is: {SOYBEAN} Anything else?", '{"crop": "soybean",}']
)
def test_fences_prose_and_slips_need_no_second_request(text):
    with FakeOpenAI([say(text)]) as server:
        assert ask(server).data == {"crop": "soybean"}
    assert len(server.requests) == 1


@pytest.mark.parametrize("wrong", ['{"crop": 87}', "I cannot say.", "", "   ", None, '{"crop": NaN}'])
def test_a_reply_off_its_schema_is_asked_for_once_more(wrong):
    first = {"content": wrong} if wrong is None else {}
    with FakeOpenAI([say(wrong, **first), say(SOYBEAN)]) as server:
        completion = ask(server)
    assert completion.data == {"crop": "soybean"}
    assert completion.usage == Usage(2, 22, 14)
    assert len(server.requests) == 2


def test_the_second_request_carries_the_first_reply_and_what_is_wrong_with_it():
    with FakeOpenAI([say('{"crop": 87}'), say(SOYBEAN)]) as server:
        ask(server)
    messages = server.requests[1].body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == '{"crop": 87}'
    assert "at $.crop: 87 is not of type 'string'" in messages[2]["content"]


def test_a_reply_twice_off_its_schema_is_a_problem_and_no_error():
    with FakeOpenAI([say('{"crop": 87}'), say('{"corp": "soybean"}')]) as server:
        completion = ask(server)
    assert completion.data is None
    assert "'crop' is a required property" in completion.problem
    assert len(server.requests) == 2


def test_a_reply_that_was_cut_is_a_problem_even_when_it_could_be_mended():
    with FakeOpenAI([say('{"crop": "soy', finish="length")]) as server:
        completion = ask(server)
    assert (completion.data, completion.finish) == (None, "length")
    assert completion.problem.startswith("the reply was cut after 7 tokens; the limit is the service's own.")
    assert len(server.requests) == 1


def test_json_without_its_end_is_sent_back_once_and_then_cut_though_the_service_calls_it_whole():
    with FakeOpenAI([say('{"crop": "soy'), say('{"crop": "soybean"}')]) as server:
        completion = ask(server)
    assert (completion.data, completion.finish, len(server.requests)) == ({"crop": "soybean"}, "stop", 2)
    with FakeOpenAI([say('{"crop": "soy'), say('{"crop": "soyb')]) as server:
        completion = ask(server)
    assert (completion.data, completion.finish) == (None, "length")
    assert completion.problem == "the reply ends before its JSON does"
    repair = server.requests[-1].body["messages"][-1]["content"]
    assert "too long: it was cut after 13 characters" in repair and "About as much fits" in repair


def test_json_without_its_end_is_not_sent_back_where_it_is_asked_for_in_parts():
    with FakeOpenAI([say('{"crop": "soy')]) as server, model_at(server) as model:
        (completion,) = model.complete([Prompt("test/crop", "Which crop?", schema=CROP, divisible=True)])
    assert (completion.data, completion.finish, len(server.requests)) == (None, "length", 1)
    assert completion.problem == "the reply ends before its JSON does, after 13 characters"


def test_a_reply_as_long_as_the_limit_was_cut_though_the_service_calls_it_whole():
    with FakeOpenAI([say("Soybean is")]) as server, model_at(server, max_tokens=7) as model:
        (completion,) = model.complete([Prompt("test/a", "a")])
    assert completion.finish == "length"


@pytest.mark.parametrize("reason", ["length", "model_length", "max_tokens", "MAX_TOKENS"])
def test_free_text_that_was_cut_is_a_problem_by_whatever_word_the_service_has_for_it(reason):
    with FakeOpenAI([say("Soybean is", finish=reason)]) as server:
        completion = ask(server, schema=None)
    assert completion.finish == "length"
    assert "cut" in completion.problem


def test_a_limit_that_is_set_is_sent_and_named_when_a_reply_is_cut():
    with FakeOpenAI([say("Soybean is", finish="length")]) as server, model_at(server, max_tokens=7) as model:
        (completion,) = model.complete([Prompt("test/a", "a")])
    assert server.requests[0].body["max_tokens"] == 7
    assert "the limit is 7, as asked for" in completion.problem


def test_an_empty_text_is_a_problem():
    with FakeOpenAI([say("")]) as server:
        assert ask(server, schema=None).problem == "the reply is empty"


def test_a_refusal_of_the_model_is_a_problem():
    with FakeOpenAI([say(None, refusal="I must not.")]) as server:
        assert ask(server).problem == "the model refused: I must not."


def test_a_filtered_reply_is_a_problem():
    with FakeOpenAI([say("", finish="content_filter")]) as server:
        assert "content filter" in ask(server).problem


def test_a_prompt_too_long_for_the_model_is_a_problem_of_that_prompt_only():
    long = status(400, "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.")
    with FakeOpenAI([long, say(SOYBEAN)]) as server, model_at(server, concurrency=1) as model:
        first, second = model.complete([Prompt("test/a", "long", schema=CROP), Prompt("test/b", "short", schema=CROP)])
    assert "too long" in first.problem
    assert second.data == {"crop": "soybean"}
    assert server.requests[1].body["response_format"]["type"] == "json_schema"


# --- what a server understands ---------------------------------------------------------------------------------------


def forms_of(server):
    return [request.body.get("response_format", {}).get("type", "text") for request in server.requests]


def test_a_schema_is_sent_as_a_strict_one_when_it_is_closed():
    with FakeOpenAI([say(SOYBEAN)]) as server:
        ask(server)
    sent = server.requests[0].body["response_format"]["json_schema"]
    assert sent == {"name": "test_crop", "schema": CROP, "strict": True}


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_without_json_schema_is_asked_for_a_json_object(code):
    with FakeOpenAI(always=fake.refuse_formats("json_schema", then=say(SOYBEAN), code=code)) as server:
        assert ask(server).data == {"crop": "soybean"}
    assert forms_of(server) == ["json_schema", "json_object"]
    assert '"required": ["crop"]' in server.requests[1].body["messages"][0]["content"]


def test_a_server_without_any_response_format_is_asked_in_words():
    with FakeOpenAI(always=fake.refuse_formats("json_schema", "json_object", then=say(f"It is {SOYBEAN}"))) as server:
        assert ask(server).data == {"crop": "soybean"}
    assert forms_of(server) == ["json_schema", "json_object", "text"]
    assert "JSON Schema" in server.requests[2].body["messages"][0]["content"]


def test_what_a_server_understands_is_found_out_once():
    with (
        FakeOpenAI(always=fake.refuse_formats("json_schema", then=say(SOYBEAN))) as server,
        model_at(server, concurrency=1) as model,
    ):
        model.complete([Prompt("test/crop", str(number), schema=CROP) for number in range(3)])
        model.complete([Prompt("test/other", "x", schema={"type": "object"})])
    assert forms_of(server) == ["json_schema", *["json_object"] * 4]


def test_one_refused_schema_does_not_spoil_the_others():
    refused = fake.refuse_formats("json_schema", then=say(SOYBEAN))
    script = [say(SOYBEAN), refused, refused, say(SOYBEAN)]
    with FakeOpenAI(script) as server, model_at(server, concurrency=1) as model:
        model.complete([Prompt("test/a", "a", schema=CROP)])
        model.complete([Prompt("test/b", "b", schema={"type": "object", "minProperties": 1})])
        model.complete([Prompt("test/c", "c", schema={"type": "object"})])
    assert forms_of(server) == ["json_schema", "json_schema", "json_object", "json_schema"]


def test_a_token_limit_by_its_newer_name_is_tried_and_remembered():
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    with (
        FakeOpenAI(always=fake.refuse_parameter("max_tokens", message, then=say(SOYBEAN))) as server,
        model_at(server, max_tokens=4096) as model,
    ):
        model.complete([Prompt("test/a", "a", schema=CROP)])
        model.complete([Prompt("test/a", "b", schema=CROP)])
    assert ["max_tokens" in request.body for request in server.requests] == [True, False, False]
    assert server.requests[2].body["max_completion_tokens"] == 4096
    assert forms_of(server) == ["json_schema"] * 3


@pytest.mark.parametrize("name", ["temperature", "seed"])
def test_a_parameter_that_the_server_names_is_left_out(name):
    action = fake.refuse_parameter(name, f"Unsupported value: '{name}' does not support 0", then=say(SOYBEAN))
    with FakeOpenAI(always=action) as server:
        assert ask(server).data == {"crop": "soybean"}
    assert name not in server.requests[-1].body


def test_a_request_that_no_dialect_makes_acceptable_is_refused():
    with FakeOpenAI(always=status(400, "no")) as server:
        assert "does not accept requests to 'fake-1' (status 400: no)" in refusal_of(server)
    assert len(server.requests) == 3


# --- failures that pass ----------------------------------------------------------------------------------------------

PASSING = {
    "too many requests": status(429),
    "request timeout": status(408),
    "conflict": status(409),
    "internal error": status(500),
    "bad gateway": status(502),
    "overloaded": status(503),
    "gateway timeout": status(504),
    "a proxy's page with status 502": fake.html(502),
    "a proxy's page with status 200": fake.html(),
    "a page that calls itself JSON": fake.html(content_type="application/json"),
    "malformed JSON": fake.malformed(),
    "JSON that is no object": fake.reply_json([1, 2]),
    "a reply without choices": fake.reply_json({"object": "chat.completion", "choices": []}),
    "an error inside status 200": fake.reply_json({"error": {"message": "upstream failed", "code": 502}}),
    "a body cut short": fake.truncated(),
    "a connection reset": fake.reset(),
}


@pytest.mark.parametrize("action", PASSING.values(), ids=PASSING)
def test_a_passing_failure_is_tried_again(action):
    with FakeOpenAI([action, action, say(SOYBEAN)]) as server:
        assert ask(server).data == {"crop": "soybean"}
    assert len(server.requests) == 3
    assert len(server.counts) == 1


@pytest.mark.parametrize("action", PASSING.values(), ids=PASSING)
def test_a_failure_that_stays_is_reported_with_host_and_attempts(action):
    with FakeOpenAI(always=action) as server:
        message = refusal_of(server, retries=Retries(attempts=3, sleep=Waits()))
        assert message.startswith(f"{server.url.removeprefix('http://')} gave no usable reply in 3 attempts; the last")
    assert message.endswith("then run again.")
    assert len(server.requests) == 3


def test_the_last_status_is_named():
    with FakeOpenAI(always=status(503, "loading the model")) as server:
        assert "status 503: loading the model" in refusal_of(server)


def test_a_reply_beyond_the_timeout_is_tried_again():
    with FakeOpenAI([fake.silence(), say(SOYBEAN)]) as server:
        assert ask(server, timeout=1).data == {"crop": "soybean"}


def test_a_server_that_never_replies_is_unavailable():
    with FakeOpenAI(always=fake.silence()) as server:
        assert "no complete reply within 0.1 s" in refusal_of(server, timeout=0.1)


def test_who_waits_is_told_once_how_long_at_most(caplog):
    failing = status(503, "busy")
    with FakeOpenAI([failing, say("a"), failing, say("b")]) as server, model_at(server, timeout=2.0) as model:
        model.complete([Prompt("test/a", "a")])
        model.complete([Prompt("test/b", "b")])
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "status 503" in told
    assert "5 times at most and for no more than 48 s in all" in told


def test_a_reply_that_drips_for_ever_meets_the_timeout():
    with FakeOpenAI(always=fake.dripping()) as server:
        assert "no complete reply within 0.2 s" in refusal_of(server, timeout=0.2, retries=NO_RETRY)


def test_a_server_that_is_not_there_is_unavailable():
    with FakeOpenAI() as gone:
        url = gone.url
    waits = Waits()
    with (
        OpenAIModel("fake-1", base_url=url, api_key=KEY, retries=Retries(sleep=waits)) as model,
        pytest.raises(ServiceUnavailable, match=r"no connection.*refused"),
    ):
        model.complete([Prompt("test/a", "a")])
    assert len(waits.seconds) == 5


# --- how long is waited ----------------------------------------------------------------------------------------------


def waits_of(action, **given):
    waits = Waits()
    with FakeOpenAI(always=action) as server:
        message = refusal_of(server, retries=Retries(sleep=waits, **given))
    return waits.seconds, message


def test_waits_grow_and_are_jittered():
    waits, _ = waits_of(status(503))
    assert len(waits) == 5
    assert all(2**n <= seconds <= 2**n + 1 for n, seconds in enumerate(waits))
    assert waits != [1, 2, 4, 8, 16]


def test_waits_never_exceed_the_longest():
    waits, _ = waits_of(status(503), longest_wait=3.0)
    assert max(waits) == 3.0


def test_retry_after_in_seconds_is_honoured():
    waits, _ = waits_of(status(429, headers={"Retry-After": "17"}))
    assert waits[:4] == [17, 17, 17, 17]


def test_retry_after_as_a_date_is_honoured():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    waits, _ = waits_of(status(429, headers={"Retry-After": date}), attempts=2)
    assert 30 < waits[0] <= 40


def test_a_server_that_asks_for_hours_is_not_waited_for():
    waits, message = waits_of(status(429, "daily limit", headers={"Retry-After": "7200"}))
    assert waits == []
    assert "asks to wait 7200 s (status 429: daily limit)" in message


def test_patience_ends_before_the_attempts_do():
    waits, _ = waits_of(status(429, headers={"Retry-After": "100"}), attempts=50, patience=350)
    assert waits == [100, 100, 100]


@pytest.mark.parametrize("value", ["", "soon", "-5", "Wed, 21 Oct 2015 07:28:00 GMT", "nan", "Mon, 99 Foo 2020"])
def test_an_unreadable_or_past_retry_after_asks_for_nothing(value):
    assert retry_after({"retry-after": value}) == 0


# --- failures that stay ----------------------------------------------------------------------------------------------

STAYING = {
    "wrong key": (status(401, "Incorrect API key provided"), "refused the API key (status 401"),
    "forbidden": (status(403, "not your project"), "refused the API key (status 403"),
    "unknown model": (status(404, "no such model", code="model_not_found"), "has no such model or address"),
    "unknown address": (fake.html(404), "no such model or address"),
    "no quota": (status(429, "You exceeded your current quota", code="insufficient_quota"), "quota is used up"),
    "no quota by type": (status(429, "quota", type="insufficient_quota"), "quota is used up"),
    "no money": (status(402, "Insufficient Balance"), "quota is used up"),
    "no quota inside status 200": (
        fake.reply_json({"error": {"message": "quota", "code": "insufficient_quota"}}),
        "quota is used up",
    ),
    "wrong method": (status(405), "refused the request (status 405"),
    "not implemented": (status(501), "refused the request (status 501"),
}


@pytest.mark.parametrize(("action", "said"), STAYING.values(), ids=STAYING)
def test_a_staying_failure_is_refused_at_once(action, said):
    with FakeOpenAI(always=action) as server, model_at(server) as model, pytest.raises(ServiceRefused) as caught:
        model.complete([Prompt("test/a", "a", schema=CROP)])
        assert said in str(caught.value)
        assert server.url.removeprefix("http://") in str(caught.value)
    assert len(server.requests) == 1


def test_after_a_failure_nothing_more_is_asked_and_what_came_before_is_kept():
    arrived = {}
    with (
        FakeOpenAI([say("one"), say("two"), status(401)]) as server,
        model_at(server, concurrency=1) as model,
        pytest.raises(ServiceRefused),
    ):
        arrived.update(model.as_completed([Prompt("test/a", str(number)) for number in range(9)]))
    assert [completion.text for completion in arrived.values()] == ["one", "two"]
    assert len(server.requests) == 3


def test_an_interrupted_caller_leaves_pending_prompts_unasked():
    with FakeOpenAI(reply=lambda prompt: "x") as server, model_at(server, concurrency=1) as model:
        arriving = model.as_completed([Prompt("t/a", str(number)) for number in range(500)])
        next(arriving)
        with pytest.raises(KeyboardInterrupt):
            arriving.throw(KeyboardInterrupt())
        asked = len(server.requests)
    assert asked < 500


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.model import Prompt

OpenAIModel("fake-1", base_url=sys.argv[1], api_key="").complete([Prompt("test/a", str(n)) for n in range(9)])
"""


def test_an_interrupted_process_ends_at_once_though_requests_are_under_way():
    arrived = Event()

    def never(handler, body):
        arrived.set()
        fake.silence()(handler, body)

    with (
        FakeOpenAI(always=never) as server,
        subprocess.Popen([sys.executable, "-c", INTERRUPTED, server.url], stderr=subprocess.PIPE) as worker,
    ):
        assert arrived.wait(30)
        worker.send_signal(signal.SIGINT)
        _, errors = worker.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors
    assert worker.returncode == -signal.SIGINT


# --- the key ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [400, 401, 404, 429, 500])
def test_the_key_is_in_no_error_log_or_repr(code, caplog):
    caplog.set_level(logging.DEBUG)
    echo = status(code, f"bad key {KEY} in 'Authorization: Bearer {KEY}'")
    with (
        FakeOpenAI(always=echo) as server,
        model_at(server) as model,
        pytest.raises((ServiceRefused, ServiceUnavailable)) as caught,
    ):
        model.complete([Prompt("test/a", "a", schema=CROP)])
    told = [str(caught.value), repr(model), model.identity, caplog.text, repr(model._connection)]
    assert not any(KEY in text for text in told)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_another_key_that_a_server_shows_is_masked_too():
    with FakeOpenAI(always=status(401, "Incorrect API key provided: sk-other-987654321.")) as server:
        assert "sk-other" not in refusal_of(server)


def test_a_key_with_a_line_end_is_trimmed():
    with FakeOpenAI([say("fine")]) as server:
        assert ask(server, schema=None, api_key=f" {KEY}\n").text == "fine"


def test_a_key_with_a_blank_within_is_refused_without_showing_it():
    with FakeOpenAI() as server, pytest.raises(InvalidSettings) as caught:
        ask(server, api_key="half key")
    assert "half key" not in str(caught.value)


def test_a_local_service_needs_no_key():
    with FakeOpenAI([say("fine")]) as server:
        assert ask(server, schema=None, api_key="").text == "fine"


def test_openai_itself_without_a_key_is_refused_before_any_request():
    with pytest.raises(ServiceRefused, match="KGRAG_API_KEY"):
        OpenAIModel("gpt", base_url=None, api_key="").complete([Prompt("test/a", "a")])


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "", "http://"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidSettings, match="no http"):
        OpenAIModel("m", base_url=url or "x", api_key="").complete([Prompt("test/a", "a")])


def test_the_identity_names_model_host_and_parameters_and_no_secret():
    model = OpenAIModel("m", base_url="https://me:secret@host:8000/v1/", api_key=KEY, max_tokens=99)
    assert model.identity == "m at host:8000/v1 (temperature=0 seed=0)"
    assert replace(model, max_tokens=None).identity == model.identity  # a whole reply is the same under any limit


def test_a_closed_model_opens_again_when_asked():
    with FakeOpenAI([say("one"), say("two")]) as server:
        model = model_at(server)
        model.complete([Prompt("test/a", "a")])
        model.close()
        assert model.complete([Prompt("test/a", "b")])[0].text == "two"
        model.close()
        model.close()


# --- workers ---------------------------------------------------------------------------------------------------------


def test_work_under_way_is_yielded_before_the_failure_is_raised():
    begun, failed = Event(), Event()

    def work(item, stopping):
        if item == "fails":
            begun.wait(10)
            failed.set()
            raise ValueError(item)
        begun.set()
        failed.wait(10)
        stopping.wait(10)
        return item

    arriving = side_by_side(work, ["slow", "fails", "never begun"], limit=2)
    assert next(arriving) == (0, "slow")
    with pytest.raises(ValueError, match="fails"):
        next(arriving)


def test_no_more_is_begun_than_whoever_keeps_the_replies_keeps_up_with():
    begun = Semaphore(0)

    def work(item, stopping):
        begun.release()
        return item

    arriving = side_by_side(work, "abcdef", limit=2)
    first = next(arriving)
    assert begun.acquire(timeout=10) and begun.acquire(timeout=10)
    assert not begun.acquire(timeout=0.1)
    assert sorted([first, *arriving]) == list(enumerate("abcdef"))


def test_a_batch_that_is_given_up_does_not_sit_out_its_waits():
    begun = time.perf_counter()
    patient = Retries(first_wait=60.0)
    script = [status(503, headers={"Retry-After": "60"}), status(401)]
    with (
        FakeOpenAI(script) as server,
        model_at(server, concurrency=2, retries=patient) as model,
        pytest.raises(ServiceRefused),
    ):
        model.complete([Prompt("test/a", "a"), Prompt("test/a", "b")])
    assert len(server.requests) == 2
    assert time.perf_counter() - begun < 10


# --- embeddings ------------------------------------------------------------------------------------------------------


def embedder_at(server, **given):
    given = {"retries": Retries(sleep=Waits()), "timeout": 10.0, "api_key": KEY, **given}
    return OpenAIEmbedder("fake-embedder", base_url=server.url, **given)


def test_vectors_are_unit_rows_in_the_order_of_the_texts():
    with FakeOpenAI(always=fake.embeddings(shuffled=True)) as server, embedder_at(server, batch=2) as embedder:
        vectors = embedder.embed(["a", "b", "c", "d", "e"], "passage")
    expected = np.array([fake.vector(text) for text in "abcde"])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert [len(request.body["input"]) for request in server.requests] == [2, 2, 1]


def test_the_dimension_is_asked_once():
    with FakeOpenAI() as server, embedder_at(server) as embedder:
        assert embedder.dimension == embedder.dimension == fake.DIMENSION
        assert embedder.identity == "fake-embedder"
    assert len(server.requests) == 1


def test_no_texts_give_no_rows():
    with FakeOpenAI() as server, embedder_at(server, expected=8) as embedder:
        assert embedder.embed([], "query").shape == (0, 8)
    assert server.requests == []


def test_an_empty_text_is_embedded_as_a_blank():
    with FakeOpenAI() as server, embedder_at(server, expected=8) as embedder:
        assert embedder.embed(["", "\ud800"], "query").shape == (2, 8)
    assert server.requests[0].body["input"] == [" ", "?"]


def test_vectors_of_another_length_than_expected_are_refused():
    with (
        FakeOpenAI() as server,
        embedder_at(server, expected=16) as embedder,
        pytest.raises(EmbeddingMismatch, match="vectors of 8 numbers, 16 were expected"),
    ):
        embedder.embed(["a"], "passage")


BROKEN = {
    "a vector missing": {"data": [{"index": 0, "embedding": [1.0, 0.0]}]},
    "a zero vector": {"data": [{"index": i, "embedding": [0.0, 0.0]} for i in range(2)]},
    "an index twice": {"data": [{"index": 0, "embedding": [1.0, 0.0]}] * 2},
    "ragged vectors": {"data": [{"index": i, "embedding": [1.0] * (i + 1)} for i in range(2)]},
    "no vectors": {"data": None},
    "not a number": {"data": [{"index": i, "embedding": [float("nan"), 1.0]} for i in range(2)]},
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_vectors_that_cannot_be_right_are_asked_for_again(body):
    with FakeOpenAI([fake.reply_json(body), fake.embeddings(2)]) as server, embedder_at(server, expected=2) as embedder:
        assert embedder.embed(["a", "b"], "passage").shape == (2, 2)
    assert len(server.requests) == 2


@pytest.mark.parametrize(("code", "error"), [(401, ServiceRefused), (400, ServiceRefused), (503, ServiceUnavailable)])
def test_an_embedder_fails_as_a_model_does(code, error):
    with FakeOpenAI(always=status(code, "no")) as server, embedder_at(server) as embedder, pytest.raises(error):
        embedder.embed(["a"], "passage")


# --- the fake itself -------------------------------------------------------------------------------------------------


def test_the_fake_counts_requests_by_content():
    with FakeOpenAI() as server, model_at(server) as model:
        model.complete([Prompt("test/a", "a"), Prompt("test/a", "a"), Prompt("test/a", "b")])
    assert sorted(server.counts.values()) == [1, 2]
    assert json.loads(fake.FIXED)


def test_the_fake_runs_as_a_process_of_its_own(tmp_path):
    replies = tmp_path / "replies.py"
    replies.write_text("def shout(prompt):\n    return prompt.upper()\n")
    command = [
        sys.executable,
        str(Path(fake.__file__)),
        "--log",
        str(tmp_path / "log"),
        "--function",
        f"{replies}:shout",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        with OpenAIModel("fake-1", base_url=url, api_key="", retries=NO_RETRY) as model:
            texts = [completion.text for completion in model.complete([Prompt("t/a", "rye"), Prompt("t/a", "oats")])]
        process.terminate()
        process.stdout.read()
    assert texts == ["RYE", "OATS"]
    assert len(set((tmp_path / "log").read_text().split())) == 2


def test_waiting_is_logged_without_the_key(caplog):
    caplog.set_level(logging.INFO)
    with FakeOpenAI([status(429, f"slow down, {KEY}"), say(SOYBEAN)]) as server:
        ask(server)
    assert "status 429: slow down, …; next attempt in" in caplog.text
