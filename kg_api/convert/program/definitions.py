"""The functions and classes of a program text, and where they begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import cast

from tree_sitter import Language, Node, Parser, Tree

from kg_api.convert.program.languages import ProgramLanguage
from kg_api.errors import UnreadableDocument

MAX_BYTES = 2_000_000
"""Above this a file is data or generated; it is cut at blank lines."""
_CALLS_A_BYTE = 0.1
_MIN_CALLS = 10_000
"""A parse reports every hundred operations or so: 0.01 reports a byte at most in real programs.

Counted, not timed, so that the same file has the same passages on every machine.
"""
_PIECE = 1 << 16
_MAX_DEPTH = 60
_MAX_NAME = 200
_WRAPPERS = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "template_declaration",
        "type_declaration",
        "lexical_declaration",
    }
)
_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_NAMES = ("name", "declarator")
_ABOVE = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "decorator"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class; places are bytes."""

    path: tuple[str, ...]
    """Its name behind those of the definitions that it stands in."""
    start: int
    """With the comment above it."""
    end: int
    lines: int


def definitions(data: bytes, language: ProgramLanguage) -> list[Definition]:
    """Find the definitions in reading order.

    Raises:
        UnreadableDocument: the text is too large, or takes too much work to be a program.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableDocument(f"it has more than {MAX_BYTES // 1_000_000} MB")
    return list(_walk(_parse(data, language).root_node, language))


@cache
def _grammar(language: ProgramLanguage) -> Language:
    """Loaded when the first such file comes."""
    return Language(cast("object", getattr(import_module(language.grammar), language.function)()))


def _parse(data: bytes, language: ProgramLanguage) -> Tree:
    left = max(_MIN_CALLS, int(len(data) * _CALLS_A_BYTE))

    def takes_too_much(_offset: int, _error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def read(offset: int, _point: object) -> bytes:
        return data[offset : offset + _PIECE]

    try:
        return Parser(_grammar(language)).parse(read, progress_callback=takes_too_much)
    except ValueError as error:  # it was told not to go on
        raise UnreadableDocument("it takes too much work to be a program that people write") from error


def _walk(root: Node, language: ProgramLanguage) -> Iterator[Definition]:
    """Go down by a stack of its own: a hostile file is nested deeper than Python calls."""
    stack: list[tuple[Node, tuple[str, ...], Node | None]] = [(root, (), None)]
    while stack:
        node, path, wrapper = stack.pop()
        if _is_definition(node, language):
            path = (*path, _name(node))
            yield _definition(path, wrapper or node)
            if node.type not in language.scopes:
                continue
        if len(path) < _MAX_DEPTH:
            outer = (wrapper or node) if node.type in _WRAPPERS else None
            stack += [(child, path, outer) for child in reversed(node.named_children)]


def _definition(path: tuple[str, ...], node: Node) -> Definition:
    lines = node.end_point.row - node.start_point.row + 1
    return Definition(path, _start(node), node.end_byte, lines)


def _is_definition(node: Node, language: ProgramLanguage) -> bool:
    if node.type == "variable_declarator":  # const name = () => ...
        value = node.child_by_field_name("value")
        return node.type in language.functions and value is not None and value.type in _VALUES
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return False  # only named: struct stat buffer;
    return node.type in language.scopes or node.type in language.functions


def _name(node: Node) -> str:
    """What it is called: of a C function by what stands in its declarators, of a Go method with its type."""
    if node.type == "impl_item":
        return _words(node.child_by_field_name("type"))
    found: Node | None = node
    while found is not None and (found is node or found.type.endswith(("declarator", "declaration"))):
        found = next(filter(None, map(found.child_by_field_name, _NAMES)), None)
    receiver = _words(node.child_by_field_name("receiver")).strip("()").split()[-1:]  # (s *Server)
    return ".".join([*(each.lstrip("*") for each in receiver), _words(found)])


def _words(node: Node | None) -> str:
    return " ".join((node.text or b"").decode("utf-8", "replace").split())[:_MAX_NAME] if node else ""


def _start(node: Node) -> int:
    """Where the comments begin that stand right above."""
    first = node
    while (above := first.prev_named_sibling) is not None and above.type in _ABOVE:
        last = above.end_point.row - (above.end_point.column == 0)
        if first.start_point.row - last != 1:
            break
        first = above
    return first.start_byte
