"""``/v1``, met by the ``openai`` package, and by what Open WebUI sends."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from kgrag import KnowledgeBase
from kgrag.answering.conversation import Turn
from kgrag.model import Completion, Document, Prompt, Usage
from kgrag.server.access_keys import Keys
from kgrag.server.paid_access import PaidAccess
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel
from tests.server.inside import KEY, Inside, served

QUESTION = "When is chickpea sown in the Hill Zone?"
QUOTE = "In the Hill Zone, chickpea is sown from 10 March to 25 March."
VARIETIES = "Which varieties of lentil are grown in which zone?"


_OPENED: list[openai.OpenAI] = []


def client_of(running: Inside, key: str = "none") -> openai.OpenAI:
    """A client, closed at the end of the test."""
    made = openai.OpenAI(base_url=f"{running.url}/v1", api_key=key, max_retries=0, timeout=30)
    _OPENED.append(made)
    return made


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def client(demo: Inside) -> openai.OpenAI:
    return client_of(demo)


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


# --- models -------------------------------------------------------------------------------------------------------


def test_there_is_a_model_for_each_method_that_is_built(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [
        "kgrag-auto",
        "kgrag-obqc",
        "kgrag-og_rag",
        "kgrag-passages",
    ]
    assert client.models.retrieve("kgrag-og_rag").owned_by == "kgrag"


@pytest.mark.parametrize("name", ["kgrag-nothing", "gpt-4o", "kgrag-sire_rag"])
def test_a_model_that_does_not_exist_or_is_not_built_is_not_found(client: openai.OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=name, messages=user(QUESTION))
    assert (caught.value.code, caught.value.param, caught.value.type) == (
        "model_not_found",
        "model",
        "invalid_request_error",
    )
    assert "There are: kgrag-auto, kgrag-obqc, kgrag-og_rag, kgrag-passages." in caught.value.message
    assert ("is not built yet" in caught.value.message) == (name == "kgrag-sire_rag")


# --- chat ---------------------------------------------------------------------------------------------------------


def test_an_answer_has_its_citations_as_annotations_and_with_their_spans(demo: Inside, client: openai.OpenAI) -> None:
    done = client.chat.completions.create(model="kgrag-passages", messages=user(QUESTION))
    message = done.choices[0].message
    assert (message.content, done.choices[0].finish_reason) == (f"{QUOTE} [1]", "stop")
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    assert cited.title.startswith("Growing chickpea in the Marlow valley")
    assert "<mark" in demo.client.get(cited.url, headers={"Accept": "text/html"}).text
    ours = message.kgrag["citations"][0]
    assert (
        ours["quote"]
        == QUOTE
        == demo.client.get(f"/documents/{ours['document']}").json()["text"][ours["start"] : ours["end"]]
    )
    assert ours["score"] == demo.kb.retrieve(QUESTION, method="passages")[0].score
    assert done.usage.prompt_tokens == 9
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens


def test_a_stream_is_the_same_answer_in_pieces_with_usage_at_the_end(client: openai.OpenAI) -> None:
    asked = {"model": "kgrag-passages", "messages": user(QUESTION)}
    whole = client.chat.completions.create(**asked)
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas) == whole.choices[0].message.content
    assert sum(bool(delta.content) for delta in deltas) > 1
    (cited,) = (delta for delta in deltas if getattr(delta, "annotations", None))
    assert cited.annotations[0]["url_citation"] == whole.choices[0].message.annotations[0].url_citation.model_dump()
    assert cited.kgrag == whole.choices[0].message.kgrag
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-1] == "stop"
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_stream_without_that_wish_has_no_usage(client: openai.OpenAI) -> None:
    chunks = list(client.chat.completions.create(model="kgrag-passages", messages=user(QUESTION), stream=True))
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def test_hyper_parameters_filters_and_counts_can_be_sent(client: openai.OpenAI) -> None:
    def ask(**options: object) -> dict[str, Any]:
        made = client.chat.completions.create(
            model="kgrag-passages:signal=bm25", messages=user(QUESTION), extra_body={"kgrag": options}
        )
        return made.choices[0].message.kgrag

    assert ask(k=2)["method"] == "passages:signal=bm25"
    assert ask(where={"title": "no such document"})["unknown"]
    with pytest.raises(openai.BadRequestError, match="hyper-parameter"):
        client.chat.completions.create(model="kgrag-passages:colour=2", messages=user(QUESTION))


def test_a_query_that_was_run_comes_along(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(model="kgrag-obqc", messages=user(VARIETIES))
    assert "SELECT" in done.choices[0].message.kgrag["sparql"]


def test_stop_and_the_most_tokens_end_an_answer(client: openai.OpenAI) -> None:
    asked = {"model": "kgrag-passages", "messages": user(QUESTION)}
    stopped = client.chat.completions.create(**asked, stop=["10 March", "nothing"]).choices[0]
    assert (stopped.message.content, stopped.finish_reason) == ("In the Hill Zone, chickpea is sown from ", "stop")
    assert stopped.message.annotations == []
    for name in ("max_tokens", "max_completion_tokens"):
        cut = client.chat.completions.create(**asked, **{name: 4})
        assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("In the Hill Zone", "length")
        assert cut.usage.completion_tokens == 4
    chunks = list(client.chat.completions.create(**asked, stream=True, max_tokens=4))
    assert chunks[-1].choices[0].finish_reason == "length"


def test_a_json_object_has_the_answer_and_its_citations(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="kgrag-passages", messages=user(QUESTION), response_format={"type": "json_object"}
    )
    found = json.loads(done.choices[0].message.content)
    assert (found["answer"], found["citations"][0]["quote"]) == (f"{QUOTE} [1]", QUOTE)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}, "tools"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}}, "response_format"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop.list[constrained-str]"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]}, "messages.0.content"),
        ({"extra_body": {"kgrag": {"depth": 1}}}, "kgrag.depth"),
    ],
)  # fmt: skip
def test_what_is_not_done_is_refused_with_the_parameter(
    client: openai.OpenAI, options: Mapping[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{"model": "kgrag-passages", "messages": user(QUESTION), **options})
    assert caught.value.type == "invalid_request_error"
    assert str(caught.value.param).startswith(param.partition(".list")[0])
    assert caught.value.message


def test_what_would_change_nothing_is_passed_over(client: openai.OpenAI) -> None:
    done = client.chat.completions.create(
        model="kgrag-passages", messages=user(QUESTION), temperature=0.2, top_p=0.9, seed=1, user="somebody", tools=[]
    )
    assert done.choices[0].message.content == f"{QUOTE} [1]"


def test_an_address_that_is_not_served_answers_as_openai_does(demo: Inside) -> None:
    reply = demo.client.post("/v1/audio/speech", json={})
    assert (reply.status_code, reply.json()["error"]["type"]) == (404, "invalid_request_error")
    assert demo.client.get("/v1/chat/completions").json()["error"]["code"] == "not_found"


def test_a_failure_within_the_server_tells_nothing_of_the_inside(
    demo: Inside, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("in /secret/place")

    monkeypatch.setattr(KnowledgeBase, "own_answer", fail)
    with pytest.raises(openai.InternalServerError) as caught:
        client.chat.completions.create(model="kgrag-passages", messages=user(QUESTION))
    assert (caught.value.type, "secret" in caught.value.message) == ("server_error", False)


# --- conversations ------------------------------------------------------------------------------------------------

HISTORY = (
    Turn("user", "When is chickpea sown in the Hill Zone?"),
    Turn("assistant", QUOTE),
    Turn("user", "And lentil?"),
)


def test_a_conversation_is_answered_by_its_last_question(client: openai.OpenAI) -> None:
    messages = [{"role": "system", "content": "Be brief."}]
    messages += [{"role": turn.role, "content": turn.text} for turn in HISTORY]
    done = client.chat.completions.create(model="kgrag-passages", messages=messages)
    assert done.choices[0].message.kgrag["asked"] == "And lentil?"
    assert done.choices[0].message.kgrag["question"] == "When is lentil sown in the Hill Zone?"


# --- responses ----------------------------------------------------------------------------------------------------


def test_a_response_has_text_annotations_and_usage(client: openai.OpenAI) -> None:
    done = client.responses.create(model="kgrag-passages", input=QUESTION)
    assert (done.status, done.output_text) == ("completed", f"{QUOTE} [1]")
    annotation = done.output[0].content[0].annotations[0]
    assert (annotation.type, done.output_text[annotation.start_index : annotation.end_index]) == ("url_citation", "[1]")
    assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens
    assert done.kgrag["citations"][0]["quote"] == QUOTE


def test_a_response_takes_a_conversation(client: openai.OpenAI) -> None:
    items = [{"role": turn.role, "content": turn.text} for turn in HISTORY[:2]]
    items += [{"role": "user", "content": [{"type": "input_text", "text": HISTORY[2].text}]}]
    assert "start date: 15 March" in client.responses.create(model="kgrag-passages", input=items).output_text


def test_a_response_can_be_streamed(client: openai.OpenAI) -> None:
    with client.responses.stream(model="kgrag-passages", input=QUESTION) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert final.output_text == f"{QUOTE} [1]"
    assert final.output[0].content[0].annotations[0].type == "url_citation"
    assert [event.sequence_number for event in events] == sorted(event.sequence_number for event in events)
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == final.output_text
    assert [event.type for event in (events[0], events[-1])] == ["response.created", "response.completed"]


def test_a_response_that_is_cut_is_incomplete(client: openai.OpenAI) -> None:
    done = client.responses.create(model="kgrag-passages", input=QUESTION, max_output_tokens=4)
    assert (done.status, done.incomplete_details.reason, done.output_text) == (
        "incomplete",
        "max_output_tokens",
        "In the Hill Zone",
    )


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"background": True}, "background"),
        ({"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}}, "text.format"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input.0"),
    ],
)
def test_what_a_response_cannot_do_is_refused(client: openai.OpenAI, options: Mapping[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**{"model": "kgrag-passages", "input": QUESTION, **options})
    assert caught.value.param == param


# --- embeddings ---------------------------------------------------------------------------------------------------


def test_embeddings_are_those_of_the_knowledge_base_in_both_forms(demo: Inside, client: openai.OpenAI) -> None:
    texts = ["chickpea in the hills", "a mill"]
    expected = demo.kb.embedder.embed(texts, "passage")
    for form in ("float", "base64"):
        made = client.embeddings.create(model="kgrag-embedder", input=texts, encoding_format=form)
        rows = [each.embedding for each in made.data]
        rows = [np.frombuffer(base64.b64decode(row), "<f4") if isinstance(row, str) else row for row in rows]
        assert np.allclose(rows, expected)
    assert np.allclose(
        client.embeddings.create(model="all-MiniLM-L6-v2", input=texts[1]).data[0].embedding, expected[1]
    )
    assert made.usage.prompt_tokens == 6


@pytest.mark.parametrize(
    ("options", "param"),
    [({"dimensions": 3}, "dimensions"), ({"input": ["a", " "]}, "input"), ({"input": [[1, 2]]}, "input")],
)
def test_embeddings_that_cannot_be_made_are_refused(
    client: openai.OpenAI, options: Mapping[str, Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(**{"model": "kgrag-embedder", "input": "a", **options})
    assert str(caught.value.param).startswith(param)


def test_an_embedder_of_another_name_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="all-MiniLM-L6-v2"):
        client.embeddings.create(model="text-embedding-3-small", input="a")


# --- keys ---------------------------------------------------------------------------------------------------------


def test_keys_are_asked_for_where_answers_cost_money(demo: Inside) -> None:
    with served(demo.kb, AccessRules(Keys(KEY), PaidAccess(answers_cost=True, searches_cost=True))) as running:
        with pytest.raises(openai.AuthenticationError) as caught:
            client_of(running).chat.completions.create(model="kgrag-passages", messages=user(QUESTION))
        assert (caught.value.type, caught.value.code) == ("authentication_error", "invalid_api_key")
        with pytest.raises(openai.AuthenticationError):
            client_of(running).responses.create(model="kgrag-passages", input=QUESTION)
        with pytest.raises(openai.AuthenticationError):
            client_of(running).embeddings.create(model="kgrag-embedder", input="a")
        assert client_of(running, KEY).responses.create(model="kgrag-passages", input=QUESTION).output_text


def test_a_private_server_lists_no_models_without_a_key(demo: Inside) -> None:
    with served(demo.kb, AccessRules(Keys(KEY, private=True))) as running:
        with pytest.raises(openai.AuthenticationError):
            client_of(running).models.list()
        assert len(list(client_of(running, KEY).models.list())) == 4


# --- Open WebUI ---------------------------------------------------------------------------------------------------

TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: When is chickpea sown in the Hill Zone?
ASSISTANT: In the Hill Zone, chickpea is sown from 10 March to 25 March. [1]
</chat_history>"""
TAGS = TITLE.replace('{ "title": "your concise title here" }', '{ "tags": ["tag1", "tag2"] }')


def test_open_webui_lists_asks_stops_and_names_a_chat(demo: Inside) -> None:
    """What it sends to a connection of OpenAI's kind, in its order."""
    headers = {"Authorization": "Bearer sk-none", "Content-Type": "application/json", "X-OpenWebUI-User-Name": "A"}
    models = demo.client.get("/v1/models", headers=headers).json()["data"][::-1]
    assert models[0]["id"] == "kgrag-passages"
    body = {
        "model": models[0]["id"],
        "messages": user(QUESTION),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    with demo.client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    texts = [choice["delta"].get("content", "") for line in lines[:-1] for choice in json.loads(line)["choices"]]
    assert "".join(texts) == f"{QUOTE} [1]"
    with demo.client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as reply:
        next(reply.iter_lines())  # the user presses stop, and the connection is closed
    for prompt, expected in {TITLE: {"title": "When is chickpea sown in the"}, TAGS: {"tags": []}}.items():
        task = {"model": models[0]["id"], "messages": user(prompt), "stream": False, "max_completion_tokens": 1000}
        made = demo.client.post("/v1/chat/completions", json=task, headers=headers).json()
        assert json.loads(made["choices"][0]["message"]["content"]) == expected


@pytest.fixture
def modelled(tmp_path: Path) -> Iterator[tuple[Inside, ScriptedModel]]:
    """A knowledge base whose language model replies from a script, slowly."""

    def reply(prompt: Prompt) -> Completion:
        if prompt.name == "chat/side_task":
            return Completion("A mill", usage=Usage(1, 70, 2))
        time.sleep(1.5)
        found = {"sentences": [{"text": "In 1820.", "citations": [{"evidence": 1, "quote": "built in 1820"}]}]}
        return Completion(json.dumps(found), found, usage=Usage(1, 400, 30))

    model = ScriptedModel(reply)
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        kb.add(Document("The mill of Ostrel was built in 1820.", id="mill", url="https://ostrel.example/mill"))
        with served(kb) as running:
            yield running, model


def test_a_slow_answer_is_streamed_with_the_usage_that_its_model_counted(
    modelled: tuple[Inside, ScriptedModel],
) -> None:
    running, _ = modelled
    asked = {"model": "kgrag-passages", "messages": user("When was the mill of Ostrel built?"), "stream": True}
    chunks = list(client_of(running).chat.completions.create(**asked, stream_options={"include_usage": True}))
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (400, 30)
    (cited,) = (chunk.choices[0].delta for chunk in chunks[:-1] if getattr(chunk.choices[0].delta, "annotations", None))
    assert cited.annotations[0]["url_citation"]["url"] == "https://ostrel.example/mill"


def test_an_error_after_the_beginning_of_a_stream_is_its_last_event(
    modelled: tuple[Inside, ScriptedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, model = modelled

    def fail(*_: object) -> None:
        time.sleep(1.5)
        raise RuntimeError("in /secret/place")

    monkeypatch.setattr(model, "_scripted", fail)
    asked = {"model": "kgrag-passages", "messages": user("When was the mill of Ostrel built?")}
    with pytest.raises(openai.APIError, match="went wrong within the server"):
        list(client_of(running).chat.completions.create(**asked, stream=True))
    with client_of(running).responses.create(model="kgrag-passages", input="When?", stream=True) as stream:
        last = list(stream)[-1]
    assert (last.type, last.response.error.code) == ("response.failed", "server_error")


def test_a_language_model_names_a_chat(modelled: tuple[Inside, ScriptedModel]) -> None:
    running, model = modelled
    made = client_of(running).chat.completions.create(model="kgrag-passages", messages=user(TITLE))
    assert (made.choices[0].message.content, made.usage.prompt_tokens) == ("A mill", 70)
    assert model.prompts[-1].text == TITLE
