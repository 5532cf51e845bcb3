"""Mail (eml): the subject is the title, the text is the plain body, or the HTML body where there is no plain one.

The message's identifier is the document's; ``from``, ``to``, ``cc``, ``date``, ``in_reply_to`` and the names of
``attachments`` are metadata. Attachments themselves are not read; save those that should be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from typing import Any

from kgrag.model import Document
from kgrag.text.readers import encodings, html
from kgrag.text.readers.sources import Heading, Source, cleaned, collapsed, label, sections

__all__ = ["read"]

_ADDRESSES = ("from", "to", "cc")


def read(source: Source) -> Iterator[Document]:
    """Yield the message.

    Raises:
        UnreadableDocument: it has no headers, or no text.
    """
    mail = message_from_bytes(source.content(), policy=policy.default)
    body = mail.get_body(preferencelist=("plain", "html")) if mail.keys() else None
    if body is None:
        found = "no text, only attachments" if mail.keys() else "no headers"
        raise source.unreadable(f"is no mail that can be read: it has {found}. Leave it out, or save its text.")
    text, headings = cleaned(_content(source, body)), list[Heading]()
    if body.get_content_subtype() == "html":
        text, headings = html.read_page(source, text)
    title = collapsed(cleaned(_header(mail, "subject")))
    document = source.document(text, title=title, sections=sections(headings, len(text)))
    yield source.described(document, _fields(mail))


def _content(source: Source, body: MIMEPart) -> str:
    try:
        return str(body.get_content())
    except (LookupError, ValueError):  # an encoding that is not known, or is another one
        data = body.get_payload(decode=True)
        return encodings.decode(data if isinstance(data, bytes) else b"", source.name)


def _header(mail: EmailMessage, name: str) -> str:
    with suppress(Exception):  # damaged headers are no reason to refuse the text
        return str(mail[name] or "")
    return ""


def _fields(mail: EmailMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": label(_header(mail, "message-id").strip("<> ")),
        "in_reply_to": _header(mail, "in-reply-to").strip("<> "),
    }
    for name in _ADDRESSES:
        with suppress(Exception):
            fields[name] = [str(address) for header in mail.get_all(name, []) for address in header.addresses]
    with suppress(Exception):
        fields["date"] = mail["date"].datetime
    fields["attachments"] = [part.get_filename() or part.get_content_type() for part in mail.iter_attachments()]
    return fields
