"""What fields of several requests are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kg_api.models.base import Called, OntologyName
from kg_api.models.vocabulary import (
    MAX_CURSOR_CHARACTERS,
    MAX_HYPOTHETICAL,
    MAX_LIMIT,
    MAX_NAMES,
    MAX_TOKEN_BUDGET,
    MAX_WINDOW,
    SourceKind,
)

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Similarity = Annotated[Number, Field(ge=-1, le=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
Limit = Annotated[int, Field(strict=True, ge=1, le=MAX_LIMIT)]
Window = Annotated[int, Field(strict=True, ge=0, le=MAX_WINDOW)]
HitsCursor = Annotated[str, Field(min_length=1, max_length=MAX_CURSOR_CHARACTERS)]
TokenBudget = Annotated[int, Field(strict=True, ge=1, le=MAX_TOKEN_BUDGET)]
Hypothetical = Annotated[int, Field(strict=True, ge=0, le=MAX_HYPOTHETICAL)] | Literal["auto"]
Ontologies = OntologyName | Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_NAMES)]
Kinds = Annotated[list[SourceKind], Field(min_length=1, max_length=2)]
DocumentNames = Annotated[list[Called], Field(min_length=1, max_length=MAX_NAMES)]
"""Each called by its name, by `ONTOLOGY/NAME`, its id, or at least eight digits of that."""
