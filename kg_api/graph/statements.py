"""Cypher statements: `documents/hold` is the statement `// name: hold` in `cypher/documents.cypher`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, LiteralString, cast

from kg_api.schemas.spaces import FIRST_SLUG, SECOND_SLOT, SLUG_PATTERN

FIRST_INDEX: Final = "passage_embedding"
FIRST_CONCEPT_INDEX: Final = "concept_embedding"
FIRST_IMAGE_INDEX: Final = "image_embedding"
FIRST_RELATION_INDEX: Final = "relation_embedding"
FIRST_PROPERTY: Final = "embedding"
FIRST_MARK: Final = "embedded_with"
FIRST_TIME: Final = "embedded_at"
FIRST_REFUSAL: Final = "refused_because"
FIRST_NEAR: Final = "linked_at"

_FITS = re.compile(r"\bfits\((\w+)\)")
_FITTING: Final = """all(any_of IN $fits WHERE any(group IN any_of WHERE
  (group.documents IS NULL OR s.document_id IN group.documents)
  AND (group.without IS NULL OR NOT s.document_id IN group.without)
  AND (group.image IS NULL OR s:Image = group.image)
  AND all(pages IN group.pages WHERE pages.wanted = any(span IN pages.spans WHERE
    coalesce(s.page <= span.last AND coalesce(s.last_page, s.page) >= span.first, false)))))"""
"""Replacement for `fits(s)` in statements, which checks if a source matches the filter `$fits`
(kg_api.graph.filters). An empty filter matches all sources."""
_ITEMS = re.compile(r"^ +items\((after)?\)\n", re.MULTILINE)
_BRANCH = re.compile(r"^  WHEN \$label = '(\w+)'.*\n(?:   .*\n|  }\n)*", re.MULTILINE)
_ITEM_KEYS: Final = {
    "Concept": ("(n:Concept)", "concept_id"),
    "Image": ("(n:Image)", "source_id"),
    "RELATED_TO": ("()-[n:RELATED_TO]->()", "relation_id"),
    "RelationType": ("(n:RelationType)", "type_id"),
}
"""Patterns and id properties of items with one vector, by label."""
_PARAMETER = re.compile(r"\$(\w+)")
_HEAD = re.compile(r"^// name: ([\w/]+)\n", re.MULTILINE)
_PREAMBLE = re.compile(r"^(?://.*|CYPHER 25)\n", re.MULTILINE)
_INDEXES = (FIRST_INDEX, FIRST_CONCEPT_INDEX, FIRST_IMAGE_INDEX, FIRST_RELATION_INDEX)
_NAMES = "|".join((*_INDEXES, rf"n\.{FIRST_PROPERTY}"))
_SPACE_NAMES = re.compile(rf"\b({_NAMES})\b")


def find_folder() -> Traversable:
    """Find the folder of the Cypher files: in an installed package, or in a checkout."""
    packaged = resources.files("kg_api") / "cypher"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "cypher"


def of_space(name: str, key: str) -> str:
    """Build the name of an index or property for a space: add the key to the name in the first space."""
    if not re.fullmatch(SLUG_PATTERN, key.removesuffix(SECOND_SLOT)):
        raise ValueError(f"{key!r} is not a valid space slug")
    return name if key == FIRST_SLUG else f"{name}_{key}"


@cache
def read_area(name: str) -> Mapping[str, str]:
    """Read the statements of a Cypher file, by full name and in the order of the file."""
    text = find_folder().joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    _, *parts = _HEAD.split(text)
    statements = {
        f"{name}/{head}": f"{body.strip()}\n" for head, body in zip(parts[::2], parts[1::2], strict=True)
    }
    if len(statements) != len(parts) // 2:
        raise ValueError(f"cypher/{name}.cypher has two statements with the same name")
    return statements


@cache
def build_statement(name: str, space: str = FIRST_SLUG, label: str | None = None) -> LiteralString:
    # Cypher has no parameters for the name of a vector index, or for its property at creation. So statements
    # contain the names of the first space, and kg adds the slug of another space. The driver requires
    # LiteralString, so that type checking rejects queries built at run time. This module has the only casts.
    # With the value of `$label`, a statement has only its branches, because Neo4j plans a statement again
    # whenever statistics change: planning all branches of `embedding/due` takes 0.3 s of CPU, one 0.1 s.
    text = read_area(name.partition("/")[0])[name]
    text = _ITEMS.sub(lambda found: _build_item_branches(text, after=found[1] is not None), text)
    if label is not None:
        text = _BRANCH.sub(lambda found: found[0] if found[1] == label else "", text)
    text = _FITS.sub(lambda found: re.sub(r"\bs\b", found[1], _FITTING), text)
    return cast("LiteralString", _SPACE_NAMES.sub(lambda found: of_space(found[1], space), text))


def _build_item_branches(text: str, *, after: bool) -> str:
    """Build the branches that replace `items()`, which matches the items with `$label` in an ontology."""
    # `items(after)` returns the items after `$after`, sorted by id. A statement may already have a branch for
    # a label.
    branches = ""
    for label, (pattern, key) in _ITEM_KEYS.items():
        if f"WHEN $label = '{label}'" not in text:
            begin, order = ("$after", f" ORDER BY n.ontology, n.{key}") if after else ("''", "")
            branches += f"""  WHEN $label = '{label}' THEN {{
    MATCH {pattern} USING INDEX SEEK n:{label}(ontology, {key})
    WHERE n.ontology = $ontology AND n.{key} > {begin}
    RETURN n{order}
  }}
"""
    return branches


@cache
def combine_reads(*parts: tuple[str, str]) -> LiteralString:
    """Combine read statements into one, which returns all results in one row."""
    # Each statement returns one row with the column `found`. The statements run in order. Parameters get the
    # suffix of their statement: `_0`, `_1`, and so on.
    lines = ["CYPHER 25"]
    for at, (name, space) in enumerate(parts):
        body = _PARAMETER.sub(rf"$\1_{at}", _PREAMBLE.sub("", build_statement(name, space)))
        known = "".join(f"found_{before}, " for before in range(at))
        lines.append(f"CALL () {{\n{body}}}\nWITH {known}found AS found_{at}")
    lines.append(f"RETURN [{', '.join(f'found_{at}' for at in range(len(parts)))}] AS found")
    return cast("LiteralString", "\n".join(lines))
