"""The languages whose functions and classes are known: a wheel with a grammar each, and what it calls them.

The names of nodes are those of the grammars' node-types.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
