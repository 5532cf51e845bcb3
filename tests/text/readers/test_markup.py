"""Markdown and HTML: what is stored, and where sections begin."""

import time

import pytest

from kgrag.text.readers import read_paths
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


def test_links_of_markdown_are_kept_but_not_those_in_code(make: Make) -> None:
    text = """# Sow in June!\n\nSee [the soil](soil.md#clay "Soil"), ![x](x.png), `[no](no.md)` and [here](#a).\n
* [Weeds](<w.md>)\n\n```\n[no](no.md)\n```\n\n# Sow in June\n"""
    document = only(make("a.md", text))
    assert [(document.text[start:end], target) for start, end, target in document.links] == [
        ("the soil", "soil.md#clay"),
        ("Weeds", "w.md"),
    ]
    assert [name for _, name in document.anchors] == ["sow-in-june", "sow-in-june-1"]


def test_markdown_without_headings_is_titled_by_its_name(make: Make) -> None:
    assert only(make("a.b.md", "text\n")).title == "a.b"


def test_offsets_of_markdown_hold_after_other_line_ends(make: Make) -> None:
    assert parts(only(make("a.md", "é\r\n\r\n# A\r\nx"))) == [("A", "# A\nx")]


@pytest.mark.parametrize("unit", ["> ", "- ", "[", "*a ", "`", "# x\n", "![", "<a "])
def test_markdown_made_to_be_slow_is_read_in_a_moment(make: Make, unit: str) -> None:
    begin = time.process_time()
    only(make("a.md", unit * 20_000 + "x"))
    assert time.process_time() - begin < 15


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


def test_what_html_marks_as_code_is_known_as_such_but_not_what_was_navigation(make: Make) -> None:
    listing = "<pre>\n$ tool stop\n\n$ tool wait\n</pre>"
    document = only(make("a.html", f"<nav>{listing}</nav><p>To stop it, run:</p>{listing}<p>It ends.</p>"))
    assert [document.text[start:end] for start, end in document.code] == ["$ tool stop\n\n$ tool wait"]


def test_hyperlinks_of_html_are_kept_with_their_targets_but_not_those_of_navigation(make: Make) -> None:
    page = """<base href="sub/"><nav><a href="n.html">Nav</a></nav><h1 id="top">Crops</h1>
      <p>See <a href=" b.html#x y ">the
      sowing</a>, <a href="#top">above</a>, <a href="mailto:a@e.org">us</a>, <a rel="next" href="c.html">Soil</a>,
      or <a href="https://e.org/">e</a>.</p><p>Go <a href="d.html">up</a> at the <a name="end">end</a></p>"""
    document = only(make("a.html", page))
    assert [(document.text[start:end], target) for start, end, target in document.links] == [
        ("the sowing", "sub/b.html#x%20y"),
        ("e", "https://e.org/"),
    ]
    assert [(document.text[start:].split()[0], name) for start, name in document.anchors] == [
        ("Crops", "top"),
        ("end", "end"),
    ]


def test_headings_of_html_are_sections(make: Make) -> None:
    assert [(heading, text[:9]) for heading, text in parts(only(make("a.htm", HTML)))] == [
        ("Crops now", "Crops now"),
        ("Crops now > Yield", "Yield\n\nCr"),
    ]


def test_the_only_heading_of_a_box_is_no_section(make: Make) -> None:
    box = '<div class="note"><h3 class="title">Note</h3><p>Frost harms it.</p></div>'
    page = f"<h1>Rye</h1><h2>Sowing</h2><p>Sow in May.</p>{box}<p>Weed twice.</p>"
    assert [heading for heading, _ in parts(only(make("a.html", page)))] == ["Rye", "Rye > Sowing"]
    wrapped = f'<div class="note"><h1>Rye</h1><h2>Sowing</h2><p>Sow in May.</p></div>{box}'
    assert [heading for heading, _ in parts(only(make("b.html", wrapped)))] == ["Rye", "Rye > Sowing"]


def test_a_table_with_a_heading_in_a_cell_places_text_and_a_table_within_it_has_rows(make: Make) -> None:
    rows = "<table><tr><th><h4>Key</h4></th><th>Use</th></tr><tr><td><p>a</p></td><td><p>b</p></td></tr></table>"
    page = f"<table><tr><td><h3>One</h3><p>First.</p>{rows}<p>Last.</p></td><td>Side</td></tr></table>"
    document = only(make("a.html", page))
    assert document.text == "One\n\nFirst.\n\nKey | Use\na | b\n\nLast.\n\nSide"


def test_the_words_of_a_tall_cell_stand_in_each_row_that_it_fills(make: Make) -> None:
    rows = "<tr><th>Pump</th><th>Work</th><th>Fee</th></tr><tr><td rowspan='3'>Hydra</td><td>Seal</td><td>110</td></tr>"
    rows += "<tr><td>Motor</td><td rowspan='2'>240</td></tr><tr><td>Valve</td></tr><tr><td>Delta</td><td>Seal</td><td>45</td></tr>"
    document = only(make("a.html", f"<h1>T</h1><p>Text.</p><table>{rows}</table>"))
    expected = [
        "Pump | Work | Fee",
        "Hydra | Seal | 110",
        "Hydra | Motor | 240",
        "Hydra | Valve | 240",
        "Delta | Seal | 45",
    ]
    assert document.text.split("\n\n")[-1].split("\n") == expected


def test_a_cell_that_is_empty_or_filled_by_another_keeps_its_place_in_the_row(make: Make) -> None:
    head = "<tr><th></th><th>A</th><th>B</th></tr><tr><td>x</td><td></td><td>2</td></tr>"
    spans = "<tr><td rowspan=2>y</td><td>1</td><td>3</td></tr><tr><td>4</td><td>5</td></tr><tr><td colspan=2>z</td><td>6</td></tr>"
    document = only(make("a.html", f"<h1>T</h1><p>Text.</p><table>{head}{spans}<tr><td>p<td>q<td>r</table>"))
    rows = ["| | A | B", "x | | 2", "y | 1 | 3", "y | 4 | 5", "z | | 6", "p | q | r"]
    assert document.text.split("\n\n")[-1].split("\n") == rows


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


DOCBOOK = """<body><div class="navheader"><table><tr><th colspan="3">B.3. Key Words</th></tr><tr><td><a accesskey="p"
href="a.html">Prev</a></td><th>Appendix B. Dates</th><td><a href="b.html">Next</a></td></tr></table><hr></div>
<div class="sect1"><h2 class="title">B.3. Key Words</h2><p>Sow in <a href="june.html">June</a>.</p>
<pre>SELECT
  1;</pre><table><tr><td>MON</td><td>Monday</td></tr></table></div>
<div class="navfooter"><table><tr><td><a href="a.html">Prev</a></td><td><a href="u.html">Up</a></td><td><a
href="b.html">Next</a></td></tr></table></div></body>"""

SPHINX = """<body><div class="mobile-nav"><nav><a href="/">Logo</a></nav></div>
<div class="related" role="navigation"><h3>Navigation</h3><ul><li><a href="genindex.html">index</a></ul></div>
<div class="body" role="main"><section id="navigation"><h1>Navigation<a class="headerlink" href="#n">\u00b6</a></h1>
<p>Ships steer by stars, and by the sun, and by what the lead brings up from the ground.</p>
<section id="footer"><h3>Footer<a class="headerlink" href="#f">\u00b6</a></h3><p>The last line of a page.</p></section>
<aside class="footnote">1 By day.</aside></section></div>
<div class="sphinxsidebar" role="navigation"><h4>Previous topic</h4><a href="p.html">Before</a></div>
<div class="footer">\u00a9 Copyright 2024. <a href="/">Found a bug</a>?</div></body>"""

TEXINFO = """<body><div class="header"><p>Next: <a href="b.html" rel="next">Verb</a>, Up: <a href="u.html"
rel="up">Top</a> [<a href="i.html" rel="contents">Contents</a>]</p></div><h4>15.5 Set</h4><p>See <a href="a">Next</a>.</p>
<p>Next: <a href="b.html" rel="next">Verb</a>, Up: <a href="u.html" rel="up">Top</a></p></body>"""


def test_navigation_of_docbook_is_no_text(make: Make) -> None:
    document = only(make("a.html", DOCBOOK))
    assert document.text == "B.3. Key Words\n\nSow in June.\n\nSELECT\n  1;\n\nMON | Monday"
    assert parts(document) == [("B.3. Key Words", document.text)]


def test_only_the_main_element_of_a_page_is_text_and_marks_of_headings_are_not(make: Make) -> None:
    document = only(make("a.html", SPHINX))
    assert document.text == (
        "Navigation\n\nShips steer by stars, and by the sun, and by what the lead brings up from the ground.\n\n"
        "Footer\n\nThe last line of a page.\n\n1 By day."
    )
    assert parts(document) == [
        ("Navigation", document.text[: document.text.index("Footer")]),
        ("Navigation > Footer", "Footer\n\nThe last line of a page.\n\n1 By day."),
    ]


def test_a_line_of_links_to_other_pages_is_no_text_and_a_sentence_with_a_link_is(make: Make) -> None:
    assert only(make("a.html", TEXINFO)).text == "15.5 Set\n\nSee Next."


@pytest.mark.parametrize("page", [DOCBOOK, SPHINX, TEXINFO])
def test_whole_pages_keep_their_navigation(make: Make, page: str) -> None:
    path = make("a.html", page)
    (document,) = read_paths([path], whole_pages=True)
    assert only(path).text.split("\n")[-1] in document.text
    assert "Next" in document.text or "Previous topic" in document.text
    assert len(document.text) > len(only(path).text) + 10


def test_a_header_with_the_title_of_the_page_is_text(make: Make) -> None:
    page = '<div id="header"><h1>git-add</h1><p>Adds files.</p></div><main><p>It stages them.</p></main>'
    document = only(make("a.html", page))
    assert document.text == "git-add\n\nAdds files.\n\nIt stages them."
    assert document.title == "git-add"


def test_a_page_that_is_nothing_but_navigation_is_kept(make: Make) -> None:
    assert only(make("a.html", "<nav><a href='a'>One</a> <a href='b'>Two</a></nav>")).text == "One Two"


@pytest.mark.parametrize("name", ['class="sphinxsidebar"', 'class="sidebar-toc"', 'id="toc"', 'class="toplang"'])
def test_lists_of_links_beside_the_text_are_left_out_by_the_names_of_their_places(make: Make, name: str) -> None:
    page = (
        f'<h1>A</h1><div {name}><ul><li><a href="b">Borg init</a></li><li><a href="c">List</a></li></ul></div><p>B</p>'
    )
    assert only(make("a.html", page)).text == "A\n\nB"


def test_a_box_at_the_side_of_the_text_is_text(make: Make) -> None:
    page = '<h1>A</h1><p>B</p><div class="sidebar"><p>Boxed <a href="c">words</a> of the author.</p></div>'
    assert "Boxed words of the author." in only(make("a.html", page)).text


@pytest.mark.parametrize(
    ("opening", "inside"),
    [
        ("<div>", "x" * 400),
        ("<div class='nav'>", "<h3>x</h3>"),
        ("<div>", "<a href='x'></a>"),
        ("<p class='menu'>", "x "),
    ],
)
def test_navigation_made_to_be_slow_is_read_in_a_moment(make: Make, opening: str, inside: str) -> None:
    begin = time.process_time()
    only(make("a.html", "<h1>A</h1>" + (opening + inside) * 20_000 + "<footer>x</footer>" * 20_000))
    assert time.process_time() - begin < 15


def test_a_term_of_a_definition_list_is_a_line_above_its_explanation(make: Make) -> None:
    html = "<p>Terms.</p><dl><dt>berth<dd>A place.<dt>-q<dt>--quiet<dd>Says nothing.<dt>fee<dd><p>90 euros.</p></dl>End"
    text = only(make("a.html", html)).text
    assert text == "Terms.\n\nberth\n    A place.\n\n-q, --quiet\n    Says nothing.\n\nfee\n\n90 euros.\n\nEnd"
