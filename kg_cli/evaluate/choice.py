"""A configuration as it is named on the command line: how to search, how documents are embedded and read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from kg_api.errors import InvalidInput
from kg_api.models.concepts.extraction_config import ExtractionConfig
from kg_api.models.embedding.configuration import EmbeddingConfig
from kg_api.models.evaluation import Passage, Titles
from kg_api.models.problems import valid
from kg_api.models.vocabulary import Target
from kg_cli.evaluate.modes import MODES, EvalMode

EMBEDDING = sorted(set(EmbeddingConfig.model_fields) - {"embed_on_ingest"})
"""What can be chosen of the ontology's configuration."""
EXTRACTION = ("extractor", "per_source")
"""What can be chosen of how its concepts are extracted."""
_OWN = {"titles": get_args(Titles), "passage": get_args(Passage)}


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; the rest is as kg has it."""

    mode: str = "hybrid"
    """One of `MODES`."""
    search: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the mode's request."""
    embedding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of EmbeddingConfig."""
    extraction: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of ExtractionConfig."""
    titles: Titles = "above"
    passage: Passage = "chunk"

    @property
    def label(self) -> str:
        """The words a person tells it by: the mode, then what differs from the usual."""
        others = {**self.search, **self.embedding, **self.extraction}
        others |= {
            name: getattr(self, name) for name in _OWN if getattr(self, name) != getattr(Choice(), name)
        }
        words = [f"{name}={_show(value)}" for name, value in others.items()]
        return " ".join([self.mode, *words])

    @property
    def corpus(self) -> str:
        """Hash of what decides over an ontology's content; empty for the usual."""
        if not self.embedding and not self.extraction and self.titles == Choice().titles:
            return ""
        extraction = [sorted(self.extraction.items())] if self.extraction else []
        told = json.dumps([sorted(self.embedding.items()), self.titles, *extraction])
        return hashlib.sha256(told.encode()).hexdigest()[:8]

    @property
    def needs_concepts(self) -> bool:
        """Whether it measures nothing where there are no concepts."""
        return self.asks.concepts or bool(self.search.get("concepts"))

    @property
    def asks(self) -> EvalMode:
        """How it asks."""
        return MODES[self.mode]

    def asked(self, target: Target, limit: int) -> dict[str, Any]:
        """The options of each request."""
        return {**self.asks.endpoint.sized(target, limit), **self.asks.fixed, **self.search}


def parse_choice(pairs: Iterable[str]) -> Choice:
    """Read `name=value` pairs.

    Raises:
        InvalidInput: saying which name or value is wrong, and which there are.
    """
    given = dict(map(_pair, pairs))
    mode = str(given.pop("mode", Choice().mode))
    if mode not in MODES:
        raise InvalidInput(f"mode: there is no {mode!r}; there are: {', '.join(MODES)}")
    endpoint = MODES[mode].endpoint
    names = [*endpoint.options, *EMBEDDING, *EXTRACTION, *_OWN]
    if unknown := sorted(set(given) - {*names}):
        there = ", ".join(names)
        raise InvalidInput(f"there is no option {', '.join(unknown)} of mode {mode}; there are: {there}")
    search, embedding, extraction, own = (
        {name: value for name, value in given.items() if name in some}
        for some in (endpoint.options, EMBEDDING, EXTRACTION, _OWN)
    )
    for name, value in own.items():
        if value not in _OWN[name]:
            raise InvalidInput(f"{name} is one of {', '.join(_OWN[name])}, not {value!r}")
    valid(endpoint.request, {endpoint.question: "what", **MODES[mode].fixed, **search})
    valid(EmbeddingConfig, dict(embedding))
    valid(ExtractionConfig, dict(extraction))
    return Choice(mode, search, embedding, extraction, **own)


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInput(f"{text!r} is not of the form name=value")
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    """A number, true, false or null as such; everything else is text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, (dict, list, str)) else value


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
