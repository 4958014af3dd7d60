"""lxml's elements as far as they are used here; lxml comes without types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol, cast, overload

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]: no types


class Element(Protocol):
    """A node of an HTML or XML tree, with the text in it and the text behind it."""

    tag: str
    text: str | None
    tail: str | None
    attrib: MutableMapping[str, str]

    def __len__(self) -> int: ...

    @overload
    def get(self, name: str, /) -> str | None: ...

    @overload
    def get(self, name: str, default: str, /) -> str: ...

    def find(self, path: str, /) -> Element | None: ...
    def iter(self, *tags: str) -> Iterator[Element]: ...
    def iterchildren(self, *tags: str) -> Iterator[Element]: ...
    def iterancestors(self) -> Iterator[Element]: ...
    def iterdescendants(self, *tags: str) -> Iterator[Element]: ...
    def getparent(self) -> Element | None: ...
    def append(self, element: Element, /) -> None: ...
    def insert(self, at: int, element: Element, /) -> None: ...
    def makeelement(self, tag: str, attributes: Mapping[str, str], /) -> Element: ...
    def remove(self, element: Element, /) -> None: ...
    def xpath(self, path: str, /) -> list[Element]: ...
    def itertext(self) -> Iterable[str]: ...


class Walker(Protocol):
    """Events of a walk: `start` and `end` with the element."""

    def __iter__(self) -> Iterator[tuple[str, Element]]: ...

    def skip_subtree(self) -> None:
        """Pass over what is below the element that has just begun."""
        ...


def walk(element: Element) -> Walker:
    """Walk through an element and all below it, without recursion."""
    return cast("Walker", cast("Any", etree).iterwalk(element, events=("start", "end")))


def parse_html(data: bytes) -> tuple[Element | None, list[str]]:
    """Read UTF-8 bytes as HTML; gives the tree, if there is one, and what the parser complains of."""
    library = cast("Any", etree)
    parser = library.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        tree = library.fromstring(data, parser)
    except library.LxmlError:
        tree = None
    return tree, [str(entry.message) for entry in parser.error_log]
