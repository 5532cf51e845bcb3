"""Bytes into text: byte order mark, UTF-8, what the file declares, UTF-16 without a mark, else an informed guess.

A guess is logged as a warning, since nothing but a reader can tell whether it is right.
"""

from __future__ import annotations

import codecs
import logging
import re
from contextlib import suppress

from kgrag.errors import UnreadableDocument
from kgrag.late_patterns import late_re

__all__ = ["decode", "encoding_of"]

_LOG = logging.getLogger(__name__)

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEAD_BYTES = 8192  # looked at for the zero bytes of UTF-16
_SAMPLE_BYTES = 65_536  # looked at on either side of the first byte that is not UTF-8
_GUESSED_ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_MAX_SAME_BYTES = 64  # more bytes above 127 than this are of many kinds where they are text
_CONTROL = late_re("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")


def decode(data: bytes, where: str, *, declared: str = "") -> str:
    """Return the text that bytes encode.

    Args:
        data: the whole file.
        where: its name, for messages.
        declared: the encoding that the file itself names, used when the bytes are not UTF-8.

    Raises:
        UnreadableDocument: the bytes are no text.
    """
    encoding = encoding_of(data, where, declared=declared)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and (patched := _patched(data, where)):
            return patched
        message = f"{where}: looks like {encoding}, but the bytes at {error.start} are not. Convert it to UTF-8."
        raise UnreadableDocument(message) from error
    # Any bytes decode as cp1252 or UTF-16: control characters show that they were no text. In UTF-8 there may be some:
    # printed manuals write bold letters with backspaces.
    allowed = len(text) // 100
    if encoding in ("utf-8", "utf-8-sig"):
        allowed = text.count("\b") + max(len(text) // 10, 16)
    if sum(1 for _ in _CONTROL.finditer(text)) > allowed:
        raise _binary(where)
    return text


def encoding_of(data: bytes, where: str, *, declared: str = "") -> str:
    """Return the name of the encoding of bytes, or of the beginning of a file.

    Raises:
        UnreadableDocument: the bytes are no text.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    if b"\x00" in data[:_HEAD_BYTES]:
        return _wide(data[:_HEAD_BYTES], where)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError as error:
        if _patched(data, where, quiet=True):
            return "utf-8"
        with suppress(LookupError, UnicodeError):
            b"\0\0\0\0".decode(declared)  # refuses Python codecs that a file may name but that decode no text ("hex")
            return codecs.lookup(declared).name
        return _guessed(data, error.start, where)
    return "utf-8"


def _wide(head: bytes, where: str) -> str:
    """Return the UTF-16 without a mark whose zero bytes are all on one side, as those of Latin text are."""
    low, high = head[0::2].count(0), head[1::2].count(0)
    if low * 10 < high and high * 8 > len(head):
        return "utf-16-le"
    if high * 10 < low and low * 8 > len(head):
        return "utf-16-be"
    raise _binary(where)


def _patched(data: bytes, where: str, *, quiet: bool = False) -> str:
    """Return UTF-8 with a few damaged places as text with U+FFFD there; "" when there is more damage than UTF-8."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    sound = sum(1 for _ in re.finditer("[\x80-\ufffc\ufffe-\U0010ffff]", text))
    if sound < damaged * 10:
        return ""
    if not quiet:
        _LOG.warning("%s: %d places are not UTF-8 and were replaced by U+FFFD.", where, damaged)
    return text


def _guessed(data: bytes, start: int, where: str) -> str:
    """Guess from the bytes around the first one that is not UTF-8; western European where all else is equal."""
    from charset_normalizer import from_bytes

    first = data.rfind(b"\n", 0, max(0, start - 256)) + 1
    sample = data[max(first, start - _SAMPLE_BYTES) : start + _SAMPLE_BYTES]
    visible = sample.translate(None, b" \t\n\r")
    high = visible.translate(None, bytes(range(128)))
    if len(high) * 4 > len(visible) * 3 and len(high) > _MAX_SAME_BYTES and len(set(high)) < 8:
        raise _binary(where)
    found = list(from_bytes(sample, cp_isolation=_GUESSED_ENCODINGS, enable_fallback=False))
    if not found:
        raise _binary(where)
    best = [match for match in found if (match.chaos, match.coherence) == (found[0].chaos, found[0].coherence)]
    equal = {name for match in best for name in match.could_be_from_charset}
    chosen = "cp1252" if "cp1252" in equal else found[0].encoding
    _LOG.warning("%s: is not UTF-8; read as %s, which is a guess. Convert it if the text looks wrong.", where, chosen)
    return chosen


def _binary(where: str) -> UnreadableDocument:
    message = f"{where}: the bytes are no text in UTF-8 or any other encoding (a binary file under a text suffix?)."
    return UnreadableDocument(f"{message} Convert it to text, or leave it out.")
