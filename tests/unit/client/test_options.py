from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, TypeGuard, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

from kg_api.client import AsyncKgClient
from kg_api.client.call import UNSET, Unset
from kg_api.schemas.answers import AnswerRequest
from kg_api.schemas.documents import DocumentUpload
from kg_api.schemas.filters import Condition, Facet

REQUESTS: dict[str, type[BaseModel]] = {
    **dict.fromkeys(("answer", "stream_answer"), AnswerRequest),
    **dict.fromkeys(("ingest_bytes", "preview_bytes"), DocumentUpload),
}
"""Models by methods, with those that `find_requests` adds."""
ELSEWHERE: dict[str, set[str]] = {
    "ingest_bytes": {"content"},
    "preview_bytes": {"content"},
    "change_document": {"document_id", "ontology"},
    "similar_sources": {"source_id"},
    "related_sources": {"source_id"},
    "search_by_image": {"file"},
    "set_embedding_config": {"ontology", "dry_run"},
    "set_extraction_config": {"ontology", "dry_run"},
    "regenerate_embeddings": {"idempotency_key"},
    "build_space": {"slug"},
    "activate_space": {"slug"},
    "rollback_space": {"slug"},
    "rotate_key": {"key"},
    "add_folder": {"grant"},
    "scan_folder": {"folder_id"},
    "merge_relationship_types": {"ontology"},
    "undo_type_merge": {"ontology", "merge_id"},
    "judge": {"ontology"},
    "undo_concept_merge": {"ontology", "merge_id"},
}
"""Arguments in the path, query, or header."""
FIXED = {"answer": {"stream"}, "stream_answer": {"stream"}}
OTHER_NAMES = {"regenerate_embeddings": {"kind": "type"}}
OR_NONE = {
    *((name, "metadata") for name in ("ingest_text", "ingest_bytes", "preview_text", "preview_bytes")),
    ("ingest_conversation", "metadata"),
    ("change_document", "metadata"),
    ("add_folder", "every_seconds"),
    ("add_folder", "prefix"),
}
"""Arguments with None for the default of a field that cannot be None."""


def find_requests() -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield each method that passes `locals()` to a model, checked to be its options."""
    for path in Path(inspect.getfile(AsyncKgClient)).parent.glob("*.py"):
        models = vars(import_module(f"kg_api.client.{path.stem}"))
        for method in (each for each in ast.walk(ast.parse(path.read_text())) if is_function(each)):
            for call in (each for each in ast.walk(method) if isinstance(each, ast.Call)):
                if "locals()" in map(ast.unparse, call.args):
                    first = next(each for each in method.body if not isinstance(each, ast.Expr))
                    assert call.lineno <= (first.end_lineno or 0), (
                        f"{method.name}: locals() holds more than options"
                    )
                    model = call.args[0]
                    named = isinstance(model, ast.Name)
                    yield method.name, models[model.id] if named else REQUESTS[method.name]


def is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


REQUESTS.update(find_requests())


def options(name: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(getattr(AsyncKgClient, name)).parameters
    elsewhere = {"self", *ELSEWHERE.get(name, ())}
    return {each: parameter for each, parameter in parameters.items() if each not in elsewhere}


def test_no_method_takes_options_without_names() -> None:
    for name, method in inspect.getmembers(AsyncKgClient, inspect.isfunction):
        kinds = {each.kind for each in inspect.signature(method).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, name


def kinds(hint: Any) -> set[Any]:
    """Return the members of a union as accepted types: sequences for lists, JSON for models.

    A condition or a facet can also be a string.
    """
    if get_origin(hint) in {Union, UnionType}:
        return set().union(*map(kinds, get_args(hint)))
    if get_origin(hint) in {list, Sequence}:
        return {("several", frozenset(kinds(get_args(hint)[0])))}
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return {hint, dict[str, Any], *([str] if hint in {Condition, Facet} else [])}
    return {hint}


@pytest.mark.parametrize("name", REQUESTS)
def test_method_options_equal_request_fields(name: str) -> None:
    model, changes = REQUESTS[name], name in {"set_embedding_config", "set_extraction_config"}
    fields = {OTHER_NAMES.get(name, {}).get(each, each): each for each in options(name)}
    assert fields.keys() == model.model_fields.keys() - FIXED.get(name, set())
    taken, wanted = get_type_hints(getattr(AsyncKgClient, name)), get_type_hints(model)
    for field, option in fields.items():
        or_none = (name, option) in OR_NONE
        assert kinds(taken[option]) - {Unset} == kinds(wanted[field] | None if or_none else wanted[field]), (
            option
        )
        known = model.model_fields[field]
        required = known.is_required()
        usual = inspect.Parameter.empty if required else known.get_default(call_default_factory=True)
        assert options(name)[option].default == (UNSET if changes else None if or_none else usual), option
