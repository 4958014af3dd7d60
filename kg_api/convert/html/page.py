"""Conversion of HTML pages to Markdown, in one iterative walk through the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice, takewhile
from urllib.parse import unquote

from kg_api.convert.html.blocks import (
    BLOCKS,
    ListNumbering,
    count_words,
    find_layout_elements,
    get_inline_text,
    label_items,
    read_rows,
)
from kg_api.convert.html.elements import (
    Element,
    count_words_by_reason,
    find_content,
    get_skip_reason,
    parse,
    walk,
)
from kg_api.convert.html.simplify import apply_sheet, simplify
from kg_api.convert.image.embedded import ImagesWithin
from kg_api.convert.shared.containers import build_metadata, parse_date, split_keywords, unwrap_single
from kg_api.convert.shared.markdown_text import (
    MarkdownWriter,
    join_lines,
    write_code_block,
    write_heading,
    write_paragraph,
    write_table,
)
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import ReadImage
from kg_api.schemas.metadata import MetadataValue
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import decode_declared, find_binary_kind, find_declared_encoding
from kg_api.text.image_references import from_data_uri, is_data_uri

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_ITEMS = frozenset({"li", "dt", "dd"})
_MAX_LEVELS = 6  # nested lists (limit of the Markdown parser: 10)
_LANGUAGE = re.compile(r"(?:language|lang|highlight|sourceCode|brush:)[- ]?([\w+#.]+)")
_NO_LANGUAGE = frozenset({"default", "none", "text", "notranslate", "plain", "source"})
_MARKER = re.compile("[0-9]{1,9}[.]")  # list marker of Markdown. Other labels become part of the item text
_BREAK = "\n"

FindImage = Callable[[str], ReadImage | None]
"""Function that reads an image by its URL, or returns None if it is not available."""


@dataclass(slots=True)
class _Level:
    numbering: ListNumbering | None  # None: definition list
    indent: str
    flat: bool = False  # layout list: its items are not list items, but keep their numbers
    marker: str = ""  # of the current item, as long as the item has no text
    inside: str = ""  # indent of further blocks of the item


class PageWalk:
    """Writer of the content below an element. `left_out` counts skipped words by reason."""

    def __init__(self, writer: MarkdownWriter, images: FindImage | None = None) -> None:
        """`images` reads images by URL (None: keep only their text)."""
        self.left_out: Counter[str] = Counter()
        self._writer = writer
        self._find_image = images
        self._images: list[tuple[ReadImage, str, str]] = []
        """Images of the current block, which follow the block."""
        self._words: list[str] = []
        self._level = 0
        self._label = ""  # label of the current item, if the label is part of its text
        self._lists: list[_Level] = []
        self._ended: str | None = None
        """Indent of the list that just ended. A following list at this indent is separate."""
        self._layout: set[Element] = set()

    def write(self, root: Element) -> None:
        self.left_out += simplify(root)
        self._layout = find_layout_elements(root)
        label_items(root, self._layout)
        walker = walk(root)
        passed: Element | None = None
        for event, each in walker:
            if event == "end":
                if each is not passed:
                    self._end(str(each.tag))
                self._words.append((each.tail or "") if each is not root else "")
            elif self._is_whole(each, str(each.tag)):
                passed = each
                walker.skip_subtree()
            else:
                self._start(each, str(each.tag))
                self._words.append(each.text or "")
        self._flush()

    def _is_whole(self, element: Element, tag: str) -> bool:
        """Skip an element or write it completely, or return False to visit its content."""
        if reason := get_skip_reason(element):
            if tag in BLOCKS:
                self._flush()
            count_words(element, reason, self.left_out)
        elif tag == "pre" and not self._level:
            self._flush()
            around = [element, *element.iterchildren("code"), *islice(element.iterancestors(), 2)]
            named = (_LANGUAGE.search(each.get("class", "")) for each in around)
            language = next((found[1] for found in named if found and found[1] not in _NO_LANGUAGE), "")
            self._add(write_code_block(self._read_code(element), language))
        elif tag == "table" and element not in self._layout and not self._level:
            self._flush()
            for caption in element.iterchildren("caption"):
                if not get_skip_reason(caption):
                    self._add(write_paragraph(get_inline_text(caption, self.left_out)))
            cells = read_rows(element, self.left_out)
            if len(cells) > 1:
                self._add(write_table(cells))
            else:
                self._add(write_paragraph(" ".join(join_lines(cell) for row in cells for cell in row)))
            for image in element.iter("img"):
                above = takewhile(lambda each: each is not element, image.iterancestors())
                if not any(get_skip_reason(each) for each in (image, *above)):
                    self._take(image, lambda image=image: _find_image_row(image))
            self._add_images()
        else:
            return False
        return True

    def _start(self, element: Element, tag: str) -> None:
        if tag == "br":
            self._break()
        elif tag == "img":
            # An available image becomes a block after the current text. For others, keep the alternative
            # text.
            self._words.append(" " if self._take(element) else f" {element.get('alt', '')} ")
        elif tag == "span" and "classifier" in element.get("class", "").split():
            self._words.append(" : ")  # type of a parameter, as in the style sheets of Docutils
        elif tag in BLOCKS or tag in _LISTS:
            self._flush()
            if not self._level:
                if tag in _HEADINGS:
                    self._level = _HEADINGS[tag]
                elif tag in _LISTS:
                    self._open(element, tag)
                elif tag in _ITEMS and self._lists:
                    self._begin_item(self._lists[-1], element, tag)

    def _open(self, element: Element, tag: str) -> None:
        above = self._get_innermost_level()
        numbering = None if tag == "dl" else ListNumbering(element)
        if element in self._layout:
            self._lists.append(_Level(numbering, "", flat=True))
            return
        if above and sum(not each.flat for each in self._lists) >= _MAX_LEVELS:
            indent = above.indent
        else:
            indent = (above.indent if above.marker else above.inside) if above else ""
        if self._ended == indent:
            self._writer.end_list()
        self._lists.append(_Level(numbering, indent))

    def _begin_item(self, level: _Level, item: Element, tag: str) -> None:
        if tag == "dd" and (level.inside or level.marker):
            return
        label = level.numbering.count(item) if level.numbering and tag == "li" else ""
        if level.flat:
            self._label = label
        elif _MARKER.fullmatch(label):
            level.marker, self._label = f"{label} ", ""
        else:
            level.marker, self._label = "- ", label

    def _end(self, tag: str) -> None:
        if self._level and tag in _HEADINGS:
            level, self._level = self._level, 0
            has_words = any(each.strip() for each in self._words)
            self._add(write_heading(level, self._take_label() + "".join(self._words)) if has_words else "")
            self._words = []
            self._add_images()
        elif tag in BLOCKS or tag in _LISTS:
            self._flush()
            if tag in _LISTS and not self._level and self._lists:
                level = self._lists.pop()
                self._ended, self._label = None if level.flat else level.indent, ""

    def _break(self) -> None:
        """Convert one line break to a space, and two to a paragraph break."""
        while self._words and not self._words[-1].strip() and self._words[-1] is not _BREAK:
            self._words.pop()
        if self._words and self._words[-1] is _BREAK:
            self._flush()
        else:
            self._words.append(_BREAK)

    def _flush(self) -> None:
        if self._level:  # a block inside a heading does not end the heading
            self._words.append(" ")
            return
        text, self._words = join_lines("".join(self._words)), []
        if text:
            level, text = self._get_innermost_level(), self._take_label() + text
            self._ended = None
            if level and level.marker:
                self._writer.add_item(text, level.indent, level.marker)
                level.inside, level.marker = level.indent + " " * len(level.marker), ""
            else:
                self._add(write_paragraph(text))
        self._add_images()

    def _take(self, element: Element, else_words: Callable[[], str] = str) -> bool:
        address = element.get("src", "").strip()
        found = self._find_image(address) if self._find_image and address else None
        if found:
            figure = next((each for each in element.iterancestors() if each.tag == "figure"), None)
            captions = () if figure is None else figure.iter("figcaption")
            caption = join_lines(" ".join(get_inline_text(each) for each in captions))
            labels = dict.fromkeys(filter(None, (join_lines(element.get("alt", "")), caption)))
            name = unquote(address.partition("?")[0].rpartition("/")[2])
            name = "image" if address.lower().startswith(("data:", "cid:")) else name
            self._images.append((found, ". ".join(labels) or else_words(), name))
        return found is not None

    def _add_images(self) -> None:
        level = self._get_innermost_level()
        for image, text, name in self._images:
            self._writer.add_image(image, text, name, level.inside if level else "")
        self._images = []

    def _take_label(self) -> str:
        label, self._label = self._label, ""
        return f"{label} " if label else ""

    def _add(self, block: str) -> None:
        level = self._get_innermost_level()
        self._ended = None
        if block and level and level.marker not in {"", "- "}:  # the number of an item precedes its block
            self._label, level.marker = level.marker.strip(), ""
        if block and self._label:
            self._writer.add(write_paragraph(self._take_label()), level.indent if level else "")
        self._writer.add(block, (level.indent if level.marker else level.inside) if level else "")

    def _get_innermost_level(self) -> _Level | None:
        if not self._lists:
            return None
        return next((each for each in reversed(self._lists) if not each.flat), None)

    def _read_code(self, element: Element) -> str:
        lines: list[str] = []
        walker = walk(element)
        for event, each in walker:
            if event == "end":
                lines.append((each.tail or "") if each is not element else "")
            elif each is not element and (reason := get_skip_reason(each)):
                walker.skip_subtree()
                count_words(each, reason, self.left_out)
            else:
                lines.append("\n" if each.tag == "br" else each.text or "")
        return "".join(lines)


def _find_image_row(image: Element) -> str:
    row = next((each for each in image.iterancestors() if each.tag == "tr"), None)
    return "" if row is None else join_lines(get_inline_text(row))


# Page and metadata

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


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    """Convert an HTML page with its inline images."""
    if what := find_binary_kind(data):
        raise UnreadableDocument(f"the file is not HTML but {what}. Rename the file to match its content")
    text, notes = decode_declared(data, find_declared_encoding(data))
    images, tree, writer = ImagesWithin(settings), parse(text), MarkdownWriter()
    part, body = find_content(tree), tree.find("body")
    walk = PageWalk(writer, find_inline_images(images))
    walk.write(part)
    if not writer.text():
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    left_out = walk.left_out
    if body is not None and part is not body:
        around = count_words_by_reason(body, without=part)
        around["content next to the main part"] = around.pop("", 0)
        left_out += around
    title, about = _read_head(tree)
    notes = (*notes, *describe(left_out), *images.notes())
    return Converted(writer.text(), title, about, notes=notes, images=tuple(writer.images))


def find_inline_images(images: ImagesWithin) -> FindImage:
    """Return a function that reads images with a `data:` address."""
    return lambda address: images.read(from_data_uri(address)) if is_data_uri(address) else None


def convert_letter(text: str, images: FindImage | None = None) -> Converted:
    """Convert an HTML part of a message, including its margins."""
    writer = MarkdownWriter()
    left_out = write_chapter(parse(text), writer, images)
    if not writer.text():
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    return Converted(writer.text(), notes=describe(left_out), images=tuple(writer.images))


def write_chapter(
    tree: Element, writer: MarkdownWriter, images: FindImage | None = None, sheets: Iterable[str] = ()
) -> Counter[str]:
    """Write a complete page, including margins, for books and messages."""
    for each in tree.iter("header", "footer", "aside", "form", "noscript"):
        each.tag = "section" if each.tag != "noscript" else "div"  # e-book and mail readers run no scripts
    for sheet in sheets:
        apply_sheet(tree, sheet)
    body = tree.find("body")
    walk = PageWalk(writer, images)
    walk.write(tree if body is None else body)
    return walk.left_out


def describe(left_out: Counter[str]) -> tuple[str, ...]:
    return tuple(
        f"skipped: {what} ({count:,} word{'' if count == 1 else 's'})"
        for what, count in sorted(left_out.items())
        if count
    )


def _read_head(tree: Element) -> tuple[str, dict[str, MetadataValue]]:
    properties: dict[str, list[str]] = {}
    for meta in tree.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").strip().lower()
        properties.setdefault(name, []).append(meta.get("content") or "")
    title = next((join_lines("".join(each.itertext())) for each in tree.iter("title")), "")
    return title or join_lines(properties.get("og:title", [""])[0]), build_metadata(
        author=unwrap_single(author for name in _AUTHORS for author in properties.get(name, [])),
        date=next(
            filter(None, (parse_date(each) for name in _DATES for each in properties.get(name, []))), ""
        ),
        description=next(iter(properties.get("description", []) + properties.get("og:description", [])), ""),
        tags=[word for each in properties.get("keywords", []) for word in split_keywords(each)],
        language=tree.get("lang")
        or tree.get("{http://www.w3.org/XML/1998/namespace}lang")
        or tree.get("xml:lang")
        or "",
    )
