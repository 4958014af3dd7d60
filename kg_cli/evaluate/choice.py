"""Modes that an evaluation can measure, and its configuration. A new mode is one line in `MODES`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kg_api.errors import InvalidInput
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.problems import validate
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.vocabulary import Target

Options = Mapping[str, Any]

# fields of the search request by the value of `--mode`
MODES: Final[Mapping[str, Options]] = {
    "text": {"mode": "text"},
    "vector": {"mode": "vector"},
    "hybrid": {"mode": "hybrid"},
    "concepts": {"mode": "hybrid", "concepts": True},
    "graph": {"mode": "hybrid", "graph": True},
}
_BY_TARGET: Final[Mapping[Target, Options]] = {
    "documents": {"per_document": 1},
    "spans": {"group_by": "chunk"},
    "passages": {},
}
_NO_OPTIONS = {"query_text", "query_vector", "space", "ontology", "documents", "mode", "cursor", "limit"}
SEARCH = sorted(set(SourceSearch.model_fields) - _NO_OPTIONS)

# Configuration from the command line: search, embedding and extraction

# embedding options of an evaluation
EMBEDDING = sorted(set(EmbeddingConfig.model_fields) - {"embed_on_ingest"})
EXTRACTION = ("extractor", "per_source")  # extraction options of an evaluation


@dataclass(frozen=True, slots=True)
class Choice:
    """Selected options. Omitted options keep kg's defaults."""

    mode: str = "hybrid"
    search: Mapping[str, Any] = field(default_factory=dict[str, Any])
    embedding: Mapping[str, Any] = field(default_factory=dict[str, Any])  # fields of EmbeddingConfig
    extraction: Mapping[str, Any] = field(default_factory=dict[str, Any])  # fields of ExtractionConfig

    @property
    def label(self) -> str:
        """Label for people: the mode and the options that differ from the defaults."""
        others = {**self.search, **self.embedding, **self.extraction}.items()
        options = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in others
        )
        return " ".join([self.mode, *options])

    @property
    def corpus(self) -> str:
        """Hash of the options that affect the content of an ontology, or empty for the defaults."""
        if not self.embedding and not self.extraction:
            return ""
        options = json.dumps([sorted(self.embedding.items()), sorted(self.extraction.items())])
        return hashlib.sha256(options.encode()).hexdigest()[:8]

    @property
    def needs_concepts(self) -> bool:
        options = {**MODES[self.mode], **self.search}
        return bool(options.get("concepts") or options.get("graph"))

    def asked(self, target: Target, limit: int) -> dict[str, Any]:
        return {"limit": limit, **_BY_TARGET[target], **MODES[self.mode], **self.search}


def parse_choice(pairs: Iterable[str]) -> Choice:
    values = dict(map(_pair, pairs))
    mode = str(values.pop("mode", Choice().mode))
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}. Modes: {', '.join(MODES)}")
    names = [*SEARCH, *EMBEDDING, *EXTRACTION]
    if unknown := sorted(set(values) - {*names}):
        there = ", ".join(names)
        raise InvalidInput(f"mode {mode} has no option {', '.join(unknown)}. Options: {there}")
    search, embedding, extraction = (
        {name: value for name, value in values.items() if name in some}
        for some in (SEARCH, EMBEDDING, EXTRACTION)
    )
    validate(SourceSearch, {"query_text": "what", **MODES[mode], **search})
    validate(EmbeddingConfig, dict(embedding))
    validate(ExtractionConfig, dict(extraction))
    return Choice(mode, search, embedding, extraction)


def _pair(text: str) -> tuple[str, Any]:
    """Parse `name=value`. Numbers, true, false and null keep their type, and any other value is text."""
    name, equals, setting = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise InvalidInput(f"{text!r} is not of the form name=value")
    try:
        value = json.loads(setting)
    except ValueError:
        return name, setting
    return name, setting if isinstance(value, (dict, list, str)) else value
