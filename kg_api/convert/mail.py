"""E-mail messages (.eml): the subject, who wrote to whom and when, and what they wrote."""

from __future__ import annotations

import email
import re
from collections.abc import Iterable, Iterator, Sequence
from email import policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import getaddresses
from typing import Literal, NamedTuple, cast

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.files.about import iso_date, metadata, one_or_list
from kg_api.convert.html.page import convert_text
from kg_api.convert.image.in_mail import MailImage, MailImages
from kg_api.convert.markdown_text import MarkdownWriter, heading, one_line, paragraph
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted
from kg_api.parse.declared import decode

_KNOWN = frozenset({"from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path"})
_MAX_DEPTH = 50
_QUOTED = re.compile(r"^[>\s]*>[ ]?")
_LIST = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_UNDERLINE = re.compile(r"=+$|-+$")
"""Below a line it would make a heading of that."""
_MAX_PEOPLE = 20
"""Recipients that the head of the text names; metadata has all of them."""
_MAX_DATE = 100


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    """Make Markdown of a message, with its pictures.

    Raises:
        UnreadableDocument: it is no message, or it says nothing in text.
    """
    message = _read(data)
    parts = _parts(message)
    writer, images = MarkdownWriter(), MailImages(parts.images, settings)
    subject = _write_head(writer, message)
    head = writer.position
    notes = _write_body(writer, parts.body, images)
    attachments = [*parts.attachments, *images.not_taken()]
    if writer.position == head and not subject:
        raise UnreadableDocument("it has neither a subject nor a text; nothing was stored")
    if attachments:
        notes.append(f"attachments that were not read: {', '.join(attachments)}")
    about = metadata(
        author=one_or_list(_people(message, "from")),
        to=_people(message, "to"),
        cc=_people(message, "cc"),
        date=iso_date(_header(message, "date")),
    )
    notes += images.notes()
    return Converted(writer.text(), subject, about, notes=tuple(notes), images=tuple(writer.images))


def _write_head(writer: MarkdownWriter, message: EmailMessage) -> str:
    """The subject as a heading and who wrote to whom and when below it: it is looked for by these."""
    subject = one_line(_header(message, "subject"))
    if subject:
        writer.add(heading(1, subject))
    people = {name: _named(_people(message, name.lower())) for name in ("From", "To", "Cc")}
    said = {**people, "Date": one_line(_header(message, "date"))[:_MAX_DATE]}
    writer.add("\n".join(f"{name}: {words}" for name, words in said.items() if words))
    return subject


def _named(people: list[str]) -> str:
    more = len(people) - _MAX_PEOPLE
    return ", ".join(people[:_MAX_PEOPLE]) + (f" and {more} more" if more > 0 else "")


def _read(data: bytes) -> EmailMessage:
    head = data[:4_096]
    names = {
        line.partition(b":")[0].strip().lower().decode("latin-1")
        for line in head.splitlines()
        if b":" in line
    }
    if b"\x00" in head or len(names & _KNOWN) < 2:  # noqa: PLR2004 - one may be a word of any text
        raise UnreadableDocument(
            "it is not an e-mail message: it does not begin with lines such as From: and Subject:"
        )
    try:
        return email.message_from_bytes(data, policy=policy.default)
    except (MessageError, ValueError, LookupError, RecursionError) as error:
        raise UnreadableDocument(f"it is not an e-mail message, or a damaged one: {error}") from error


def _header(message: EmailMessage, name: str) -> str:
    """A header's words; the library falls over some that are malformed."""
    try:
        return str(message.get(name, ""))
    except Exception:  # noqa: BLE001 - whatever its parser of headers raises, the rest can be read
        return next((str(value) for key, value in message.raw_items() if key.lower() == name), "")


def _people(message: EmailMessage, name: str) -> list[str]:
    found = getaddresses([_header(message, name)[:100_000]])
    return [
        f"{one_line(words)} <{address}>" if words else address for words, address in found if address or words
    ]


class _Parts(NamedTuple):
    body: list[EmailMessage]
    """What is read, in order: texts, and the pictures between them."""
    images: list[MailImage]
    attachments: list[str]
    """The names of what is not read."""


def _parts(message: EmailMessage) -> _Parts:
    leaves = [*_leaves(message)]
    kinds = [_kind(part) for part in leaves]
    plain = {
        id(part)
        for part, kind in zip(leaves, kinds, strict=True)
        if kind == "plain" and _content(part).strip()
    }
    body, images, attachments = list[EmailMessage](), list[MailImage](), list[str]()
    for part, kind in zip(leaves, kinds, strict=True):
        if kind == "image":
            images.append(MailImage(part, _name(part), _identity(part)))
            body.append(part)
        elif kind == "attachment":
            attachments.append(_name(part))
        elif id(part) in plain or (kind == "html" and not plain):
            body.append(part)
    return _Parts(body, images, attachments)


def _kind(part: EmailMessage) -> Literal["plain", "html", "image", "attachment"]:
    kind = part.get_content_type()
    if kind.startswith("image/"):
        return "image"
    apart = part.get_content_disposition() == "attachment" or (
        _filename(part) and not kind.startswith("text/")
    )
    if apart or kind not in {"text/plain", "text/html"}:
        return "attachment"
    return "plain" if kind == "text/plain" else "html"


def _name(part: EmailMessage) -> str:
    return one_line(_filename(part))[:200] or part.get_content_type()


def _identity(part: EmailMessage) -> str:
    """By which a page in the same message names it."""
    return _header(part, "content-id").strip().strip("<>")


def _leaves(message: EmailMessage) -> Iterator[EmailMessage]:
    """All parts that hold no other, in order; forwarded messages are opened."""
    stack = [(message, 0)]
    while stack:
        part, depth = stack.pop()
        below = part.get_payload() if part.is_multipart() else None
        if isinstance(below, list) and depth < _MAX_DEPTH:
            stack += [
                (cast("EmailMessage", each), depth + 1) for each in reversed(cast("list[object]", below))
            ]
        elif below is None:
            yield part


def _filename(part: EmailMessage) -> str:
    try:
        return part.get_filename() or ""
    except Exception:  # noqa: BLE001 - as above
        return "unnamed"


def _content(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload:
        return ""
    charset = part.get_param("charset") or ""
    return decode(payload.replace(b"\x00", b""), charset if isinstance(charset, str) else str(charset[2]))[0]


def _write_body(writer: MarkdownWriter, parts: Sequence[EmailMessage], images: MailImages) -> list[str]:
    """The text of all parts with their pictures; what is to be said of them."""
    notes = list[str]()
    images.are_named_by(_content(part) for part in parts if part.get_content_type() == "text/html")
    for part in parts:
        if part.get_content_maintype() == "image":
            images.write(writer, part)
        elif part.get_content_type() == "text/plain":
            flowed, content = part.get_param("format") == "flowed", _content(part)
            _write_plain(writer, _unflowed(content) if flowed else content.splitlines())
        elif (content := _content(part)).strip():
            try:
                page = convert_text(content, images=images.find)
            except UnreadableDocument:
                continue
            images.write_page(writer, page)
            notes += page.notes
    return notes


def _unflowed(content: str) -> list[str]:
    """Lines as they were written: one that ends with a blank goes on in the next one (RFC 3676)."""
    lines = list[str]()
    depth = -1  # of the quoting of a line that goes on
    for line in content.splitlines():
        mark = _QUOTED.match(line)
        quoted = mark[0].count(">") if mark else 0
        if quoted == depth:
            lines[-1] += line[mark.end() :] if mark else line
        else:
            lines.append(line)
        depth = quoted if line.endswith(" ") and line.strip("> ") not in {"", "--"} else -1
    return lines


def _write_plain(writer: MarkdownWriter, lines: Iterable[str]) -> None:
    """Paragraphs parted by blank lines or by another depth of quoting; what was a line stays one."""
    words: list[str] = []
    depth = 0
    for line in lines:
        mark = _QUOTED.match(line)
        quoted = mark[0].count(">") if mark else 0
        rest = line[mark.end() :] if mark else line
        if not rest.strip() or quoted != depth or _LIST.match(rest) or rest.rstrip() == "--":
            _add(writer, words)
            words = []
        depth = quoted
        if one_line(rest):
            words.append(rest)
    _add(writer, words)


def _add(writer: MarkdownWriter, words: list[str]) -> None:
    if not words:
        return
    first, more = words[0], [_below(line) for line in words[1:]]
    if (item := _LIST.match(first)) and item[0].strip() in {"-", "*", "+", "•"}:
        writer.item(first[item.end() :], more=more)
    else:
        writer.add("\n".join([paragraph(first), *more]))


def _below(line: str) -> str:
    """A line of a paragraph that begins above it."""
    words = paragraph(line)
    return f"\\{words}" if _UNDERLINE.match(words) else words
