"""Mail (eml): the subject is the title, the text is the plain body, or the HTML body where there is no plain one.

The message's identifier is the document's; ``from``, ``to``, ``cc``, ``date``, ``in_reply_to`` and the names of
``attachments`` are metadata. Attachments themselves are not read; save those that should be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from typing import Any

from kgrag.model import Document
from kgrag.text.readers import encodings, html
from kgrag.text.readers.sources import Source, cleaned, collapsed, label, sections, web_address

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
    content = cleaned(_content(source, body))
    is_page = body.get_content_subtype() == "html"
    page = html.read_page(source, content) if is_page else html.MainText(content, headings=())
    title = collapsed(cleaned(_header(mail, "subject")))
    document = source.document(page.text, title=title, sections=sections(page.headings, len(page.text)))
    links = tuple(link for link in page.links if web_address(link[2]))  # a mail has no place that others are seen from
    yield source.described(replace(document, code=page.code, links=links), _fields(mail))


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
