"""Conversion of e-mail messages (.eml) to Markdown: subject, people, date, and text."""

from __future__ import annotations

import base64
import binascii
import email
import quopri
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage
from email.utils import getaddresses
from typing import Literal, NamedTuple, cast

from kg_api.convert.html.blocks import get_inline_text
from kg_api.convert.html.elements import parse
from kg_api.convert.html.page import convert_letter
from kg_api.convert.image.embedded import MailImage, MailImages
from kg_api.convert.shared.accounting import MissingText, split_tokens
from kg_api.convert.shared.containers import build_metadata, parse_date, unwrap_single
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines, write_heading, write_paragraph
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import decode_declared, find_declared_encoding, is_image

_KNOWN = frozenset({
    *("from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path"),
    *("content-type", "content-transfer-encoding", "content-disposition"),
})  # fmt: skip
_MAX_DEPTH = 200
_MAX_CHOICES = 5
"""Nested `multipart/alternative` parts to choose from. Each choice compares all texts below it."""
_MAX_FORMS = 10
"""Alternatives to choose from. Each is compared with all others."""
_TEXTS = frozenset({
    *("text/plain", "text/html", "application/xhtml+xml", "text/markdown", "text/x-markdown", "text/csv"),
    *("text/x-patch", "text/x-diff", "text/x-log", "text/troff"),
})  # fmt: skip
_REPORTS = frozenset({"message/delivery-status", "message/disposition-notification"})
_WORDS_OF_LINKS = re.compile(r"<?(?:https?|mailto):[^\s<>]+>?|\[(?:cid|image):[^\]\n]*\]", re.IGNORECASE)
"""URLs that a plain-text part repeats after the text of a link."""
_MAX_EXAMPLE = 80
_MAX_STUB = 60  # words: a shorter plain-text part that mentions HTML is only a stub
_QUOTED = re.compile(r"^[>\s]*>[ ]?")
_LIST = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_UNDERLINE = re.compile(r"=+$|-+$")  # Markdown reads the line above such a line as a heading
_UUENCODED = re.compile(r"^begin [0-7]{3,4} (\S[^\r\n]*)\r?\n((?:[ -`]*\r?\n)+)end[ \t]*$", re.MULTILINE)
"""File in a text, as mail programs attached it before MIME: its name, and its lines."""
_MAX_PEOPLE = 20  # recipients in the header lines of the text (metadata lists all)
_MAX_DATE = 100
_MAX_NAME = 200


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    message = _read(data)
    parts = _select_parts(message)
    writer, images = MarkdownWriter(), MailImages(parts.images, settings)
    subject = _write_head(writer, message)
    head = writer.position
    notes = [*_write_body(writer, parts, images), *parts.notes]
    attachments = [*parts.attachments, *images.list_rejected_images()]
    if writer.position == head and not subject:
        raise UnreadableDocument("the message has neither a subject nor a text. Nothing was stored")
    if attachments:
        notes.append(f"attachments that were not read: {', '.join(attachments)}")
    about = build_metadata(
        author=unwrap_single(_list_people(message, "from")),
        to=_list_people(message, "to"),
        cc=_list_people(message, "cc"),
        date=parse_date(_get_header(message, "date")),
    )
    notes += images.notes()
    return Converted(
        writer.text(), subject, about, notes=tuple(dict.fromkeys(notes)), images=tuple(writer.images)
    )


def _write_head(writer: MarkdownWriter, message: EmailMessage, level: int = 1) -> str:
    """Write the subject as a heading, and people and date below it, because users search for them."""
    subject = join_lines(_get_header(message, "subject"))
    if subject:
        writer.add(write_heading(level, subject))
    people = {name: _format_people(_list_people(message, name.lower())) for name in ("From", "To", "Cc")}
    headers = {**people, "Date": join_lines(_get_header(message, "date"))[:_MAX_DATE]}
    writer.add("\n".join(f"{name}: {words}" for name, words in headers.items() if words))
    return subject


def _format_people(people: list[str]) -> str:
    more = len(people) - _MAX_PEOPLE
    return ", ".join(people[:_MAX_PEOPLE]) + (f" and {more} more" if more > 0 else "")


def _read(data: bytes) -> EmailMessage:
    head = data[:4_096]
    names = {
        line.partition(b":")[0].strip().lower().decode("latin-1")
        for line in head.splitlines()
        if b":" in line
    }
    if b"\x00" in head or len(names & _KNOWN) < 2:  # noqa: PLR2004 - any text may contain one of these names
        raise UnreadableDocument(
            "the file is not an e-mail message: it does not start with lines such as From: and Subject:"
        )
    return email.message_from_bytes(data, policy=policy.default)


def _get_header(message: EmailMessage, name: str) -> str:
    """Return a header with its encoded words decoded by WHATWG encoding labels."""
    return _decode_words(_get_raw_header(message, name))


def _get_raw_header(message: EmailMessage, name: str) -> str:
    raw = next((str(value) for key, value in message.raw_items() if key.lower() == name), "")
    raw = "".join(raw.splitlines())
    if raw.isascii():
        return raw
    try:  # the email library keeps invalid header bytes as lone surrogates
        return decode_declared(raw.encode("utf-8", "surrogateescape"), message.get_content_charset("") or "")[
            0
        ]
    except (UnreadableDocument, UnicodeError):
        return raw


def _decode_words(raw: str) -> str:
    """Decode encoded words (RFC 2047) after joining neighbors of the same encoding."""
    try:
        parts = decode_header(raw)
    except HeaderParseError:  # invalid base64
        return raw
    return "".join(
        part if isinstance(part, str) else _decode_bytes(part, label or "") for part, label in parts
    )


def _decode_bytes(content: bytes, label: str) -> str:
    try:
        return decode_declared(content, label)[0]
    except UnreadableDocument:
        return content.decode("latin-1")


def _list_people(message: EmailMessage, name: str) -> list[str]:
    found = [
        (join_lines(_decode_words(words)), address)
        for words, address in getaddresses([_get_raw_header(message, name)[:100_000]])
    ]
    people = [f"{words} <{address}>" if words else address for words, address in found if address or words]
    return people or [each for each in [join_lines(_get_header(message, name))] if each]


class _Forwarded(NamedTuple):
    message: EmailMessage
    depth: int


class _Text(NamedTuple):
    content: str
    files: Sequence[tuple[str, bytes]]  # uuencoded in a plain-text part
    notes: tuple[str, ...]


@dataclass
class _Parts:
    body: list[EmailMessage | _Forwarded] = field(default_factory=list)
    """Texts, inline images, and forwarded messages in reading order."""
    images: list[MailImage] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    """Names of the attachments that kg does not read."""
    notes: list[str] = field(default_factory=list)
    texts: dict[EmailMessage, _Text] = field(default_factory=dict)

    def read(self, part: EmailMessage) -> _Text:
        """Read the text of a part once, because comparing alternatives and writing both need the text."""
        if part not in self.texts:
            self.texts[part] = _read_text(part)
        return self.texts[part]


def _select_parts(message: EmailMessage) -> _Parts:
    """Select the parts to read, with one alternative for each `multipart/alternative`."""
    parts, deep, unchosen = _Parts(), 0, 0
    stack = [(message, 0, 0, 0, False)]
    while stack:
        part, depth, messages, choices, is_dropped = stack.pop()
        kind, below = part.get_content_type(), _list_child_parts(part)
        if below is None:
            _sort_leaf(part, parts, is_dropped=is_dropped)
            continue
        if depth >= _MAX_DEPTH:
            deep += 1
            continue
        dropped = set[int]()
        if kind == "message/rfc822":
            messages += 1
            parts.body.extend(_Forwarded(each, messages) for each in below if not is_dropped)
        elif kind == "multipart/alternative" and not is_dropped:
            choices += 1
            if choices <= _MAX_CHOICES and len(below) <= _MAX_FORMS:
                dropped = _choose(below, parts)
            else:
                unchosen += 1
        stack += [
            (each, depth + 1, messages, choices, is_dropped or id(each) in dropped)
            for each in reversed(below)
        ]
    if unchosen:
        parts.notes.append(
            f"read all forms of alternatives that have more than {_MAX_FORMS} forms"
            f" or are nested more than {_MAX_CHOICES} deep ({unchosen:,})"
        )
    if deep:
        parts.notes.append(f"skipped: parts nested more than {_MAX_DEPTH} deep ({deep:,})")
    return parts


def _sort_leaf(part: EmailMessage, parts: _Parts, *, is_dropped: bool) -> None:
    kind = _get_kind(part)
    if kind == "image":
        parts.images.append(
            MailImage(part, _get_file_name(part), _get_header(part, "content-id").strip().strip("<>"))
        )
        parts.body.append(part)
    elif kind == "attachment":
        parts.attachments.append(_get_file_name(part))
    else:
        if not is_dropped:
            parts.body.append(part)
        if kind == "plain":
            for name, content in parts.read(part).files:
                _sort_file(name, content, parts)


def _sort_file(name: str, content: bytes, parts: _Parts) -> None:
    if not is_image(content):
        parts.attachments.append(name)
        return
    part = EmailMessage(policy=policy.default)
    part.set_content(content, "image", "unknown", disposition="attachment")
    parts.images.append(MailImage(part, name, ""))
    parts.body.append(part)


def _split_files(text: str) -> tuple[str, list[tuple[str, bytes]]]:
    """Split uuencoded files with their names off a text. A damaged file stays in the text."""
    files = list[tuple[str, bytes]]()

    def take(found: re.Match[str]) -> str:
        try:
            content = b"".join(map(binascii.a2b_uu, found[2].splitlines()))
        except binascii.Error:
            return found[0]
        files.append((join_lines(found[1])[:_MAX_NAME], content))
        return ""

    return _UUENCODED.sub(take, text) if "begin " in text else text, files


def _list_child_parts(part: EmailMessage) -> list[EmailMessage] | None:
    """Return the child parts, or None for a leaf."""
    below = part.get_payload() if part.is_multipart() else None
    if not isinstance(below, list) or part.get_content_type() in _REPORTS:
        return None
    parts = cast("list[EmailMessage]", below)
    encoding = _get_header(part, "content-transfer-encoding").strip().lower()
    if part.get_content_type() == "message/rfc822" and encoding in {"base64", "quoted-printable"} and parts:
        text = str(parts[0].get_payload()) if not parts[0].keys() else parts[0].as_string()
        content = text.encode("ascii", "surrogateescape")
        decoded = base64.b64decode(content) if encoding == "base64" else quopri.decodestring(content)
        return [email.message_from_bytes(decoded, policy=policy.default)]
    return parts


def _choose(forms: Sequence[EmailMessage], parts: _Parts) -> set[int]:
    """Choose the ids to drop: all but the alternative that lacks the fewest words (on a tie, plain text)."""
    texts = [(each, split_tokens(_WORDS_OF_LINKS.sub(" ", _get_plain_text(each, parts)))) for each in forms]
    texts = [(each, words) for each, words in texts if words]
    if len(texts) < 2:  # noqa: PLR2004 - nothing to choose from
        return set()
    lacking = [
        [_subtract(other, words) for each, other in texts if each is not chosen] for chosen, words in texts
    ]
    costs = [sum(map(len, missing)) for missing in lacking]
    if len(texts[0][1]) < _MAX_STUB and "html" in texts[0][1]:
        costs[0] += sum(costs)
    best = costs.index(min(costs))
    others = [each for at, (each, _) in enumerate(texts) if at != best]
    for each, missing in zip(others, lacking[best], strict=True):
        if missing:
            found = MissingText(len(missing), " ".join(missing)[:_MAX_EXAMPLE])
            parts.notes.append(found.describe(f"another form of the text ({each.get_content_type()})"))
    return {id(each) for each in others}


def _subtract(words: Sequence[str], stored: Sequence[str]) -> list[str]:
    """Return the words that `stored` contains less often, in order."""
    left, lacking = Counter(stored), list[str]()
    for word in words:
        if left[word]:
            left[word] -= 1
        else:
            lacking.append(word)
    return lacking


def _get_plain_text(form: EmailMessage, parts: _Parts) -> str:
    """Get the text of all parts of an alternative without Markdown."""
    texts, stack = list[str](), [(form, 0)]
    while stack:
        part, depth = stack.pop()
        below = _list_child_parts(part)
        if below is not None:
            if depth < _MAX_DEPTH:
                stack += [(each, depth + 1) for each in reversed(below)]
        elif (kind := _get_kind(part)) == "plain":
            texts.append(parts.read(part).content)
        elif kind == "html" and (content := parts.read(part).content).strip():
            try:
                tree = parse(content)
            except UnreadableDocument:
                continue
            texts.append(get_inline_text(tree))
    return "\n".join(texts)


def _get_kind(part: EmailMessage) -> Literal["plain", "html", "image", "attachment"]:
    kind = part.get_content_type()
    if kind.startswith("image/"):
        return "image"
    apart = part.get_content_disposition() == "attachment" or (
        _get_filename(part) and not kind.startswith("text/")
    )
    if apart or kind not in _TEXTS:
        return "attachment"
    return "html" if kind in {"text/html", "application/xhtml+xml"} else "plain"


def _get_file_name(part: EmailMessage) -> str:
    return join_lines(_get_filename(part))[:_MAX_NAME] or part.get_content_type()


def _get_filename(part: EmailMessage) -> str:
    try:
        return _decode_words(part.get_filename() or "")
    except Exception:  # noqa: BLE001 - the header parser raises many kinds of errors
        return "unnamed"


_FLOWED = re.compile(r"(?<!^--) \r?\n(?:>+ ?)?", re.MULTILINE)
"""Line break within a sentence (RFC 3676). With `DelSp=yes`, also within a word."""


def _read_text(part: EmailMessage) -> _Text:
    text, notes = read_content(part)
    text, files = _split_files(text) if _get_kind(part) == "plain" else (text, [])
    is_joined = str(part.get_param("delsp") or "").lower() == "yes"
    return _Text(_FLOWED.sub("", text) if is_joined else text, files, notes)


def read_content(part: EmailMessage) -> tuple[str, tuple[str, ...]]:
    """Read the text of a part, with notes about its encoding."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload:
        return "", ()
    declared = part.get_param("charset") or ""
    charset = declared if isinstance(declared, str) else str(declared[2])
    if part.get_content_subtype() == "html" and charset.lower() in {"", "us-ascii"}:
        charset = find_declared_encoding(payload) or charset
    try:
        return decode_declared(payload, charset)
    except UnreadableDocument:
        text = payload.replace(b"\x00", b"").decode("utf-8", "replace")
        return text, ("the encoding of a part is unknown. Unknown characters are �",)


def _write_body(writer: MarkdownWriter, parts: _Parts, images: MailImages) -> list[str]:
    """Write all parts and their images, and return notes for the user."""
    notes = list[str]()
    leaves = [part for part in parts.body if not isinstance(part, _Forwarded)]
    images.record_references(parts.read(part).content for part in leaves if _get_kind(part) == "html")
    for part in parts.body:
        if isinstance(part, _Forwarded):
            _write_head(writer, part.message, part.depth + 1)
        elif part.get_content_maintype() == "image":
            images.write(writer, part)
        else:
            content, _, about = parts.read(part)
            notes += about
            if _get_kind(part) == "plain":
                _write_plain(writer, content.splitlines())
            elif content.strip():
                try:
                    page = convert_letter(content, images.find)
                except UnreadableDocument:
                    continue
                images.write_page(writer, page)
                notes += page.notes
    return notes


def _write_plain(writer: MarkdownWriter, lines: Iterable[str]) -> None:
    """Write paragraphs with their line breaks, split at blank lines and at changes of quote depth."""
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
        if join_lines(rest):
            words.append(rest)
    _add(writer, words)


def _add(writer: MarkdownWriter, words: list[str]) -> None:
    if not words:
        return
    first, more = words[0], [_format_continuation(line) for line in words[1:]]
    if (item := _LIST.match(first)) and item[0].strip() in {"-", "*", "+", "•"}:
        writer.add_item(first[item.end() :], more=more)
    else:
        writer.add("\n".join([write_paragraph(first), *more]))


def _format_continuation(line: str) -> str:
    """Return a continuation line of a paragraph as Markdown."""
    words = write_paragraph(line)
    return f"\\{words}" if _UNDERLINE.match(words) else words
