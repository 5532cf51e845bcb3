"""Pictures of trees: what is shown, what is counted, and that no text becomes markup."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from kgrag.drawing import tree_picture
from kgrag.drawing.tree_picture import TreeNodeView, TreeView

EVIL = "</text><script>alert('x')</script> & \" ' {{ 7 * 7 }} \x00 𝕏 東京"
LEAF = TreeNodeView("urn:a\"'<b>", "passage", 0, EVIL, 0.25)
VIEW = TreeView("a <b> tree", (TreeNodeView("urn:s", "summary", 1, "Cereals. " * 40, 0.5, (LEAF,), 2),), 7)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def read(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    return parser


def test_an_svg_is_well_formed_and_holds_no_element_of_a_text() -> None:
    root = ElementTree.fromstring(tree_picture.svg(VIEW))
    assert {element.tag.split("}")[1] for element in root.iter()} == {
        "svg",
        "title",
        "rect",
        "text",
        "path",
        "g",
        "tspan",
    }
    assert any("<script>" in (element.text or "") for element in root.iter())


def test_a_page_holds_no_element_of_a_text() -> None:
    parsed = read(tree_picture.page(VIEW))
    assert "script" not in parsed.tags
    assert "<script>alert('x')</script>" in parsed.words
    assert "{{ 7 * 7 }}" in parsed.words


def test_what_is_not_shown_is_counted() -> None:
    assert "… 2 more" in tree_picture.outline(VIEW)
    assert "… 7 more" in tree_picture.outline(VIEW)
    assert tree_picture.svg(VIEW).count("more</tspan>") == 2


def test_a_long_text_is_cut_in_the_picture_and_whole_in_the_tooltip() -> None:
    root = ElementTree.fromstring(tree_picture.svg(VIEW))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}tspan")]
    assert max(map(len, texts)) <= 120
    assert VIEW.roots[0].text in [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]


def test_an_empty_tree_is_a_picture_too() -> None:
    empty = TreeView("similarity tree", ())
    assert tree_picture.outline(empty) == "similarity tree"
    ElementTree.fromstring(tree_picture.svg(empty))
    assert "h1" in read(tree_picture.page(empty)).tags


@pytest.mark.parametrize("write", [tree_picture.svg, tree_picture.page, tree_picture.outline])
def test_the_same_tree_gives_the_same_picture(write) -> None:
    assert write(VIEW) == write(VIEW)


def test_json_has_scores_and_children() -> None:
    (node,) = tree_picture.plain(VIEW)["nodes"]
    assert (node["score"], node["hidden"], node["children"][0]["text"]) == (0.5, 2, EVIL)
