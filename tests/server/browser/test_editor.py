"""The SPARQL editor in a browser: colours, completion, marks at what is wrong, results, and no breach of the content policy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import lxml.html
import pytest

pytest.importorskip("selenium", reason="selenium drives the browser")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.sparql.syntax import Limits
from kgrag.sparql.tokens import Scanner
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG
from tests.server.browser.conftest import quiet, without_scripts
from tests.server.browser.looking import barriers, contrast, focused, one, seen, texts, waiting, walk_to
from tests.server.inside import Inside, served

CROPS = "https://w3id.org/kgrag/examples/crops#"
KNOWN = {
    "prefixes": {"crops": CROPS, "kg": KG.prefix},
    "declared": {"kg": KG.prefix},
    "classes": [f"{CROPS}Crop", f"{CROPS}CropRotation", f"{CROPS}GrowingZone", "urn:odd:Class%20one"],
    "properties": [f"{CROPS}hasGrowingZone", f"{CROPS}P_0001"],
    "labels": {f"{CROPS}P_0001": "sown at depth"},
    "queries": [{"name": "catalogue/kinds", "title": "How many graphs"}, {"name": "documents/listing", "title": "All"}],
}
AS_SPARQL = {"Accept": "application/sparql-query"}
ROWS = """SELECT * { VALUES (?text ?other) {
  ("a,\\"b\\"\\n\\tc\\\\" "plain"@en-GB) (1 2.50) (1e3 true) ("01"^^<http://www.w3.org/2001/XMLSchema#integer> UNDEF)
  (<https://example.org/a?b=1&c> "2024-01-01"^^<http://www.w3.org/2001/XMLSchema#date>) ("é𝄞" "")
} } ORDER BY STR(?text)"""


def open_editor(browser: Any, demo: Inside, query: str | None = None, **parameters: str) -> Any:
    """Open the page and return its text area, once the terms of the store are there."""
    given = {**parameters, **({} if query is None else {"query": query})}
    browser.get(f"{demo.url}/editor?" + "&".join(f"{name}={quote(value)}" for name, value in given.items()))
    one(browser, ".code .code-line")
    area = one(browser, "#query")
    if query == "":  # which the page takes for none, and shows an example
        write(area, "")
    return area


def write(area: Any, text: str) -> None:
    """Replace the text; what the editor itself adds to keys (indents) is left out by putting the text in at once."""
    area.send_keys(Keys.CONTROL, "a")
    area.parent.execute_script("document.execCommand('insertText', false, arguments[0])", text)


def run(browser: Any) -> None:
    one(browser, "#run").click()
    one(browser, "#result > *")


def state(browser: Any, text: str) -> None:
    waiting(browser).until(lambda _: text in one(browser, "#state").text)


def refusals(browser: Any) -> int:
    """How often the browser's console notes a request that was refused; the notes are taken from it."""
    entries = [entry["message"] for entry in browser.get_log("browser")]
    assert [entry for entry in entries if "status of 400" not in entry] == []
    return len(entries)


def module(browser: Any, name: str, call: str, *arguments: Any) -> Any:
    """What a function of one of the editor's modules returns; ``call`` is its name."""
    script = f"""const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);
    import('/static/editor/{name}.js').then((m) => done(m.{call}(...given)), (e) => done(String(e)))"""
    return browser.execute_async_script(script, *arguments)


# --- colours ------------------------------------------------------------------------------------------------------


def as_server_reads(text: str) -> list[list[object]]:
    scanner, found = Scanner(text, Limits()), []
    while scanner.kind != "end":
        piece = text[scanner.start : scanner.end]
        if scanner.kind in ("nil", "anon"):
            found += [["sign", bracket] for bracket in (piece[0], piece[-1])]
        else:
            found.append(["sign" if scanner.kind == piece else scanner.kind, piece])
        scanner.advance()
    return found


def test_a_query_is_cut_into_the_tokens_that_the_server_reads(browser: Any, demo: Inside) -> None:
    names = lxml.html.fromstring(demo.page("/editor").text).xpath("//optgroup/option[not(@data-form)]/@value")
    asked = [
        ROWS,
        "SELECT*{?s<urn:p>?o FILTER(?o<3&&?o>=-1.e3||!BOUND(?x))}",
        "ASK{_:b0 :a\\-b.c \"x\"@en--ltr,'''a'b\n''' .[] a []}",
        *(demo.client.get("/editor", params={"example": name}, headers=AS_SPARQL).text for name in names),
    ]
    browser.get(f"{demo.url}/health")
    for text in asked:
        cut = browser.execute_async_script(
            """const done = arguments[1]; import('/static/editor/tokens.js').then(
            (m) => done([...m.meaningful(arguments[0])].map((t) => [t.kind, t.text])))""",
            text,
        )
        assert cut == as_server_reads(text)


def test_what_is_seen_is_the_text_in_colours_line_by_line(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, example="catalogue/kinds")
    value = area.get_property("value")
    assert texts(browser, ".shown .code-line") == value.split("\n")
    assert {"PREFIX", "SELECT", "GROUP", "a"} <= set(texts(browser, ".shown .word"))
    assert "kg:publication" in texts(browser, ".shown .name")
    assert "?kind" in texts(browser, ".shown .variable")
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys("\n# last")
    assert texts(browser, ".shown .comment")[-1] == "# last"


def test_the_colours_lie_under_the_letters_however_long_the_text(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo)
    write(
        area,
        "\n".join(
            ["SELECT * {", *(f"  ?s{number} ?p 'x' ." for number in range(300)), f"  ?s ?p '{'long ' * 200}'", "}"]
        ),
    )
    same = "font-family font-size line-height letter-spacing padding-top padding-right tab-size white-space".split()
    shown, typed = (
        browser.execute_script(
            "const s = getComputedStyle(arguments[0]); return arguments[1].map((n) => s.getPropertyValue(n))",
            element,
            same,
        )
        for element in (one(browser, ".shown"), area)
    )
    assert shown == typed
    sizes = browser.execute_script(
        """const box = (e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; };
        return [box(arguments[0]), box(arguments[1]), arguments[1].scrollWidth - arguments[1].clientWidth,
          arguments[1].scrollHeight - arguments[1].clientHeight]""",
        one(browser, ".shown"),
        area,
    )
    assert sizes == [sizes[0], sizes[0], 0, 0]


def test_who_has_left_a_long_line_sees_where_its_lines_begin(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "")
    area.send_keys(f"SELECT * {{ ?s ?p ?o }} # {'long ' * 60}")
    scrolled = "return document.querySelector('.code').scrollLeft"
    assert browser.execute_script(scrolled) > 0  # the caret is seen
    browser.execute_script("arguments[0].blur()", area)
    assert browser.execute_script(scrolled) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sparql_stands_out_in_light_and_in_dark(browser: Any, demo: Inside, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    open_editor(
        browser,
        demo,
        '# note\nSELECT * { GRAPH <urn:kgrag:graph/catalogue> { ?s a ?o } FILTER(?s != "x" && 1 = 1) } LIMIT 3',
    )
    run(browser)
    kinds = ("word", "variable", "iri", "string", "number", "comment", "sign")
    parts = [*(f".shown .{kind}" for kind in kinds), ".rows td a.iri", ".rows th", ".rows .number", "#check", "#state"]
    found = {selector: contrast(browser, selector) for selector in parts}
    assert {selector: value for selector, value in found.items() if value < 4.5} == {}


# --- completion ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("SELECT * { ?x a crops:Cr|", ["crops:Crop", "crops:CropRotation"]),
        ("SELECT * { ?x a crops:rot|", ["crops:CropRotation"]),
        ("SELECT * { ?x a |", ["crops:Crop", "crops:CropRotation", "crops:GrowingZone", "<urn:odd:Class%20one>"]),
        ("SELECT * { ?x crops:has|", ["crops:hasGrowingZone"]),
        ("SELECT * { ?x sown|", ["crops:P_0001"]),
        ("PREFIX c: <https://w3id.org/kgrag/examples/crops#> SELECT * { ?x c:dep|", ["c:P_0001"]),
        ("SELECT * { ?zone ?p ?zoo . ?zo| }", ["?zone", "?zoo"]),
        ("SELECT * { ?x a <urn:o|", ["<urn:odd:Class%20one>"]),
        ("PREFIX k|", ["kg:"]),
        ("SEL|", ["SELECT"]),
        ("FILTER(strst|", ["STRSTARTS"]),
        ("kind|", ["catalogue/kinds"]),
        ("# a note\ncatalogue/k|", ["catalogue/kinds", "kg:"]),
        ("SELECT * { ?x nobody:x|", []),
        ("SELECT * { ?x ?y 'crops:Cr|op' }", None),
        ("SELECT * { } # crops:Cr|", None),
    ],
)
def test_what_could_be_meant_is_offered(browser: Any, demo: Inside, text: str, items: list[str] | None) -> None:
    browser.get(f"{demo.url}/health")
    found = module(browser, "completion", "suggestions", text.replace("|", ""), text.index("|"), KNOWN)
    assert (found and [item["text"] for item in found["items"]]) == items


def test_a_class_of_the_store_is_completed_and_its_prefix_declared(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "SELECT * WHERE { ?x a crops:CropRot }")
    area.send_keys(Keys.CONTROL, Keys.HOME)
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys(Keys.LEFT, Keys.LEFT, Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions [aria-selected=true]")
    assert texts(browser, ".completions .completion") == ["crops:CropRotation"]
    assert area.get_attribute("aria-activedescendant") == one(browser, ".completions li").get_attribute("id")
    area.send_keys(Keys.ENTER)
    declared = f"PREFIX crops: <{CROPS}>\nSELECT * WHERE {{ ?x a crops:CropRotation }}"
    assert area.get_property("value") == declared
    area.send_keys(".")
    assert area.get_property("value") == declared.replace("Rotation", "Rotation.")
    for _ in range(3):
        area.send_keys(Keys.CONTROL, "z")
    assert area.get_property("value") == "SELECT * WHERE { ?x a crops:CropRot }"


def test_typing_a_name_offers_completions_and_enter_still_breaks_the_line(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "")
    area.send_keys("SELECT * {", Keys.ENTER, "?x a kg:Chu")
    seen(browser, ".completions")
    assert texts(browser, ".completions .completion") == ["kg:Chunk"]
    area.send_keys(Keys.ENTER, "}")
    assert area.get_property("value") == "SELECT * {\n  ?x a kg:Chu\n}"
    assert not one(browser, ".completions").is_displayed()


def test_the_list_is_walked_by_arrows_and_closed_by_escape(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "")
    area.send_keys("SELECT ?one ?two {", Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions [aria-selected=true]")
    area.send_keys(Keys.DOWN)
    assert one(browser, ".completions [aria-selected=true] .completion").text == "?two"
    area.send_keys(*[Keys.DOWN] * 12)
    chosen = one(browser, ".completions [aria-selected=true]")
    assert chosen.is_displayed()
    assert chosen.get_attribute("aria-posinset") == "14"
    assert len(texts(browser, ".completions li")) == 10
    area.send_keys(Keys.ESCAPE)
    assert not one(browser, ".completions").is_displayed()
    area.send_keys(Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions li:nth-child(2)").click()
    assert area.get_property("value") == "SELECT ?one ?two {?two"
    assert focused(browser) == area


def test_a_stored_query_is_opened_by_its_name_or_from_the_list(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "")
    area.send_keys("catalogue/kin", Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions [aria-selected=true]")
    area.send_keys(Keys.TAB)
    state(browser, "Opened catalogue/kinds")
    assert "GROUP BY ?kind" in area.get_property("value")
    browser.execute_script("document.getElementById('example').value = 'documents/listing'")
    one(browser, "#examples button").click()
    state(browser, "Opened documents/listing")
    assert "kg:Document" in area.get_property("value")
    assert browser.current_url == f"{demo.url}/editor?example=documents%2Flisting"


def test_without_the_terms_of_the_store_the_editor_says_so_and_runs(browser: Any, demo: Inside) -> None:
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/editor/terms"]})
    try:
        open_editor(browser, demo, "ASK { ?s ?p ?o }")
        state(browser, "could not be read")
    finally:
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    run(browser)
    assert one(browser, ".truth").text == "yes"


# --- what is wrong ------------------------------------------------------------------------------------------------


def test_an_erroneous_query_is_marked_at_its_line(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "SELECT ?x WHERE {\n  ?x a kg:Chunk .\n  ?x ex:p ?y\n}")
    area.send_keys(Keys.CONTROL, Keys.ENTER)
    assert seen(browser, "#findings li").text.startswith("line 3, column 6 the prefix ex: is not declared.")
    assert texts(browser, ".shown .code-line.error") == ["  ?x ex:p ?y"]
    assert texts(browser, ".shown span.name.error") == ["ex:p"]
    assert area.get_attribute("aria-invalid") == "true"
    assert not one(browser, "#problem").is_displayed()
    assert refusals(browser) == 1


def test_a_mark_follows_its_text_and_goes_when_that_is_changed(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "SELECT ?x WHERE {\n  ?x ex:p ?y\n}")
    one(browser, "#run").click()
    seen(browser, "#findings li")
    area.send_keys(Keys.CONTROL, Keys.HOME)
    area.send_keys("# 𝄞", Keys.ENTER)
    assert texts(browser, ".shown .code-line.error") == ["  ?x ex:p ?y"]
    one(browser, "#findings .place").click()
    assert browser.execute_script("return getSelection().toString()") == "ex:p"
    focused(browser).send_keys("kg:text")
    assert texts(browser, ".shown .error") == []
    assert area.get_attribute("aria-invalid") == "false"
    area.send_keys(Keys.CONTROL, Keys.ENTER)
    state(browser, "rows in")
    assert texts(browser, "#findings li") == []
    assert refusals(browser) == 1


@pytest.mark.parametrize(
    ("query", "line", "words"),
    [
        ("SELECT * {\n ?s ?p 'open\n}", 2, "not closed"),
        ("SELECT * {\n ?s ?p ?o\nLIMIT 3", 1, "is not closed"),
        ("SELECT ?s, ?p {\n ?s ?p ?o }", 1, "commas"),
        ("# 𝄞\nSELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }", 2, "SERVICE"),
        ("SELECT * {\n ?s ?p ?o } ORDER BY", 2, "end of the query"),
    ],
)
def test_each_kind_of_refusal_is_marked_where_it_is(
    browser: Any, demo: Inside, query: str, line: int, words: str
) -> None:
    open_editor(browser, demo, query)
    one(browser, "#run").click()
    told = seen(browser, "#findings li").text
    assert told.startswith(f"line {line}, ")
    assert words in told
    marked = "return [...document.querySelectorAll('.code-line')].findIndex((line) => line.matches('.error')) + 1"
    assert browser.execute_script(marked) == line
    assert refusals(browser) == 1


def test_a_query_with_three_mistakes_is_mended_by_three_clicks(browser: Any, demo: Inside) -> None:
    open_editor(
        browser, demo, "SELECT ?s, ?title {\n  ?s a kg:Document\n  ?s dc:title ?title ; crops:p http://x.org/\n}"
    )
    for _ in range(4):
        one(browser, "#run").click()
        seen(browser, "#findings .mend").click()
        state(browser, "Mended")
    one(browser, "#run").click()
    state(browser, "0 rows")
    mended = "?s a kg:Document .\n  ?s dc:title ?title ; crops:p <http://x.org/>\n}"
    assert one(browser, "#query").get_attribute("value").endswith(mended)
    assert refusals(browser) == 4


def test_a_check_tells_what_does_not_fit_the_ontology(browser: Any, demo: Inside) -> None:
    open_editor(browser, demo, f"PREFIX c: <{CROPS}>\nSELECT ?name {{ ?crop c:growsWell ?zone ; kg:text ?name }}")
    one(browser, "#check").click()
    state(browser, "finding")
    assert texts(browser, ".shown span.name.error") == ["c:growsWell"]
    assert "isn't defined in the ontology" in texts(browser, "#findings li")[0]
    one(browser, "#explain").click()
    seen(browser, ".counts tr.none")  # nothing grows well
    assert texts(browser, ".counts td:nth-child(2)")[0] == "0, none"
    assert texts(browser, ".counts .place")[0] == "?crop c:growsWell ?zone"
    one(browser, ".counts .place").click()
    assert (
        browser.execute_script(
            "const q = document.querySelector('#query'); return q.value.slice(q.selectionStart, q.selectionEnd)"
        )
        == "c:growsWell"
    )
    assert barriers(browser) == []


# --- running ------------------------------------------------------------------------------------------------------


def test_an_example_runs_and_an_iri_of_its_result_leads_to_its_page(browser: Any, demo: Inside) -> None:
    open_editor(browser, demo, example="catalogue/kinds")
    run(browser)
    assert "kg:DocumentGraph" in texts(browser, ".rows td a.iri")
    browser.find_element(By.LINK_TEXT, "kg:DocumentGraph").click()
    assert one(browser, "h1").text == "document graph"


def test_ctrl_enter_runs_and_the_way_back_leads_to_the_query(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo)
    write(area, f"SELECT ?graph {{ GRAPH ?graph {{ ?x a <{CROPS}Crop> }} }} LIMIT 1")
    area.send_keys(Keys.CONTROL, Keys.ENTER)
    state(browser, "1 row in")
    one(browser, ".rows td a.iri").click()
    one(browser, ".resource, .properties, h1")
    browser.back()
    one(browser, ".code .code-line")
    assert one(browser, "#query").get_property("value").endswith("LIMIT 1")
    assert "LIMIT 1" in one(browser, ".shown").text


def test_a_query_that_takes_long_is_stopped_and_its_reader_freed(browser: Any, demo: Inside) -> None:
    everything = " ".join(f"?s{number} ?p{number} ?o{number} ." for number in range(4))
    open_editor(browser, demo, f"SELECT (COUNT(*) AS ?n) {{ {everything} }}")
    one(browser, "#run").click()
    seen(browser, "#stop").click()
    state(browser, "Stopped.")
    assert one(browser, "#run").is_displayed()
    waiting(browser).until(lambda _: "kgrag_readers_busy 0.0" in demo.client.get("/metrics").text)


def test_a_truth_and_a_graph_are_shown(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "ASK { ?s kg:nothing ?o }")
    run(browser)
    assert one(browser, ".truth").text == "no"
    write(area, "DESCRIBE <urn:kgrag:graph/catalogue>")
    one(browser, "#run").click()
    assert "urn:kgrag:graph/catalogue" in one(browser, ".turtle").text
    assert texts(browser, "#format option") == ["Turtle"]
    one(browser, ".turtle a.iri").click()
    assert one(browser, "h1").text


def test_a_result_is_sorted_filtered_and_turned_over(browser: Any, demo: Inside) -> None:
    values = " ".join(str(number) for number in range(250, 0, -1))
    open_editor(browser, demo, f"SELECT ?n {{ VALUES ?n {{ {values} }} }}")
    run(browser)
    state(browser, "250 rows")
    assert len(texts(browser, ".rows tbody tr")) == 100
    one(browser, ".rows th .sort").click()
    first = [text.split()[0] for text in texts(browser, ".rows td.figure")]
    assert first == [str(number) for number in range(1, 101)]
    assert one(browser, ".rows th[aria-sort]").get_attribute("aria-sort") == "ascending"
    browser.find_elements(By.CSS_SELECTOR, ".pager button")[1].click()
    assert texts(browser, ".rows td.figure")[0].split()[0] == "101"
    one(browser, "#sifting input").send_keys("25")
    assert one(browser, "#sifting .count").text == "4 of 250 rows"
    assert texts(browser, ".rows td.figure")[0].split()[0] == "25"


def test_a_text_with_markup_does_nothing_in_a_result(browser: Any, demo: Inside) -> None:
    open_editor(
        browser, demo, "SELECT ?text { GRAPH ?g { ?d a kg:Document ; kg:text ?text FILTER CONTAINS(?text, 'quarry') } }"
    )
    run(browser)
    assert any("window.hacked = 3" in text for text in texts(browser, ".rows td.literal"))
    area = one(browser, "#query")
    write(
        area,
        "CONSTRUCT { ?d kg:text ?text } { GRAPH ?g { ?d a kg:Document ; kg:text ?text FILTER CONTAINS(?text, 'quarry') } }",
    )
    one(browser, "#run").click()
    assert "window.hacked = 3" in one(browser, ".turtle").text
    write(area, "</textarea><script>window.hacked = 4</script>")
    assert "<script>" in one(browser, ".shown").text
    assert browser.execute_script("return window.hacked") is None


# --- taking results along -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "media"), [("csv", "text/csv"), ("tsv", "text/tab-separated-values")])
@pytest.mark.parametrize("query", [ROWS, "SELECT * { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?s ?p ?o LIMIT 500"])
def test_a_table_is_written_as_the_server_writes_it(
    browser: Any, demo: Inside, query: str, form: str, media: str
) -> None:
    browser.get(f"{demo.url}/health")
    table = demo.client.get("/sparql", params={"query": query}, headers={"Accept": "application/sparql-results+json"})
    said = demo.client.get("/sparql", params={"query": query}, headers={"Accept": media})
    assert module(browser, "formats", form, table.json()) == said.text


def test_a_result_is_downloaded_and_copied(browser: Any, demo: Inside, tmp_path: Path) -> None:
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    grant = {"origin": demo.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    open_editor(browser, demo, "SELECT ?n { VALUES ?n { 1 2 } }")
    run(browser)
    one(browser, "#download").click()
    file = tmp_path / "result.csv"
    waiting(browser).until(lambda _: file.exists() and file.stat().st_size)
    assert file.read_bytes() == b"n\r\n1\r\n2\r\n"
    browser.find_element(By.CSS_SELECTOR, "#format option[value=json]").click()
    one(browser, "#copy").click()
    state(browser, "Copied the result as JSON")
    copied = browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], (e) => arguments[0](String(e)))"
    )
    assert [row["n"]["value"] for row in json.loads(copied)["results"]["bindings"]] == ["1", "2"]


def test_a_copied_link_opens_the_query(browser: Any, demo: Inside) -> None:
    browser.execute_cdp_cmd("Browser.grantPermissions", {"origin": demo.url, "permissions": ["clipboardReadWrite"]})
    query = 'SELECT ?x # 100 % & "more"\n{ ?x a kg:Chunk }'
    write(open_editor(browser, demo), query)
    one(browser, "#share").click()
    state(browser, "Copied a link")
    link = browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], (e) => arguments[0](String(e)))"
    )
    browser.get(link)
    assert one(browser, "#query").get_property("value") == query


def test_the_history_is_kept_in_this_browser_and_cleared(browser: Any, demo: Inside) -> None:
    area = open_editor(browser, demo, "PREFIX x: <urn:x:>\nASK { ?s ?p 1 }")
    run(browser)
    write(area, "ASK { ?s ?p 2 }")
    area.send_keys(Keys.CONTROL, Keys.ENTER)
    waiting(browser).until(lambda _: "2" in browser.current_url.rpartition("ASK")[2])
    area = open_editor(browser, demo)
    one(browser, ".history summary").click()
    seen(browser, "#history li")
    assert texts(browser, "#history .past") == ["ASK { ?s ?p 2 }", "ASK { ?s ?p 1 }"]
    browser.find_elements(By.CSS_SELECTOR, "#history .past")[1].click()
    assert area.get_property("value") == "PREFIX x: <urn:x:>\nASK { ?s ?p 1 }"
    one(browser, "#forget").click()
    assert texts(browser, "#history li") == []
    assert browser.execute_script("return Object.values(localStorage)") == ["[]"]


# --- for everybody, and by the policy -----------------------------------------------------------------------------


def test_the_editor_is_entered_used_and_left_by_keyboard(browser: Any, demo: Inside) -> None:
    open_editor(browser, demo)
    walk_to(browser, "summary")
    walk_to(browser, "#query").send_keys(Keys.CONTROL, Keys.ENTER)
    one(browser, ".rows td")
    walk_to(browser, "#run")
    walk_to(browser, "#download")
    walk_to(browser, ".rows a.iri")


def test_without_javascript_the_form_sends_the_query_itself(browser: Any, demo: Inside) -> None:
    with without_scripts(browser):
        browser.get(f"{demo.url}/editor?query=ASK%20%7B%20%7D")
        assert one(browser, "textarea#query").is_displayed()
        assert "Without JavaScript" in one(browser, "noscript").text
        assert texts(browser, ".actions button") == ["Run", *[""] * 6]
        form = one(browser, "#plain")
        assert (form.get_attribute("action"), form.get_attribute("method")) == (f"{demo.url}/sparql", "get")
    reply = demo.client.get("/sparql", params={"query": "ASK { }"}, headers={"Accept": "text/html, */*;q=0.8"})
    assert reply.json()["boolean"] is True


@pytest.fixture
def watched(browser: Any) -> Iterator[Any]:
    """The browser, with ``breaches`` on each page: directives of the content policy that were broken."""
    script = """globalThis.breaches = [];
    document.addEventListener("securitypolicyviolation", (event) => globalThis.breaches.push(event.effectiveDirective))"""
    added = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    yield browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_using_the_editor_does_not_breach_the_content_policy(watched: Any, demo: Inside) -> None:
    browser = watched
    area = open_editor(browser, demo, example="catalogue/kinds")
    run(browser)
    one(browser, ".rows th .sort").click()
    area.send_keys(Keys.CONTROL, Keys.END)
    area.send_keys(Keys.ENTER, "?", Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions")
    area.send_keys(Keys.ENTER, Keys.CONTROL, "z")
    one(browser, "#check").click()
    state(browser, "finding")
    one(browser, ".history summary").click()
    seen(browser, "#history li")
    assert browser.execute_script("return breaches") == []
    browser.execute_script("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
    assert browser.execute_script("return breaches") == ["style-src-attr"]
    (entry,) = browser.get_log("browser")
    assert "Content Security Policy" in entry["message"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier_in_the_editor(browser: Any, demo: Inside, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    area = open_editor(browser, demo, example="catalogue/kinds")
    run(browser)
    one(browser, ".history summary").click()
    seen(browser, "#history li")
    assert barriers(browser, scheme=scheme) == []
    write(area, "SELECT ?x {\n ?x a crops:Crop ; ex:p ?y }")
    one(browser, "#check").click()
    state(browser, "finding")
    assert barriers(browser, scheme=scheme) == []
    area.send_keys(Keys.CONTROL, Keys.HOME)
    area.send_keys(Keys.CONTROL, Keys.SPACE)
    seen(browser, ".completions")
    assert barriers(browser, scheme=scheme) == []
    if scheme == "light":
        browser.execute_script("document.querySelector('main').append(document.createElement('img'))")
        assert {rule for rule, _ in barriers(browser)} == {"image-alt"}
    else:
        browser.execute_script("document.querySelector('h1').style.setProperty('color', '#222')")
        assert {rule for rule, _ in barriers(browser, scheme=scheme)} == {"color-contrast"}
    quiet(browser, demo.url)


def test_without_an_ontology_a_refusal_is_marked_and_a_check_says_what_is_missing(
    window: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, settings = tmp_path_factory.mktemp("bare") / "kb", Settings(completions="off")
    with KnowledgeBase(folder, settings=settings, embedder=HashEmbedder()) as kb, served(kb) as bare:
        open_editor(window, bare, "SELECT * {\n ?s ?p 'open\n}")
        one(window, "#run").click()
        assert seen(window, "#findings li").text.startswith("line 2, column 8 a string opened by ' is not closed.")
        assert texts(window, ".shown .unclosed.error") == ["'"]
        one(window, "#check").click()
        assert "ontology" in seen(window, "#problem").text
        window.get("about:blank")
        assert {line.rpartition("status of ")[2][:3] for line in quiet(window, bare.url)[0]} == {"400", "409"}


def test_a_large_result_is_shown_in_parts_and_downloaded_whole(browser: Any, demo: Inside) -> None:
    numbers = " ".join(str(number) for number in range(80))
    text = f"SELECT ?n {{ VALUES ?a {{ {numbers} }} VALUES ?b {{ {numbers} }} BIND(?a * 80 + ?b AS ?n) }} ORDER BY ?n"
    browser.get(f"{demo.url}/editor?{urlencode({'query': text})}")
    one(browser, ".code .code-line")
    run(browser)
    state(browser, "Rows 1 to 5,000")
    one(browser, ".parts button:last-of-type").click()
    state(browser, "Rows 5,001 to 6,400")
    assert texts(browser, ".rows td.number")[0] == "5001"
    assert texts(browser, ".rows td.figure")[0].split()[0] == "5000"
    assert one(browser, ".parts button:last-of-type").get_attribute("disabled")
    whole = demo.client.post("/sparql", data={"query": text, "download": "csv"}).text
    assert len(whole.splitlines()) == 6401


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_result_is_read_in_pieces_of_any_length(browser: Any, demo: Inside, size: int) -> None:
    text = 'SELECT * { VALUES (?a ?b) { (1 "x\\"}{") (2 "[\\\\") ("é𝄞" UNDEF) (4 "]}") } } ORDER BY ?a'
    whole = demo.client.get("/sparql", params={"query": text}, headers={"Accept": "application/json"}).text
    browser.get(f"{demo.url}/health")
    script = """const [text, size, first, count, done] = arguments;
    import('/static/editor/rows.js').then(({ TableReader }) => {
      const reader = new TableReader(first, count);
      for (let at = 0; at < text.length; at += size) if (reader.take(text.slice(at, at + size))) break;
      done([reader.result, reader.more]);
    }, (error) => done(String(error)))"""
    rows = json.loads(whole)["results"]["bindings"]
    for first, count in ((0, 10), (0, 2), (1, 2), (2, 2), (4, 2)):
        kept, more = browser.execute_async_script(script, whole, size, first, count)
        assert kept["results"]["bindings"] == rows[first : first + count]
        assert more == (first + count < len(rows))
