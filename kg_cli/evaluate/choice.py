"""A configuration as it is named on the command line: how to search, and how the documents are embedded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from kg_api.errors import InvalidInput
from kg_api.models.embedding.configuration import EmbeddingConfig
from kg_api.models.evaluation import Passage, Titles
from kg_api.models.problems import valid
from kg_api.models.queries.search import SourceSearch
from kg_api.models.vocabulary import Target

_OURS = {"query_text", "query_vector", "space", "ontology", "documents", "limit"}
SEARCH = sorted(set(SourceSearch.model_fields) - _OURS)
"""What can be chosen of a search."""
EMBEDDING = sorted(set(EmbeddingConfig.model_fields) - {"embed_on_ingest"})
"""What can be chosen of the ontology's configuration."""
_OWN = {"titles": get_args(Titles), "passage": get_args(Passage)}
_PER_TARGET: dict[Target, dict[str, Any]] = {"documents": {"per_document": 1}, "spans": {"group_by": "chunk"}}


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen; the rest is as kg has it."""

    search: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of SourceSearch."""
    embedding: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of EmbeddingConfig."""
    titles: Titles = "above"
    passage: Passage = "chunk"

    @property
    def label(self) -> str:
        """The words a person tells it by: the mode, then what differs from the usual."""
        others = {name: value for name, value in self.search.items() if name != "mode"} | dict(self.embedding)
        others |= {
            name: getattr(self, name) for name in _OWN if getattr(self, name) != getattr(Choice(), name)
        }
        words = [f"{name}={_show(value)}" for name, value in others.items()]
        return " ".join([str(self.search.get("mode", "hybrid")), *words])

    @property
    def corpus(self) -> str:
        """Hash of what decides over an ontology's content; empty for the usual."""
        if not self.embedding and self.titles == Choice().titles:
            return ""
        told = json.dumps([sorted(self.embedding.items()), self.titles])
        return hashlib.sha256(told.encode()).hexdigest()[:8]

    def asked(self, target: Target) -> dict[str, Any]:
        """The options of each search."""
        return {**_PER_TARGET[target], **self.search}


def parse_choice(pairs: Iterable[str]) -> Choice:
    """Read `name=value` pairs.

    Raises:
        InvalidInput: saying which name or value is wrong, and which there are.
    """
    given = dict(map(_pair, pairs))
    unknown = sorted(set(given) - {*SEARCH, *EMBEDDING, *_OWN})
    if unknown:
        names = ", ".join([*SEARCH, *EMBEDDING, *_OWN])
        raise InvalidInput(f"there is no option {', '.join(unknown)}; there are: {names}")
    search = {name: value for name, value in given.items() if name in SEARCH}
    embedding = {name: value for name, value in given.items() if name in EMBEDDING}
    own = {name: value for name, value in given.items() if name in _OWN}
    for name, value in own.items():
        if value not in _OWN[name]:
            raise InvalidInput(f"{name} is one of {', '.join(_OWN[name])}, not {value!r}")
    valid(SourceSearch, {"query_text": "?", **search})
    valid(EmbeddingConfig, dict(embedding))
    return Choice(search, embedding, **own)


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
