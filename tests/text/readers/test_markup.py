"""Markdown and HTML: what is stored, and where sections begin."""

import time

import pytest

from tests.text.readers.checks import Make, only, parts, refused

MARKDOWN = """Before.

# Crops *of* `India`

Text.

Soy & bean
----------

> # quoted

```
# code
```

### [Deep](u) &amp; last
End.
"""


def test_markdown_is_stored_as_it_is_with_headings_as_sections(make: Make) -> None:
    document = only(make("a.md", MARKDOWN))
    assert document.text == MARKDOWN
    assert document.title == "Crops of India"
    assert [(heading, text.split("\n")[0]) for heading, text in parts(document)] == [
        ("Crops of India", "# Crops *of* `India`"),
        ("Crops of India > Soy & bean", "Soy & bean"),
        ("Crops of India > Soy & bean > Deep & last", "### [Deep](u) &amp; last"),
    ]


def test_the_sections_of_markdown_meet(make: Make) -> None:
    sections = only(make("a.md", MARKDOWN)).sections
    assert [section.end for section in sections[:-1]] == [section.start for section in sections[1:]]
    assert sections[-1].end == len(MARKDOWN)


def test_front_matter_is_no_heading_and_gives_the_title(make: Make) -> None:
    document = only(make("a.md", '---\ntitle: "Soy"\ndate: 2024\n---\n# Sowing\n\nx\n'))
    assert (document.title, parts(document)) == ("Soy", [("Sowing", "# Sowing\n\nx\n")])


def test_markdown_without_headings_is_titled_by_its_name(make: Make) -> None:
    assert only(make("a.b.md", "text\n")).title == "a.b"


def test_offsets_of_markdown_hold_after_other_line_ends(make: Make) -> None:
    assert parts(only(make("a.md", "é\r\n\r\n# A\r\nx"))) == [("A", "# A\nx")]


@pytest.mark.parametrize("unit", ["> ", "- ", "[", "*a ", "`", "# x\n", "![", "<a "])
def test_markdown_made_to_be_slow_is_read_in_a_moment(make: Make, unit: str) -> None:
    begin = time.process_time()
    only(make("a.md", unit * 20_000 + "x"))
    assert time.process_time() - begin < 5


HTML = """<!doctype html><html><head><title>Crop &amp; soil</title><style>p {}</style></head><body>
<script>if (a < b) document.write("<p>never</p>")</script>
<h1>Crops <em>now</em></h1><p>Sow   <b>so</b>on<br>or late.</p>
<ul><li>one<li>two</ul><h2>Yield</h2>
<table><tr><th>Crop</th><th>t/ha</th></tr><tr><td><p>Soy</p></td><td>2<br>3</td></tr></table>
<pre>  kept
    so</pre><svg/><noscript>never</noscript>end &#x1F600;</body></html>"""


def test_html_gives_the_text_that_a_browser_shows(make: Make) -> None:
    document = only(make("a.html", HTML))
    assert document.title == "Crop & soil"
    assert document.text == (
        "Crops now\n\nSow soon\nor late.\n\none\ntwo\n\nYield\n\nCrop | t/ha\nSoy | 2 3\n\n  kept\n    so"
        "\n\nend \U0001f600"
    )


def test_headings_of_html_are_sections(make: Make) -> None:
    assert [(heading, text[:9]) for heading, text in parts(only(make("a.htm", HTML)))] == [
        ("Crops now", "Crops now"),
        ("Crops now > Yield", "Yield\n\nCr"),
    ]


def test_html_is_read_in_the_encoding_that_it_names(make: Make) -> None:
    page = '<meta charset="iso-8859-5"><p>Привет'
    assert only(make("a.html", page.encode("iso-8859-5"))).text == "Привет"


def test_self_closed_elements_of_xhtml_hide_nothing(make: Make) -> None:
    page = '<?xml version="1.0"?><html><head><title/><script src="a.js"/></head><body><h1>A</h1><p>B</p></body></html>'
    assert only(make("a.xhtml", page)).text == "A\n\nB"


def test_html_nested_100_000_deep_is_read(make: Make) -> None:
    assert only(make("a.html", "<div>" * 100_000 + "deep" + "</div>" * 100_000)).text == "deep"


def test_html_without_text_is_refused(make: Make) -> None:
    assert "has no text" in refused(make("a.html", "<script>only()</script>"))


def test_html_that_breaks_the_rules_is_read_as_far_as_it_goes(make: Make) -> None:
    document = only(make("a.html", "<p>a <b>b <p>c<table><tr><td>d<td>e</table></p></h3>&#xD800;&#0;f"))
    assert document.text == "a b\n\nc\n\nd | e\n\n\ufffd\ufffdf"


@pytest.mark.parametrize("declared", ["hex", "rot13", "undefined"])
def test_a_declared_encoding_that_encodes_no_text_is_passed_over(make: Make, declared: str) -> None:
    page = f'<meta charset="{declared}"><p>Die M\xfchle steht am gro\xdfen Bach in S\xfcddeutschland.</p>'
    assert only(make("a.html", page.encode("latin-1"))).text == "Die Mühle steht am großen Bach in Süddeutschland."
