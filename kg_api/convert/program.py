"""Functions and classes in program files, found with tree-sitter grammars.

Node names come from the `node-types.json` of each grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, cast

from tree_sitter import Language, Node, Parser

from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import CodeScope


@dataclass(frozen=True, slots=True)
class ProgramLanguage:
    """Grammar of a language and its node types of definitions."""

    grammar: str  # module of the grammar
    scopes: frozenset[str]  # definitions that contain others: classes, modules, namespaces
    functions: frozenset[str]  # definitions read as a unit: functions, methods, types
    function: str = "language"  # function of the module that returns the grammar


def _language(grammar: str, scopes: str, functions: str, function: str = "language") -> ProgramLanguage:
    return ProgramLanguage(
        f"tree_sitter_{grammar}", frozenset(scopes.split()), frozenset(functions.split()), function
    )


_TYPES = "class_declaration interface_declaration enum_declaration"
_SCRIPT = "function_declaration generator_function_declaration method_definition variable_declarator"
_TYPESCRIPT = (
    "typescript",
    f"{_TYPES} abstract_class_declaration internal_module module",
    f"{_SCRIPT} type_alias_declaration",
)
LANGUAGES: Mapping[str, ProgramLanguage] = MappingProxyType(
    {
        "py": _language("python", "class_definition", "function_definition"),
        "js": _language("javascript", "class_declaration", _SCRIPT),
        "ts": _language(*_TYPESCRIPT, "language_typescript"),
        "tsx": _language(*_TYPESCRIPT, "language_tsx"),
        "java": _language(
            "java",
            f"{_TYPES} record_declaration annotation_type_declaration",
            "method_declaration constructor_declaration",
        ),
        "go": _language("go", "", "function_declaration method_declaration type_spec"),
        "rs": _language(
            "rust",
            "impl_item trait_item mod_item",
            "function_item struct_item enum_item union_item macro_definition",
        ),
        "c": _language("c", "", "struct_specifier enum_specifier union_specifier function_definition"),
        "cpp": _language(
            "cpp",
            "class_specifier struct_specifier namespace_definition",
            "enum_specifier union_specifier function_definition",
        ),
        "cs": _language(
            "c_sharp",
            f"{_TYPES} struct_declaration record_declaration namespace_declaration",
            "method_declaration constructor_declaration delegate_declaration",
        ),
        "rb": _language("ruby", "class module", "method singleton_method"),
        "sh": _language("bash", "", "function_definition"),
    }
)
"""Languages by suffix."""
ALIASES: Mapping[str, str] = MappingProxyType(
    {"pyi": "py", "jsx": "js", "mjs": "js", "cjs": "js", "mts": "ts", "cts": "ts", "bash": "sh"}
    | dict.fromkeys(("h", "hpp", "hh", "cc", "cxx"), "cpp")
)
"""Other suffixes of these languages. The C++ grammar reads headers, because most are also valid C++."""
SUFFIXES = frozenset(LANGUAGES.keys() | ALIASES.keys())  # without the dot


def language_of(suffix: str) -> ProgramLanguage:
    return LANGUAGES[ALIASES.get(suffix, suffix)]


# Definitions and their positions

MAX_BYTES = 2_000_000  # larger files are data or generated code, and kg splits them at blank lines
_CALLS_A_BYTE = 0.1
_MIN_CALLS = 10_000
"""Minimum budget of progress callbacks for one parse.

Tree-sitter reports about every 100 operations. Real programs cause at most 0.01 reports per byte. A count,
unlike a time limit, yields the same passages on every machine.
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
_ABOVE = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "decorator"})


@dataclass(frozen=True, slots=True)
class Definition:
    """Function or class, with positions in bytes."""

    path: tuple[str, ...]  # names of the enclosing definitions, then its own name
    start: int  # including the comment above
    end: int
    lines: int


@cache
def _grammar(language: ProgramLanguage) -> Language:
    return Language(cast("object", getattr(import_module(language.grammar), language.function)()))


def definitions(data: bytes, language: ProgramLanguage) -> list[Definition]:
    """Return the definitions in reading order."""
    if len(data) > MAX_BYTES:
        raise UnreadableDocument(f"it has more than {MAX_BYTES // 1_000_000} MB")
    left = max(_MIN_CALLS, int(len(data) * _CALLS_A_BYTE))

    def takes_too_much(_offset: int, _error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def read(offset: int, _point: object) -> bytes:
        return data[offset : offset + _PIECE]

    try:
        tree = Parser(_grammar(language)).parse(read, progress_callback=takes_too_much)
    except ValueError as error:  # the progress callback stopped the parse
        raise UnreadableDocument("it takes too much work to be a program that people write") from error
    found = list[Definition]()
    # An explicit stack, because a hostile file can exceed the recursion limit
    stack: list[tuple[Node, tuple[str, ...], Node | None]] = [(tree.root_node, (), None)]
    while stack:
        node, path, wrapper = stack.pop()
        if _is_definition(node, language):
            path, whole = (*path, _name(node)), wrapper or node
            lines = whole.end_point.row - whole.start_point.row + 1
            found.append(Definition(path, _start(whole), whole.end_byte, lines))
            if node.type not in language.scopes:
                continue
        if len(path) < _MAX_DEPTH:
            outer = (wrapper or node) if node.type in _WRAPPERS else None
            stack += [(child, path, outer) for child in reversed(node.named_children)]
    return found


def _is_definition(node: Node, language: ProgramLanguage) -> bool:
    if node.type == "variable_declarator":  # const name = () => ...
        value = node.child_by_field_name("value")
        return node.type in language.functions and value is not None and value.type in _VALUES
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return False  # a use, not a definition: struct stat buffer;
    return node.type in language.scopes or node.type in language.functions


def _name(node: Node) -> str:
    """Return the name of a definition. C names are inside declarators, and Go methods include their type."""
    if node.type == "impl_item":
        return _words(node.child_by_field_name("type"))
    found: Node | None = node
    while found is not None and (found is node or found.type.endswith(("declarator", "declaration"))):
        found = next(filter(None, map(found.child_by_field_name, ("name", "declarator"))), None)
    receiver = _words(node.child_by_field_name("receiver")).strip("()").split()[-1:]  # (s *Server)
    return ".".join([*(each.lstrip("*") for each in receiver), _words(found)])


def _words(node: Node | None) -> str:
    return " ".join((node.text or b"").decode("utf-8", "replace").split())[:_MAX_NAME] if node else ""


def _start(node: Node) -> int:
    """Return the start of the definition, including comments directly above."""
    first = node
    while (above := first.prev_named_sibling) is not None and above.type in _ABOVE:
        last = above.end_point.row - (above.end_point.column == 0)
        if first.start_point.row - last != 1:
            break
        first = above
    return first.start_byte


# Scopes of the text

MIN_LINES = 4  # shorter definitions belong to the surrounding text
_MIN_WORD_LINES = 3  # lines with words that make the text between definitions a section
_WORD_LINE = re.compile(r"^.*\w.*$", re.MULTILINE)
_INDENT = re.compile(r"[ \t]*\Z")
_REST = re.compile(r"[ \t;,]*(?:\r\n|\n|\r)?")


class _Section(NamedTuple):
    """Start of a definition or of the text around definitions."""

    start: int
    path: tuple[str, ...]
    defines: bool  # whether a definition starts here


def find_scopes(data: bytes, suffix: str) -> list[CodeScope]:
    """Return the positions where functions, classes, and the text around them start."""
    found = [each for each in definitions(data, language_of(suffix)) if each.lines >= MIN_LINES]
    text = data.decode("utf-8", "replace")
    if len(text) != len(data):  # convert positions to code points
        borders = sorted({border for each in found for border in (each.start, each.end)})
        places, at = dict[int, int](), 0
        for before, border in pairwise([0, *borders]):
            at += len(data[before:border].decode("utf-8", "replace"))
            places[border] = at
        found = [replace(each, start=places[each.start], end=places[each.end]) for each in found]
    # A definition starts a section, and its end starts another in the surrounding scope.
    sections = dict[int, _Section]()
    for each in found:
        rest = _REST.match(text, each.end)
        end, path = rest.end() if rest else each.end, each.path[:-1]
        if end not in sections or len(path) < len(sections[end].path):
            sections[end] = _Section(end, path, defines=False)
    for each in found:
        indent = _INDENT.search(text, max(0, each.start - 1_000), each.start)
        begin = indent.start() if indent else each.start
        start = begin if begin == 0 or text[begin - 1] in "\r\n" else each.start
        sections[start] = _Section(start, each.path, defines=True)
    # Keep sections with enough lines. Lines of a short section belong to the next one, or to the last if none
    # follows.
    kept: list[CodeScope] = []
    begin = None
    ordered = [sections[start] for start in sorted(sections)]
    for section, after in pairwise([*ordered, _Section(len(text), (), defines=False)]):
        start = section.start if begin is None else begin
        lines = len(_WORD_LINE.findall(text[start : after.start]))
        if lines >= _MIN_WORD_LINES or (section.defines and not after.defines):
            kept.append(CodeScope(start, section.path))
            begin = None
        elif lines:
            begin = start
    return kept
