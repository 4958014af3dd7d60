"""The options of a method are the fields of its request: the same names, types and defaults."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, TypeGuard, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

from kg_api.client import AsyncKgClient
from kg_api.client.call import UNSET, Unset
from kg_api.schemas.answers import AnswerRequest, AugmentRequest, HybridSearch
from kg_api.schemas.concepts import ConceptImport, Decision, ExtractionConfig, RelationshipSearch, TypeMerging
from kg_api.schemas.constructive import ConstructiveQuery
from kg_api.schemas.documents import (
    Approval,
    Conversation,
    DocumentChange,
    DocumentText,
    DocumentUpload,
    Review,
)
from kg_api.schemas.embedding import (
    ChosenOntologies,
    EmbeddingConfigChange,
    Regeneration,
    SpaceActivation,
    SpaceBuild,
)
from kg_api.schemas.evaluation import JudgementRequest
from kg_api.schemas.filters import Condition, DocumentDeletion, Facet, FacetRequest
from kg_api.schemas.folders import NewFolder, ScanRequest
from kg_api.schemas.image_search import ImageScope, ImageSearch, RelatedSearch
from kg_api.schemas.operations import KeyRotation, NewKey
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.similarity import GraphRequest, SimilarSearch
from kg_api.schemas.spaces import NewSpace

REQUESTS: dict[str, type[BaseModel]] = {
    "search_sources": SourceSearch,
    "hybrid_search": HybridSearch,
    "augment": AugmentRequest,
    "answer": AnswerRequest,
    "stream_answer": AnswerRequest,
    "similar_sources": SimilarSearch,
    "related_sources": RelatedSearch,
    "search_images": ImageSearch,
    "search_by_image": ImageScope,
    "source_graph": GraphRequest,
    "import_concepts": ConceptImport,
    "ingest_text": DocumentText,
    "ingest_bytes": DocumentUpload,
    "preview_text": DocumentText,
    "preview_bytes": DocumentUpload,
    "ingest_conversation": Conversation,
    "change_document": DocumentChange,
    "approve": Approval,
    "reject": Review,
    "judge": JudgementRequest,
    "facets": FacetRequest,
    "delete_documents": DocumentDeletion,
    "set_embedding_config": EmbeddingConfigChange,
    "set_extraction_config": ExtractionConfig,
    "regenerate_embeddings": Regeneration,
    "add_embedding_space": NewSpace,
    "create_key": NewKey,
    "rotate_key": KeyRotation,
    "build_space": SpaceBuild,
    "activate_space": SpaceActivation,
    "rollback_space": ChosenOntologies,
    "add_folder": NewFolder,
    "scan_folder": ScanRequest,
    "search_relationships": RelationshipSearch,
    "constructive_query": ConstructiveQuery,
    "merge_relationship_types": TypeMerging,
    "undo_type_merge": Decision,
    "undo_concept_merge": Decision,
}
ELSEWHERE: dict[str, set[str]] = {
    "ingest_bytes": {"content", "images"},
    "preview_bytes": {"content", "images"},
    "change_document": {"document_id", "ontology"},
    "similar_sources": {"source_id"},
    "related_sources": {"source_id"},
    "search_by_image": {"file"},
    "import_concepts": {"ontology"},
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
"""Fields that the method sets."""
OTHER_NAMES = {"regenerate_embeddings": {"kind": "type"}}
OR_NONE = {
    *((name, "metadata") for name in ("ingest_text", "ingest_bytes", "preview_text", "preview_bytes")),
    ("ingest_conversation", "metadata"),
    ("change_document", "metadata"),
    ("add_folder", "every_seconds"),
    ("add_folder", "prefix"),
}
"""Arguments with None for the default of a field that cannot be None."""


def options(name: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(getattr(AsyncKgClient, name)).parameters
    elsewhere = {"self", *ELSEWHERE.get(name, ())}
    return {each: parameter for each, parameter in parameters.items() if each not in elsewhere}


def field_name(name: str, option: str) -> str:
    return OTHER_NAMES.get(name, {}).get(option, option)


def test_methods_forwarding_options_are_tested() -> None:
    """`locals()` equals the options if no variable is assigned before. Unknown names are ignored."""
    handing = set[str]()
    for path in Path(inspect.getfile(AsyncKgClient)).parent.glob("*.py"):
        for method in (each for each in ast.walk(ast.parse(path.read_text())) if is_function(each)):
            lines = [each.lineno for each in ast.walk(method) if is_call_of_locals(each)]
            if lines:
                handing.add(method.name)
                first = next(each for each in method.body if not isinstance(each, ast.Expr))
                assert first.lineno <= min(lines) <= (first.end_lineno or 0), method.name
    assert handing == REQUESTS.keys()


def is_function(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def is_call_of_locals(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals"


def test_no_method_takes_options_without_names() -> None:
    for name, method in inspect.getmembers(AsyncKgClient, inspect.isfunction):
        kinds = {each.kind for each in inspect.signature(method).parameters.values()}
        assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}, name


@pytest.mark.parametrize("name", REQUESTS)
def test_method_options_equal_request_fields(name: str) -> None:
    found = {field_name(name, option) for option in options(name)}
    assert found == REQUESTS[name].model_fields.keys() - FIXED.get(name, set())


@pytest.mark.parametrize("name", REQUESTS)
def test_an_option_has_the_type_of_its_field(name: str) -> None:
    taken, wanted = get_type_hints(getattr(AsyncKgClient, name)), get_type_hints(REQUESTS[name])
    for option in options(name):
        field = wanted[field_name(name, option)]
        known = field | None if (name, option) in OR_NONE else field
        assert kinds(taken[option]) - {Unset} == kinds(known), option


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
def test_an_option_has_the_default_of_its_field(name: str) -> None:
    for option, parameter in options(name).items():
        field = REQUESTS[name].model_fields[field_name(name, option)]
        required = field.is_required()
        usual = inspect.Parameter.empty if required else field.get_default(call_default_factory=True)
        changes = name in {"set_embedding_config", "set_extraction_config"}
        wanted = UNSET if changes else None if (name, option) in OR_NONE else usual
        assert parameter.default == wanted, option
