"""A page as Markdown, and what its head says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.files.about import iso_date, keywords, metadata, one_or_list
from kg_api.convert.html.elements import Element
from kg_api.convert.html.simplify import apply_sheet
from kg_api.convert.html.tree import content, parse, words_by_reason
from kg_api.convert.html.walk import FindImage, PageWalk
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.markdown_text import MarkdownWriter, one_line
from kg_api.errors import UnreadableDocument
from kg_api.models.images import ReadImage
from kg_api.models.library.conversion import Converted
from kg_api.models.library.metadata import MetadataValue
from kg_api.parse.beside.inline import from_data_uri, is_data_uri
from kg_api.parse.beside.references import key_of
from kg_api.parse.declared import declared_encoding, decode

_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author")
_DATES = (
    "article:published_time",
    "dc.date",
    "dcterms.date",
    "dcterms.created",
    "dc.date.issued",
    "citation_date",
    "date",
)
_KINDS = (b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x1f\x8b")


def convert(
    data: bytes, settings: ConversionSettings = DEFAULTS, beside: Mapping[str, bytes] | None = None
) -> Converted:
    """Make Markdown of an HTML page; of its pictures those are taken that it holds itself, or that are given.

    Args:
        data: the page.
        settings: bounds of its pictures.
        beside: files that came with it, by `key_of` their references.

    Raises:
        UnreadableDocument: it is not a page, or holds no text.
    """
    if data.startswith(_KINDS):
        raise UnreadableDocument("it is not an HTML page but another kind of file; name it for what it is")
    text, notes = decode(data, declared_encoding(data))
    images = ImagesWithin(settings)

    def find_image(address: str) -> ReadImage | None:
        given = (beside or {}).get(key_of(address) or "")
        return images.read(from_data_uri(address) if is_data_uri(address) else given)

    made = convert_text(text, notes, find_image)
    return replace(made, notes=made.notes + images.notes())


def convert_letter(text: str, images: FindImage | None = None) -> Converted:
    """Make Markdown of a page that is all letter, also its margins.

    Raises:
        UnreadableDocument: it holds no text.
    """
    writer = MarkdownWriter()
    left_out = write_chapter(parse(text), writer, images)
    if not writer.text():
        raise UnreadableDocument("it holds no text; nothing was stored")
    return Converted(writer.text(), notes=describe(left_out), images=tuple(writer.images))


def convert_text(text: str, notes: tuple[str, ...] = (), images: FindImage | None = None) -> Converted:
    """Make Markdown of a page whose encoding is known.

    Raises:
        UnreadableDocument: it holds no text.
    """
    tree = parse(text)
    writer = MarkdownWriter()
    left_out = write_page(tree, writer, images)
    if not writer.text():
        raise UnreadableDocument("it holds no text; nothing was stored")
    title, about = _head(tree)
    found = tuple(writer.images)
    return Converted(writer.text(), title, about, notes=notes + describe(left_out), images=found)


def write_page(tree: Element, writer: MarkdownWriter, images: FindImage | None = None) -> Counter[str]:
    """Write a page's content; gives how many words were left out, by the reason."""
    part = content(tree)
    walk = PageWalk(writer, images)
    walk.write(part)
    body = tree.find("body")
    if body is None or part is body:
        return walk.left_out
    beside = words_by_reason(body, without=part)
    beside["what stands beside the main part"] = beside.pop("", 0)
    return walk.left_out + beside


def write_chapter(
    tree: Element, writer: MarkdownWriter, images: FindImage | None = None, sheets: Iterable[str] = ()
) -> Counter[str]:
    """Write all of a page that is no site's: what a book or a letter has at its margins is to be read.

    Args:
        tree: the page.
        writer: where to write.
        images: reads images by their addresses.
        sheets: style sheets that are not in the page itself.

    Returns:
        How many words were left out, by the reason.
    """
    for each in tree.iter("header", "footer", "aside", "form", "noscript"):
        each.tag = "section" if each.tag != "noscript" else "div"  # its reader runs no scripts
    for sheet in sheets:
        apply_sheet(tree, sheet)
    body = tree.find("body")
    walk = PageWalk(writer, images)
    walk.write(tree if body is None else body)
    return walk.left_out


def describe(left_out: Counter[str]) -> tuple[str, ...]:
    """Say what was left out, if it had words."""
    return tuple(
        f"left out: {what} ({count:,} word{'' if count == 1 else 's'})"
        for what, count in sorted(left_out.items())
        if count
    )


def _head(tree: Element) -> tuple[str, dict[str, MetadataValue]]:
    said: dict[str, list[str]] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        said.setdefault(name, []).append(meta.get("content") or "")
    title = next((one_line("".join(each.itertext())) for each in tree.iter("title")), "")
    return title or one_line(said.get("og:title", [""])[0]), metadata(
        author=one_or_list(author for name in _AUTHORS for author in said.get(name, [])),
        date=next(filter(None, (iso_date(each) for name in _DATES for each in said.get(name, []))), ""),
        description=next(iter(said.get("description", []) + said.get("og:description", [])), ""),
        tags=[word for each in said.get("keywords", []) for word in keywords(each)],
        language=tree.get("lang")
        or tree.get("{http://www.w3.org/XML/1998/namespace}lang")
        or tree.get("xml:lang")
        or "",
    )
