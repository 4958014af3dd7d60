"""Cypher statements by area: `documents/hold` is `// name: hold` in `cypher/documents.cypher`."""

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
"""Replacement of `fits(s)` in statements: whether a source satisfies the conditions in `$fits`
(kg_api.graph.filters). Without conditions, every source does."""
_ITEMS = re.compile(r"^ +items\((after)?\)\n", re.MULTILINE)
_ITEM_KEYS: Final = {
    "Concept": ("(n:Concept)", "concept_id"),
    "Image": ("(n:Image)", "source_id"),
    "RELATED_TO": ("()-[n:RELATED_TO]->()", "relation_id"),
    "RelationType": ("(n:RelationType)", "type_id"),
}
"""Patterns and id properties to use for items that have one vector, by label."""
_PARAMETER = re.compile(r"\$(\w+)")
_HEAD = re.compile(r"^// name: ([\w/]+)\n", re.MULTILINE)
_PREAMBLE = re.compile(r"^(?://.*|CYPHER 25)\n", re.MULTILINE)
_INDEXES = (FIRST_INDEX, FIRST_CONCEPT_INDEX, FIRST_IMAGE_INDEX, FIRST_RELATION_INDEX)
_NAMES = "|".join((*_INDEXES, rf"n\.{FIRST_PROPERTY}"))
_OF_A_SPACE = re.compile(rf"\b({_NAMES})\b")


def folder() -> Traversable:
    """Find the folder that has all areas: in the package of a wheel, or in a checkout."""
    packaged = resources.files("kg_api") / "cypher"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "cypher"


def of_space(name: str, key: str) -> str:
    """Build the name of an index or property for a space: the name in the first space, with the key."""
    if not re.fullmatch(SLUG_PATTERN, key.removesuffix(SECOND_SLOT)):
        raise ValueError(f"{key!r} is not a valid space slug")
    return name if key == FIRST_SLUG else f"{name}_{key}"


@cache
def area(name: str) -> Mapping[str, str]:
    """Read the statements in an area by their full names, in the same order as in the file."""
    text = folder().joinpath(f"{name}.cypher").read_text(encoding="utf-8")
    _, *parts = _HEAD.split(text)
    found = {
        f"{name}/{head}": f"{body.strip()}\n" for head, body in zip(parts[::2], parts[1::2], strict=True)
    }
    if len(found) != len(parts) // 2:
        raise ValueError(f"cypher/{name}.cypher has two statements of one name")
    return found


@cache
def statement(name: str, space: str = FIRST_SLUG) -> LiteralString:
    # Cypher has no parameters for the name of a vector index, or for its property at creation. So statements
    # name the index of the first space, and kg adds the slug of another space. This is the only cast to
    # LiteralString. The driver requires that type, so type checking rejects queries that are composed at run
    # time.
    text = area(name.partition("/")[0])[name]
    text = _ITEMS.sub(lambda found: _items(text, after=found[1] is not None), text)
    text = _FITS.sub(lambda found: re.sub(r"\bs\b", found[1], _FITTING), text)
    return cast("LiteralString", _OF_A_SPACE.sub(lambda found: of_space(found[1], space), text))


def _items(text: str, *, after: bool) -> str:
    """Build the branches for `items()` in a statement: the items with `$label` in an ontology."""
    # `items(after)` returns the items after `$after`, sorted by id. A branch in the statement itself has
    # precedence.
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
def together(*parts: tuple[str, str]) -> LiteralString:
    """Combine statements that read into one, to get all results in one row."""
    # Each statement returns one row, `found`. They run one after the other. Parameters get the suffix of
    # their statement: `_0`, `_1`, and so on.
    lines = ["CYPHER 25"]
    for at, (name, space) in enumerate(parts):
        body = _PARAMETER.sub(rf"$\1_{at}", _PREAMBLE.sub("", statement(name, space)))
        known = "".join(f"found_{before}, " for before in range(at))
        lines.append(f"CALL () {{\n{body}}}\nWITH {known}found AS found_{at}")
    lines.append(f"RETURN [{', '.join(f'found_{at}' for at in range(len(parts)))}] AS found")
    return cast("LiteralString", "\n".join(lines))
