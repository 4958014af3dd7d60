"""The languages whose functions and classes are known: a wheel with a grammar each, and what it calls them.

The names of nodes are those of the grammars' node-types.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, cast

from tree_sitter import Language, Node, Parser, Tree

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import CodeScope


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


@dataclass(frozen=True, slots=True)
class ProgramLanguage:
    """How a language calls what has a name of its own."""

    grammar: str
    """The module of its grammar."""
    scopes: frozenset[str]
    """Definitions that hold others: classes, modules, namespaces."""
    functions: frozenset[str]
    """Definitions that are read as one: functions, methods, types."""
    function: str = "language"
    """The grammar's function in its module."""


_WITH_TYPES = _names("class_declaration interface_declaration enum_declaration")
_SCRIPT_FUNCTIONS = _names("function_declaration generator_function_declaration method_definition")
_TYPESCRIPT = ProgramLanguage(
    "tree_sitter_typescript",
    _WITH_TYPES | _names("abstract_class_declaration internal_module module"),
    _SCRIPT_FUNCTIONS | _names("type_alias_declaration variable_declarator"),
    "language_typescript",
)
_C_TYPES = _names("struct_specifier enum_specifier union_specifier")

LANGUAGES: Mapping[str, ProgramLanguage] = MappingProxyType(
    {
        "py": ProgramLanguage(
            "tree_sitter_python", _names("class_definition"), _names("function_definition")
        ),
        "js": ProgramLanguage(
            "tree_sitter_javascript",
            _names("class_declaration"),
            _SCRIPT_FUNCTIONS | _names("variable_declarator"),
        ),
        "ts": _TYPESCRIPT,
        "tsx": ProgramLanguage(
            _TYPESCRIPT.grammar, _TYPESCRIPT.scopes, _TYPESCRIPT.functions, "language_tsx"
        ),
        "java": ProgramLanguage(
            "tree_sitter_java",
            _WITH_TYPES | _names("record_declaration annotation_type_declaration"),
            _names("method_declaration constructor_declaration"),
        ),
        "go": ProgramLanguage(
            "tree_sitter_go", frozenset(), _names("function_declaration method_declaration type_spec")
        ),
        "rs": ProgramLanguage(
            "tree_sitter_rust",
            _names("impl_item trait_item mod_item"),
            _names("function_item struct_item enum_item union_item macro_definition"),
        ),
        "c": ProgramLanguage("tree_sitter_c", frozenset(), _C_TYPES | _names("function_definition")),
        "cpp": ProgramLanguage(
            "tree_sitter_cpp",
            _names("class_specifier struct_specifier namespace_definition"),
            _names("enum_specifier union_specifier function_definition"),
        ),
        "cs": ProgramLanguage(
            "tree_sitter_c_sharp",
            _WITH_TYPES | _names("struct_declaration record_declaration namespace_declaration"),
            _names("method_declaration constructor_declaration delegate_declaration"),
        ),
        "rb": ProgramLanguage("tree_sitter_ruby", _names("class module"), _names("method singleton_method")),
        "sh": ProgramLanguage("tree_sitter_bash", frozenset(), _names("function_definition")),
    }
)
"""By suffix."""
ALIASES: Mapping[str, str] = MappingProxyType(
    {"pyi": "py", "jsx": "js", "mjs": "js", "cjs": "js", "mts": "ts", "cts": "ts", "bash": "sh"}
    | dict.fromkeys(("h", "hpp", "hh", "cc", "cxx"), "cpp")
)
"""Other suffixes of the same; a header of C is nearly always one of C++, too."""
SUFFIXES = frozenset(LANGUAGES.keys() | ALIASES.keys())
"""Without their dot."""


def language_of(suffix: str) -> ProgramLanguage:
    """The language of files with a suffix, which is one of `SUFFIXES`."""
    return LANGUAGES[ALIASES.get(suffix, suffix)]


# The functions and classes of a program text, and where they begin and end.

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


# Which function or class each part of a program belongs to.

MIN_LINES = 4
"""A definition of fewer is read with what stands around it."""
_MIN_WORD_LINES = 3
"""Lines with words that what stands between definitions needs to be a section of its own."""
_WORD_LINE = re.compile(r"^.*\w.*$", re.MULTILINE)
_INDENT = re.compile(r"[ \t]*\Z")
_REST = re.compile(r"[ \t;,]*(?:\r\n|\n|\r)?")


class _Section(NamedTuple):
    """From here on the text belongs to a definition, or to what stands around some."""

    start: int
    path: tuple[str, ...]
    defines: bool
    """Whether it begins with a definition."""


def find_scopes(data: bytes, suffix: str) -> list[CodeScope]:
    """Find where functions and classes begin, and where the text around them goes on.

    Args:
        data: the program, in UTF-8.
        suffix: of its file, without the dot; one of `languages.SUFFIXES`.

    Raises:
        UnreadableDocument: as `definitions` does.
    """
    found = definitions(data, language_of(suffix))
    text = data.decode("utf-8", "replace")
    sections = _worth(text, _sections(text, _in_code_points(text, data, found)))
    return [CodeScope(section.start, section.path) for section in sections]


def _in_code_points(text: str, data: bytes, found: list[Definition]) -> list[Definition]:
    found = [each for each in found if each.lines >= MIN_LINES]
    if len(text) == len(data):
        return found
    borders = sorted({border for each in found for border in (each.start, each.end)})
    places, at = dict[int, int](), 0
    for before, border in pairwise([0, *borders]):
        at += len(data[before:border].decode("utf-8", "replace"))
        places[border] = at
    return [replace(each, start=places[each.start], end=places[each.end]) for each in found]


def _sections(text: str, found: list[Definition]) -> list[_Section]:
    """Each definition opens one, and its end another for what follows in the scope around it."""
    sections = dict[int, _Section]()
    for each in found:
        end, path = _line_end(text, each.end), each.path[:-1]
        if end not in sections or len(path) < len(sections[end].path):
            sections[end] = _Section(end, path, defines=False)
    for each in found:
        indent = _INDENT.search(text, max(0, each.start - 1_000), each.start)
        begin = indent.start() if indent else each.start
        start = begin if begin == 0 or text[begin - 1] in "\r\n" else each.start
        sections[start] = _Section(start, each.path, defines=True)
    return [sections[start] for start in sorted(sections)]


def _line_end(text: str, place: int) -> int:
    rest = _REST.match(text, place)
    return rest.end() if rest else place


def _worth(text: str, sections: list[_Section]) -> list[_Section]:
    """Those that say enough; the lines of others go to the next, and those at the end to the one before."""
    kept: list[_Section] = []
    begin: int | None = None
    for section, after in pairwise([*sections, _Section(len(text), (), defines=False)]):
        start = section.start if begin is None else begin
        lines = len(_WORD_LINE.findall(text[start : after.start]))
        if lines >= _MIN_WORD_LINES or (section.defines and not after.defines):
            kept.append(section._replace(start=start))
            begin = None
        elif lines:
            begin = start
    return kept
