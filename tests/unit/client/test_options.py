from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TypeGuard

import pytest
from pydantic import BaseModel

from kg_api.client import AsyncKgClient
from kg_api.schemas.answers import AnswerRequest
from kg_api.schemas.documents import DocumentUpload

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


def options(name: str) -> set[str]:
    parameters = inspect.signature(getattr(AsyncKgClient, name)).parameters
    return parameters.keys() - {"self", *ELSEWHERE.get(name, ())}


def test_no_method_takes_options_without_names() -> None:
    for name, method in inspect.getmembers(AsyncKgClient, inspect.isfunction):
        kinds = {each.kind for each in inspect.signature(method).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, name


@pytest.mark.parametrize("name", REQUESTS)
def test_method_options_equal_request_fields(name: str) -> None:
    fields = {OTHER_NAMES.get(name, {}).get(each, each) for each in options(name)}
    assert fields == REQUESTS[name].model_fields.keys() - FIXED.get(name, set())
