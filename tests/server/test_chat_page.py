"""The chat page: follow-ups, citations that open, facets, feedback, and sentences while the model still writes."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import httpx
import lxml.html
import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.errors import ServiceUnavailable
from kgrag.evaluation.feedback_questions import feedback_dataset
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.model import Document, Prompt
from kgrag.server.access_keys import Keys
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel
from tests.answering.test_streamed_answers import QUESTION, REPLY, SHOWN, TEXT
from tests.fake_openai import FakeOpenAI, streamed
from tests.knowledge_base.test_conversations import TEN_TURNS, TEXTS, Legumes
from tests.server.inside import KEY, Inside, served

SETTINGS = Settings(model="extractive", completions="off")


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Inside]:
    """A server that keeps chats, over documents of two years."""
    with KnowledgeBase(tmp_path / "kb", settings=SETTINGS, embedder=Legumes()) as kb:
        for number, (name, text) in enumerate(TEXTS.items()):
            kb.add(Document(text, name, id=name, metadata={"year": 2020 + number % 2}))
        with served(kb, rules=AccessRules(Keys(KEY), keep_chats=True)) as running:
            yield running


def say(running: Inside, question: str, chat: str = "", **fields: str) -> tuple[str, lxml.html.HtmlElement]:
    """Ask as the form does; returns the name of the conversation, and its page."""
    reply = running.client.post("/chat", data={"question": question, "chat": chat, **fields}, follow_redirects=True)
    assert reply.status_code == 200, reply.text
    return reply.url.params["chat"], lxml.html.fromstring(reply.text)


def select(page: lxml.html.HtmlElement, of_class: str, inside: str = "") -> list[lxml.html.HtmlElement]:
    """Return the elements of a class, or what is inside them by an XPath."""
    found: list[lxml.html.HtmlElement] = page.xpath(f"//*[contains(concat(' ', @class, ' '), ' {of_class} ')]{inside}")
    return found


def words(page: lxml.html.HtmlElement, of_class: str, inside: str = "") -> list[str]:
    return [" ".join(found.text_content().split()) for found in select(page, of_class, inside)]


def test_ten_turns_are_a_conversation_that_is_kept(keeping: Inside) -> None:
    chat = ""
    for message, _ in TEN_TURNS:
        chat, page = say(keeping, message, chat)
    assert words(page, "said") == [message for message, _ in TEN_TURNS]
    assert words(page, "asked-as") == [f"Asked as: {full}" for _, full in TEN_TURNS if full]
    assert [one.question for one in keeping.kb.conversation(chat).answers] == [full or said for said, full in TEN_TURNS]
    cited = select(page, "cited", "//a")[0]
    opened = lxml.html.fromstring(keeping.client.get(cited.get("href")).text)
    assert "chickpea is sown in March" in opened.xpath("string(//mark)")
    targets = {found.get("id") for found in page.xpath("//*[@id]")}
    assert {link.get("href")[1:] for link in select(page, "cite")} <= targets
    assert len(targets) == len(page.xpath("//*[@id]"))
    assert (
        "Answered by auto: what it cites was found by words and meaning"
        in words(page, "turn", "//p[contains(@class, 'muted')]")[0]
    )


def test_a_kept_conversation_goes_on_at_another_server(keeping: Inside) -> None:
    chat, _ = say(keeping, TEN_TURNS[0][0])
    with served(keeping.kb, rules=AccessRules(Keys(KEY), keep_chats=True)) as other:
        _, page = say(other, "And in the Coastal Zone?", chat)
    assert words(page, "said") == [TEN_TURNS[0][0], "And in the Coastal Zone?"]
    assert words(page, "sentences", "/p")[0].endswith("is sown in March.1")
    assert keeping.client.get("/chat", params={"chat": "nobody-knows"}).status_code == 404


def test_the_start_page_shows_no_question_of_a_conversation_to_others(keeping: Inside) -> None:
    say(keeping, TEN_TURNS[0][0])
    assert "Asked before" not in keeping.page("/").text
    keeping.kb.ask("When is lentil sown?", keep=True)
    listed = lxml.html.fromstring(keeping.page("/").text).xpath("//h2[text()='Asked before']/following::ul[1]/li")
    assert [" ".join(one.text_content().split()) for one in listed] == ["When is lentil sown?"]


def test_facets_say_which_documents_may_be_found(keeping: Inside) -> None:
    first = lxml.html.fromstring(keeping.client.get("/chat").text)
    assert words(first, "options", "//select[@name='where.year']/option") == ["any", "2020 (3)", "2021 (2)"]
    _, page = say(keeping, TEN_TURNS[0][0], **{"where.year": "2021"})
    assert "March" not in words(page, "turn")[0]
    assert select(page, "options", "//select[@name='where.year']/option[@selected]")[0].get("value") == "2021"


def test_facets_are_fields_that_people_choose_by_each_once(tmp_path: Path) -> None:
    def fields(number: int) -> dict[str, object]:
        made = {"author": "openpyxl" if number % 2 else "Ann Lee", "created": f"2026-01-01T10:00:0{number % 2}Z"}
        return {**made, "code": f"C{number}", "language": "en" if number else "de", "team": f"T{number % 2}"}

    with KnowledgeBase(tmp_path / "kb", settings=SETTINGS, embedder=HashEmbedder()) as kb:
        for number in range(5):
            spoken = {"dcterms:language": "de" if number % 2 else "fr"} if number < 4 else {}
            kb.add(Document(f"Text {number}.", str(number), metadata={**fields(number), **spoken}))
        with served(kb) as running:
            page = lxml.html.fromstring(running.client.get("/chat").text)
    assert page.xpath("//select[starts-with(@name, 'where.')]/@name") == ["where.language", "where.team"]


def test_a_turn_shows_its_short_answer_and_how_sure_it_is(keeping: Inside) -> None:
    chat, page = say(keeping, "How long is the Amra?")
    assert words(page, "short") == ["120 km"]
    talk = keeping.kb.conversation(chat)
    talk.add(replace(talk.answers[0], confidence=0.2))
    kept = lxml.html.fromstring(keeping.client.get("/chat", params={"chat": chat}).text)
    assert words(kept, "short")[-1] == "120 km"
    with served(keeping.kb, rules=AccessRules(Keys(KEY), keep_chats=True)) as other:
        kept = lxml.html.fromstring(other.client.get("/chat", params={"chat": chat}).text)
    assert words(kept, "short") == ["low confidence 20 %"]


def test_feedback_is_a_graph_that_a_measurement_reads(keeping: Inside) -> None:
    chat, _ = say(keeping, TEN_TURNS[0][0])
    say(keeping, "And in the Coastal Zone?", chat)
    say(keeping, "Which emperor abolished the tax on silk?", chat)
    for turn, verdict, comment in (("1", "right", ""), ("2", "wrong", "In May."), ("3", "missing", "")):
        fields = {"chat": chat, "turn": turn, "verdict": verdict, "comment": comment}
        page = keeping.client.post("/chat/feedback", data=fields, follow_redirects=True)
        assert f"Your feedback is kept: {verdict}." in page.text
    right, wrong, missing = sorted(
        feedback_dataset(keeping.kb.store).questions, key=lambda one: one.text != TEN_TURNS[0][0]
    )
    assert (right.text, right.relevant, right.left_out) == (TEN_TURNS[0][0], {"sowing"}, "")
    assert (wrong.answers, missing.answers) == (("In May.",), ())
    assert shacl.validate(keeping.kb.store, shacl.graph_shapes()) == []
    assert [one.check for one in keeping.kb.audit(profile="kg").findings if one.severity == "Violation"] == []
    keeping.kb.forget("sowing")
    assert [one.text for one in feedback_dataset(keeping.kb.store).questions] == [missing.text]


def test_without_keeping_there_is_no_feedback_and_nothing_is_written(demo: Inside) -> None:
    before = demo.kb.store.revision
    chat, page = say(demo, "When is chickpea sown in the Hill Zone?")
    assert select(page, "feedback") == []
    fields = {"chat": chat, "turn": "1", "verdict": "right"}
    assert demo.client.post("/chat/feedback", data=fields).status_code == 403
    assert demo.kb.store.revision == before


def test_a_form_of_another_site_is_refused(demo: Inside) -> None:
    headers = {"Origin": "https://evil.example"}
    assert demo.client.post("/chat", data={"question": "x"}, headers=headers).status_code == 403
    assert demo.client.post("/chat", data={"question": " "}).status_code == 400


def test_text_with_markup_stays_text(demo: Inside) -> None:
    reply = demo.client.post("/chat", data={"question": "<!-- sentences --><b>x</b>"}, follow_redirects=True)
    assert "<b>x" not in reply.text
    assert "&lt;b&gt;x" in reply.text
    policy = reply.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert not re.search(r"<script(?![^>]*src=)|style=|onclick", reply.text)


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[tuple[Inside, Event]]:
    let = Event()

    def pause(number: int) -> None:
        assert number < 2 or let.wait(30)

    with FakeOpenAI([streamed(*REPLY, pause=pause)]) as fake:
        model = OpenAIModel("fake-1", base_url=fake.url, api_key="")
        with KnowledgeBase(tmp_path / "kb", settings=SETTINGS, embedder=HashEmbedder(), model=model) as kb:
            kb.add(Document(TEXT, "Sowing"))
            with served(kb) as running:
                yield running, let
                let.set()


def test_the_page_has_a_sentence_while_the_model_still_writes(writing: tuple[Inside, Event]) -> None:
    running, let = writing
    form = {"question": QUESTION, "method": "passages"}
    address = running.client.post("/chat", data=form).headers["location"]
    got = ""
    with running.client.stream("GET", address) as reply:
        for text in reply.iter_text():
            got += text
            if SHOWN[0] in got:
                let.set()
    assert let.is_set()
    page = lxml.html.fromstring(got)
    assert words(page, "sentences", "/p") == [f"{SHOWN[0]}1", f"{SHOWN[1]}2"]
    assert got.count("<html") == got.count("</html>") == 1
    assert words(page, "said") == [QUESTION]
    again = lxml.html.fromstring(running.client.get(address).text)
    assert words(again, "sentences", "/p") == words(page, "sentences", "/p")
    assert {link.get("href")[1:] for link in select(page, "cite")} <= {x.get("id") for x in page.xpath("//*[@id]")}


def test_what_goes_wrong_stands_in_the_place_of_the_answer(tmp_path: Path) -> None:
    let = Event()

    def reply(_: Prompt) -> str:
        assert let.wait(30)
        raise ServiceUnavailable("the model does not answer. Try again later.")

    with KnowledgeBase(tmp_path / "kb", settings=SETTINGS, embedder=HashEmbedder(), model=ScriptedModel(reply)) as kb:
        kb.add(Document(TEXT, "Sowing"))
        with served(kb) as running:
            address = running.client.post("/chat", data={"question": QUESTION}).headers["location"]
            got = ""
            with running.client.stream("GET", address) as page:
                for text in page.iter_text():
                    got += text
                    let.set()
            assert got.count("</html>") == 1
            assert words(lxml.html.fromstring(got), "notice") == ["The model does not answer. Try again later."]
            again: httpx.Response = running.client.get(address)
            assert words(lxml.html.fromstring(again.text), "said") == [QUESTION]


def test_a_question_that_comes_too_early_is_kept_for_the_form(writing: tuple[Inside, Event]) -> None:
    running, let = writing
    address = running.client.post("/chat", data={"question": QUESTION, "method": "passages"}).headers["location"]
    chat = httpx.URL(address).params["chat"]
    for early in ("And lentil?", "And maize?", "And lentil?"):
        assert running.client.post("/chat", data={"question": early, "chat": chat}).status_code == 303
    let.set()
    page = lxml.html.fromstring(running.client.get(address).text)
    assert words(page, "said") == [QUESTION]
    assert words(page, "notice", "//li") == ["And lentil?", "And maize?"]
    assert page.xpath("//input[@id='question']/@value") == ["And lentil?"]
    _, page = say(running, "And lentil?", chat, method="passages")
    assert words(page, "notice", "//li") == ["And maize?"]
