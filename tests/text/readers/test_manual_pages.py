"""Manual pages as ``man`` prints them have sections, and no other plain text has any."""

from pathlib import Path

from kgrag.text.chunking import chunk
from kgrag.text.readers import read_path
from kgrag.text.readers.manual_pages import headings

_PAGE = """\
SOWD.CONF(5)                  File Formats Manual                 SOWD.CONF(5)

NAME
       sowd.conf - settings of the sowing daemon

BOOLEAN OPTIONS
       Each is YES or NO. Options may be joined, as in

         deep_enable=YES

       deep_enable
              If set, rows are sown deep. Only one of both depths is used.

              Default: NO

       wide_enable
              If set, rows are sown wide, for which the following holds:
                o      wide rows take more water
                o      narrow rows take less

              Default: YES

RUNNING
   Commands
       -n ROWS
           How many rows.

       --quiet  Says nothing at all,
                not even of failures.

   Signals
       HUP reads the file again.

SEE ALSO
       rake(1)

                                  May 2026                        SOWD.CONF(5)
"""


def test_entries_are_sections(tmp_path: Path) -> None:
    path = tmp_path / "sowd.txt"
    path.write_text(_PAGE, encoding="utf-8")
    (document,) = read_path(path)
    assert [section.heading for section in document.sections] == [
        "NAME",
        "BOOLEAN OPTIONS",
        "BOOLEAN OPTIONS > deep_enable",
        "BOOLEAN OPTIONS > wide_enable",
        "RUNNING",
        "RUNNING > Commands",
        "RUNNING > Commands > -n ROWS",
        "RUNNING > Commands > --quiet",
        "RUNNING > Signals",
        "SEE ALSO",
    ]
    default = document.text.index("Default: NO")
    (held,) = [piece for piece in chunk(document, tokens=40) if piece.start <= default < piece.end]
    later = [heading for at, heading in held.heading_breaks if at <= default]
    assert [held.heading, *later][-1] == "BOOLEAN OPTIONS > deep_enable"


def test_other_plain_texts_have_no_headings() -> None:
    poem = "Rye\n   is sown\n\nOats\n   are late\n\nBarley\n   is early\n\n" + "A line of prose at the margin.\n" * 9
    minutes = "MINUTES\n\nPresent\n  Ann, Bob\n\nItems\nThe roof was mended. The door was not.\nNext time in May.\n"
    code = "def sow(rows):\n    return rows\n\nclass Rake:\n    pass\n"
    assert [headings(text) for text in (poem, minutes, code, "")] == [[], [], [], []]
