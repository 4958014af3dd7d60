"""One walk through a page's tree, without recursion: each block is written when it ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from urllib.parse import unquote

from kg_api.convert.html.elements import Element, walk
from kg_api.convert.html.ignored import ignored
from kg_api.convert.html.lists import ListNumbering
from kg_api.convert.html.simplify import simplify
from kg_api.convert.html.tables import BLOCKS, count_words, inline_text, label_items, layout, rows
from kg_api.convert.markdown_text import MarkdownWriter, fence, heading, one_line, paragraph, table
from kg_api.models.images import ReadImage

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "dl", "menu", "dir"})
_ITEMS = frozenset({"li", "dt", "dd"})
_MAX_LEVELS = 6
"""Lists in lists: Markdown's parser ends at ten, and an indent of a whole line helps nobody."""
_LANGUAGE = re.compile(r"(?:language|lang|highlight|sourceCode|brush:)[- ]?([\w+#.]+)")
_NO_LANGUAGE = frozenset({"default", "none", "text", "notranslate", "plain", "source"})
_MARKER = re.compile("[0-9]{1,9}[.]")
"""A label that Markdown takes for that of a list; others are words of the item."""
_BREAK = "\n"

FindImage = Callable[[str], ReadImage | None]
"""Reads a picture by its address; none of those that are not at hand."""


@dataclass(slots=True)
class _Level:
    """A list that is open."""

    numbering: ListNumbering | None
    """None: a list of definitions."""
    indent: str
    flat: bool = False
    """It only arranges what is in it: its items are no list items, but have their numbers."""
    marker: str = ""
    """Of the item that has begun and has no text yet."""
    inside: str = ""
    """The indent of what follows in the same item."""


class PageWalk:
    """Writes the content below an element; `left_out` counts words by the reason."""

    def __init__(self, writer: MarkdownWriter, images: FindImage | None = None) -> None:
        """Args: where to write, and what reads pictures by their addresses; None: only their words count."""
        self.left_out: Counter[str] = Counter()
        self._writer = writer
        self._find_image = images
        self._images: list[tuple[ReadImage, str, str]] = []
        """Those of the block that is being read; they stand behind it."""
        self._words: list[str] = []
        self._level = 0
        self._label = ""
        """Of the item that has begun, where it is a word of its text."""
        self._lists: list[_Level] = []
        self._ended: str | None = None
        """The indent of the list that has just ended: another one there is not part of it."""
        self._layout: set[Element] = set()

    def write(self, root: Element) -> None:
        """Write all blocks below `root`, in reading order."""
        self.left_out += simplify(root)
        self._layout = layout(root)
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
        """Whether an element is done with: left out, or written at once."""
        if reason := ignored(element):
            self._leave_out(element, tag, reason)
        elif tag == "pre" and not self._level:
            self._flush()
            self._add(fence(self._code(element), _language(element)))
        elif tag == "table" and element not in self._layout and not self._level:
            self._flush()
            self._table(element)
        else:
            return False
        return True

    def _leave_out(self, element: Element, tag: str, reason: str) -> None:
        if tag in BLOCKS:
            self._flush()
        count_words(element, reason, self.left_out)

    def _table(self, element: Element) -> None:
        for caption in element.iterchildren("caption"):
            if not ignored(caption):
                self._add(paragraph(inline_text(caption, self.left_out)))
        cells = rows(element, self.left_out)
        if len(cells) > 1:
            self._add(table(cells))
        else:
            self._add(paragraph(" ".join(one_line(cell) for row in cells for cell in row)))
        for image in element.iter("img"):
            if not any(ignored(each) for each in (image, *_within(image, element))):
                self._take(image, lambda image=image: _row_of(image))
        self._add_images()

    def _start(self, element: Element, tag: str) -> None:
        if tag == "br":
            self._break()
        elif tag == "img":
            self._image(element)
        elif tag == "span" and "classifier" in element.get("class", "").split():
            self._words.append(" : ")  # as Docutils' style sheets show it: the type of a parameter
        elif tag in BLOCKS or tag in _LISTS:
            self._flush()
            if not self._level:
                self._start_block(element, tag)

    def _start_block(self, element: Element, tag: str) -> None:
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag in _LISTS:
            self._open(element, tag)
        elif tag in _ITEMS and self._lists:
            self._begin_item(self._lists[-1], element, tag)

    def _open(self, element: Element, tag: str) -> None:
        above = self._innermost()
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
            self._add(heading(level, self._take_label() + "".join(self._words)) if self._has_words() else "")
            self._words = []
            self._add_images()
        elif tag in BLOCKS or tag in _LISTS:
            self._flush()
            if tag in _LISTS and not self._level and self._lists:
                level = self._lists.pop()
                self._ended, self._label = None if level.flat else level.indent, ""

    def _break(self) -> None:
        """One line break is a blank, two are a new paragraph."""
        while self._words and not self._words[-1].strip() and self._words[-1] is not _BREAK:
            self._words.pop()
        if self._words and self._words[-1] is _BREAK:
            self._flush()
        else:
            self._words.append(_BREAK)

    def _has_words(self) -> bool:
        return any(each.strip() for each in self._words)

    def _flush(self) -> None:
        if self._level:  # a block in a heading does not end it
            self._words.append(" ")
            return
        text, self._words = one_line("".join(self._words)), []
        if text:
            self._paragraph(text)
        self._add_images()

    def _image(self, element: Element) -> None:
        """A picture is a block of its own behind the words that it stands in; else it is its words."""
        self._words.append(" " if self._take(element) else f" {element.get('alt', '')} ")

    def _take(self, element: Element, else_words: Callable[[], str] = str) -> bool:
        address = element.get("src", "").strip()
        found = self._find_image(address) if self._find_image and address else None
        if found:
            told = dict.fromkeys(filter(None, (one_line(element.get("alt", "")), _caption(element))))
            self._images.append((found, ". ".join(told) or else_words(), _name_of(address)))
        return found is not None

    def _add_images(self) -> None:
        level = self._innermost()
        for image, told, name in self._images:
            self._writer.image(image, told, name, level.inside if level else "")
        self._images = []

    def _paragraph(self, text: str) -> None:
        level, text = self._innermost(), self._take_label() + text
        self._ended = None
        if level and level.marker:
            self._writer.item(text, level.indent, level.marker)
            level.inside, level.marker = level.indent + " " * len(level.marker), ""
        else:
            self._add(paragraph(text))

    def _take_label(self) -> str:
        label, self._label = self._label, ""
        return f"{label} " if label else ""

    def _add(self, block: str) -> None:
        level = self._innermost()
        self._ended = None
        if block and level and level.marker not in {"", "- "}:  # the number of an item stands above its block
            self._label, level.marker = level.marker.strip(), ""
        if block and self._label:
            self._writer.add(paragraph(self._take_label()), level.indent if level else "")
        self._writer.add(block, (level.indent if level.marker else level.inside) if level else "")

    def _innermost(self) -> _Level | None:
        if not self._lists:
            return None
        return next((each for each in reversed(self._lists) if not each.flat), None)

    def _code(self, element: Element) -> str:
        lines: list[str] = []
        walker = walk(element)
        for event, each in walker:
            if event == "end":
                lines.append((each.tail or "") if each is not element else "")
            elif each is not element and (reason := ignored(each)):
                walker.skip_subtree()
                count_words(each, reason, self.left_out)
            else:
                lines.append("\n" if each.tag == "br" else each.text or "")
        return "".join(lines)


def _caption(element: Element) -> str:
    """What stands below a picture, where the page says so."""
    figure = next((each for each in element.iterancestors() if each.tag == "figure"), None)
    captions = () if figure is None else figure.iter("figcaption")
    return one_line(" ".join(inline_text(each) for each in captions))


def _within(element: Element, root: Element) -> Iterator[Element]:
    """What an element stands in, up to `root`."""
    return takewhile(lambda each: each is not root, element.iterancestors())


def _row_of(image: Element) -> str:
    """The words of the row that a picture stands in."""
    row = next((each for each in image.iterancestors() if each.tag == "tr"), None)
    return "" if row is None else one_line(inline_text(row))


def _name_of(address: str) -> str:
    """The last part of an address; one that is the file itself has no name."""
    name = unquote(address.partition("?")[0].rpartition("/")[2])
    return "image" if address.lower().startswith(("data:", "cid:")) else name


def _language(element: Element) -> str:
    around = [element, *element.iterchildren("code"), *islice(element.iterancestors(), 2)]
    named = (_LANGUAGE.search(each.get("class", "")) for each in around)
    return next((found[1] for found in named if found and found[1] not in _NO_LANGUAGE), "")
