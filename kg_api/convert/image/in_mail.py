"""The pictures of a message: those that its page shows, and those that are attached."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from email.message import EmailMessage
from urllib.parse import unquote

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.markdown_text import MarkdownWriter
from kg_api.models.images import ReadImage
from kg_api.models.library.conversion import Converted
from kg_api.parse.beside.inline import from_data_uri, is_data_uri

_CID = re.compile(r"""cid:([^"'\s<>()]{1,500})""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailImage:
    """A part of a message that says it is a picture."""

    part: EmailMessage
    name: str
    identity: str
    """By which a page of the same message names it; empty: it has none."""


class MailImages:
    """Reads the pictures of one message."""

    def __init__(self, parts: Iterable[MailImage], settings: ConversionSettings) -> None:
        self._images = ImagesWithin(settings)
        self._parts = {id(each.part): each for each in parts}
        self._by_identity = {each.identity: each for each in self._parts.values() if each.identity}
        self._named = set[str]()
        self._taken = set[int]()

    def are_named_by(self, pages: Iterable[str]) -> None:
        """Tell which pages there are: what one shows stands in it, and not where its part does."""
        self._named = {unquote(each) for page in pages for each in _CID.findall(page)}

    def find(self, address: str) -> ReadImage | None:
        """A picture by the address that a page has for it; nothing is fetched."""
        if is_data_uri(address):
            return self._images.read(from_data_uri(address))
        named, _, identity = address.partition(":")
        part = self._by_identity.get(unquote(identity)) if named.lower() == "cid" else None
        return self._read(part) if part else None

    def write(self, writer: MarkdownWriter, part: EmailMessage) -> None:
        """Write a picture where its part stands, unless a page shows it; its words are its file's name."""
        image = self._parts[id(part)]
        if image.identity not in self._named and (found := self._read(image)):
            name = image.name if "/" not in image.name else "image"
            writer.image(found, re.sub(r"\.\w{1,5}$", "", name), name)

    def write_page(self, writer: MarkdownWriter, page: Converted) -> None:
        """Write a page, whose pictures have their places in it."""
        begin = writer.position
        writer.add(page.text.rstrip("\n"))
        writer.images += [
            replace(each, start=begin + each.start, end=begin + each.end) for each in page.images
        ]

    def not_taken(self) -> list[str]:
        """The names of attached pictures that are none, or too small."""
        left = (each for each in self._parts.values() if id(each.part) not in self._taken)
        return [each.name for each in left if each.part.get_content_disposition() == "attachment"]

    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        return self._images.notes()

    def _read(self, image: MailImage) -> ReadImage | None:
        content = image.part.get_payload(decode=True)
        found = self._images.read(content) if isinstance(content, bytes) else None
        if found:
            self._taken.add(id(image.part))
        return found
