"""Images as documents, and images within other documents."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.message import EmailMessage
from urllib.parse import unquote

import numpy as np

from kg_api.convert.image.file import (
    ON_THEIR_SIDE,
    TYPES,
    AboutImage,
    count_frames,
    get_upright_rotation,
    make_thumbnail,
    open_image,
    read_description,
    render_upright,
    strip_metadata,
)
from kg_api.convert.shared.markdown_text import MarkdownWriter, get_last_words
from kg_api.convert.shared.ocr import OcrEngine, OcrFailed, PixelLine, compute_mean_confidence
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import FoundImage, ReadImage
from kg_api.settings import ConversionSettings
from kg_api.text.image_references import from_data_uri, is_data_uri


def convert(data: bytes, settings: ConversionSettings) -> Converted:
    """Convert an image. Its text comes from its metadata and may be empty."""
    image, description, frames = _read(data, settings)
    text = "\n".join(filter(None, (description.title, description.description, description.dated)))
    notes = (f"the file has {frames:,} frames or pages. kg read the first one",) if frames > 1 else ()
    title = description.title or description.description
    return Converted(
        text, title, description.metadata, notes=notes, images=(FoundImage(0, len(text), image),)
    )


def read_image(data: bytes, settings: ConversionSettings) -> ReadImage:
    return _read(data, settings)[0]


def _read(data: bytes, settings: ConversionSettings) -> tuple[ReadImage, AboutImage, int]:
    """Return the image as stored, its metadata (from the original file), and its number of frames."""
    with open_image(data, settings.image_max_megapixels) as picture:
        frames = count_frames(picture)
        description, content = read_description(picture), strip_metadata(data, picture)
    with open_image(content, settings.image_max_megapixels) as picture:
        kind = TYPES[picture.format or ""]
        width, height = picture.size[::-1] if get_upright_rotation(picture) in ON_THEIR_SIDE else picture.size
        thumbnail = make_thumbnail(picture)
    image = ReadImage(kind, width, height, thumbnail, content, hashlib.sha256(data + b"stripped").hexdigest())
    return image, description, frames


# Selection of images within documents, with limits

MIN_SIDE = 32  # pixels: a smaller image is an icon, a bullet, or a spacer
MAX_IMAGES = 500
_SHARE, _MEMORY = 0.5, 1 / 8
"""Shares of a file's time and memory limits for images. A response contains all image files twice."""
_OTHERS = "images in an unsupported format, or damaged"


class ImagesWithin:
    """Reader of the images of one document. Reads each distinct image once."""

    def __init__(self, settings: ConversionSettings) -> None:
        self._settings = settings
        self._ends = time.monotonic() + _SHARE * settings.max_seconds
        self._known: dict[bytes, ReadImage | None] = {}
        self._count, self._bytes = 0, 0
        self._most = _MEMORY * settings.max_memory_mb * 1024 * 1024
        self._left_out: Counter[str] = Counter()

    def read(self, content: bytes | None) -> ReadImage | None:
        """Return an image, or None if its file is missing, unsupported, too small, or beyond the limits."""
        if content is None or not self.has_room():
            return None
        key = hashlib.sha256(content).digest()
        if key not in self._known:
            self._known[key] = self._read(content)
        found = self._known[key]
        if found:
            self._count += 1
            self._bytes += len(found.content)
        return found

    def has_room(self) -> bool:
        """Check if the limits allow another image, and count the image as skipped if not."""
        if not self._settings.images_within:
            return False
        room = self._count < MAX_IMAGES and self._bytes < self._most and time.monotonic() <= self._ends
        if not room:
            self._left_out[f"images beyond the first {self._count:,}"] += 1
        return room

    def notes(self) -> tuple[str, ...]:
        return tuple(f"skipped: {what} ({count:,})" for what, count in self._left_out.items())

    def _read(self, content: bytes) -> ReadImage | None:
        try:
            found = read_image(content, self._settings)
        except UnreadableDocument:
            self._left_out[_OTHERS] += 1
            return None
        return None if max(found.width, found.height) < MIN_SIDE else found


# Images of an e-mail message, inline or attached

_CID = re.compile(r"""cid:([^"'\s<>()]{1,500})""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailImage:
    part: EmailMessage
    name: str
    identity: str  # content id for references from HTML parts (empty: none)


class MailImages:
    def __init__(self, parts: Iterable[MailImage], settings: ConversionSettings) -> None:
        self._images = ImagesWithin(settings)
        self._parts = {id(each.part): each for each in parts}
        self._by_identity = {each.identity: each for each in self._parts.values() if each.identity}
        self._named = set[str]()
        self._taken = set[int]()

    def record_references(self, pages: Iterable[str]) -> None:
        """Record the images that HTML parts refer to. HTML defines their position, not their own part."""
        self._named = {unquote(each) for page in pages for each in _CID.findall(page)}

    def find(self, address: str) -> ReadImage | None:
        """Find the image of a URL in an HTML part, without a download."""
        if is_data_uri(address):
            return self._images.read(from_data_uri(address))
        named, _, identity = address.partition(":")
        part = self._by_identity.get(unquote(identity)) if named.lower() == "cid" else None
        return self._read(part) if part else None

    def write(self, writer: MarkdownWriter, part: EmailMessage) -> None:
        """Write an image at the position of its part, with its file name, unless an HTML part shows it."""
        image = self._parts[id(part)]
        if image.identity not in self._named and (found := self._read(image)):
            name = image.name if "/" not in image.name else "image"
            writer.add_image(found, re.sub(r"\.\w{1,5}$", "", name), name)

    def write_page(self, writer: MarkdownWriter, page: Converted) -> None:
        begin = writer.position
        writer.add(page.text.rstrip("\n"))
        writer.images += [
            replace(each, start=begin + each.start, end=begin + each.end) for each in page.images
        ]

    def list_rejected_images(self) -> list[str]:
        """List the names of attached images that are invalid or too small."""
        left = (each for each in self._parts.values() if id(each.part) not in self._taken)
        return [each.name for each in left if each.part.get_content_disposition() == "attachment"]

    def notes(self) -> tuple[str, ...]:
        return self._images.notes()

    def _read(self, image: MailImage) -> ReadImage | None:
        content = image.part.get_payload(decode=True)
        found = self._images.read(content) if isinstance(content, bytes) else None
        if found:
            self._taken.add(id(image.part))
        return found


# Images of a notebook: outputs of code, and attachments of Markdown

MAX_BASE64 = 64 * 1024 * 1024
_ATTACHED = re.compile(r"!\[([^\[\]]{0,2000})\]\(\s{0,9}attachment:([^()\s]{1,1000})[^()\n]{0,1000}\)")
_INLINE = re.compile(
    r"""!\[([^\[\]]{0,2000})\]\(\s{0,9}<?(data:[^()\s<>]+)>?[^()\n]{0,1000}\)"""
    r"""|<img\b[^<>]*?\bsrc\s*=\s*["']?(data:[^"'<>\s]+)[^<>]*>""",
    re.IGNORECASE,
)
_ALT = re.compile(r"""\balt\s*=\s*["']([^"']*)""", re.IGNORECASE)


class NotebookImages:
    """Reader of the images of one notebook, with the prose before them."""

    def __init__(self, settings: ConversionSettings) -> None:
        self._images = ImagesWithin(settings)
        self._prose = ""

    def write_prose(self, writer: MarkdownWriter, text: str, attached: Mapping[str, str]) -> None:
        """Write Markdown. An image on its own line stays there, and other images follow the text."""
        text, inline = self._take_inline(text)
        attached = {**attached, **inline}
        self._prose, at, behind = text, 0, list[tuple[ReadImage, str, str]]()
        for found in _ATTACHED.finditer(text) if attached else ():
            name = unquote(found[2])
            if not (image := self._read(attached.get(name, ""))):
                continue
            before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
            after = text[found.end() :].partition("\n")[0]
            if not (before + after).strip():  # an image on its own line
                writer.add(text[at : found.start()].strip("\n").rstrip())
                writer.add_image(image, found[1], name)
                at = found.end()
            else:
                behind.append((image, found[1], name))
        writer.add(text[at:].strip("\n").rstrip())
        for image, words, name in behind:
            writer.add_image(image, words, name)

    @staticmethod
    def _take_inline(text: str) -> tuple[str, dict[str, str]]:
        """Convert data URLs to attachments."""
        files: dict[str, str] = {}

        def name(found: re.Match[str]) -> str:
            alt = found[1] or ((alt_match := _ALT.search(found[0])) and alt_match[1]) or ""
            name = f"inline-{len(files) + 1}"
            files[name] = base64.b64encode(from_data_uri(found[2] or found[3])).decode() or "?"
            return f"![{alt}](attachment:{name})"

        return (_INLINE.sub(name, text) if "data:" in text.lower() else text), files

    def write_output(self, writer: MarkdownWriter, content: str) -> None:
        """Write an image output. Its text is the prose before."""
        if image := self._read(content):
            writer.add_image(image, get_last_words(self._prose.split("\n\n")), "output")

    def notes(self) -> tuple[str, ...]:
        return self._images.notes()

    def _read(self, content: str) -> ReadImage | None:
        if not content or len(content) > MAX_BASE64:
            return None
        try:
            return self._images.read(base64.b64decode(content))
        except (binascii.Error, ValueError):
            return None


# OCR of an image document

MIN_CONFIDENCE = 0.7  # higher than for pages, because OCR often detects letters in photographs without text
MAX_CHARACTERS = 20_000


def convert_words(data: bytes, settings: ConversionSettings) -> Converted:
    """Convert the confident OCR lines in engine order (possibly none)."""
    try:
        with open_image(data, settings.image_max_megapixels) as picture:
            grey = np.asarray(render_upright(picture, settings.ocr_max_megapixels * 1e6).convert("L"))
        lines = OcrEngine(settings).read(grey)
    except OcrFailed as error:
        raise UnreadableDocument(str(error)) from None
    sure = [line for line in lines if line.confidence >= MIN_CONFIDENCE]
    text = "\n".join(" ".join(word.text for word in line.words) for line in sure)[:MAX_CHARACTERS]
    return Converted(text, notes=_build_notes(sure))


def _build_notes(lines: list[PixelLine]) -> tuple[str, ...]:
    if not lines:
        return ()
    mean = compute_mean_confidence([(word.text, word.confidence) for line in lines for word in line.words])
    return (f"OCR read the words of the image (rapidocr, confidence {mean:.0%})",)
