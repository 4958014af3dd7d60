"""How an ontology's text is cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from kg_api.models.base import Body, Text
from kg_api.models.embedding.context_fields import checked_template
from kg_api.models.vocabulary import ContextMode, Strategy


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a strategy's sizes mean, their defaults and their limits. None: the strategy has no such size."""

    unit: Literal["words", "characters"]
    chunk_size: int
    smallest: int
    largest: int
    overlap: int | None = None
    """In the unit of chunk_size; for paragraph_group in paragraphs."""
    parent_size: int | None = None


SIZES: dict[Strategy, Sizes] = {  # no source is larger than 400 words, so a paragraph is a source by default
    "sentence": Sizes("words", 40, 5, 200),
    "paragraph": Sizes("words", 400, 20, 2000),
    "count": Sizes("words", 250, 10, 5000, overlap=0),
    "semantic": Sizes("words", 200, 20, 2000),
    "paragraph_group": Sizes("words", 500, 50, 5000, overlap=1),
    "hierarchical": Sizes("characters", 512, 100, 10_000, overlap=50, parent_size=4000),
}
SIZE_FIELDS = frozenset({"chunk_size", "overlap", "parent_size"})
MAX_PARENT = 20_000
"""Characters."""


ContextTemplate = Annotated[
    Text, StringConstraints(min_length=1, max_length=300), AfterValidator(checked_template)
]


class Chunking(Body):
    """One way to cut text into chunks. Unset sizes are the strategy's own; a model's limit holds besides."""

    model_config = ConfigDict(frozen=True)

    strategy: Strategy = "paragraph"
    """`sentence`: whole sentences, about 20 to 40 words; `paragraph`: the sources themselves; `count`: a
    fixed number of words; `semantic`: breaks where the meaning moves; `paragraph_group`: paragraphs of one
    section, together; `hierarchical`: small children found, large parents given."""
    chunk_size: Annotated[int, Field(strict=True)] | None = None
    """At most this many words a chunk; characters of a child for `hierarchical`."""
    overlap: Annotated[int, Field(strict=True, ge=0)] | None = None
    """How much of a chunk is repeated in the next: words for `count`, characters for `hierarchical`,
    paragraphs (0 or 1) for `paragraph_group`."""
    parent_size: Annotated[int, Field(strict=True)] | None = None
    """Characters of a parent; `hierarchical` only."""
    context: ContextMode = "none"
    """What stands before a chunk when it is embedded: nothing, a line of title, headings and metadata, or a
    sentence or two by a language model. `late`: nothing, but the model reads it among its neighbours too;
    `late_template`: both. The stored text stays as it was."""
    context_template: ContextTemplate | None = None
    """The line of `template` and `late_template`, of {title}, {heading}, {date} and {author}; a part in [ ]
    is left out where one of its fields is not known. Unset: title, headings, date and author."""

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        strategy = fields.get("strategy", "paragraph")
        sizes = SIZES.get(cast("Strategy", strategy)) if isinstance(strategy, str) else None
        if sizes is None:
            return fields
        usual = {"chunk_size": sizes.chunk_size, "overlap": sizes.overlap, "parent_size": sizes.parent_size}
        return {**fields, **{name: value for name, value in usual.items() if fields.get(name) is None}}

    @model_validator(mode="after")
    def _sensible(self) -> Chunking:
        if self.context_template is not None and not self.has_template:
            raise ValueError(f"context_template is for context template or late_template, not {self.context}")
        sizes, size = SIZES[self.strategy], self.size
        if not sizes.smallest <= size <= sizes.largest:
            raise ValueError(
                f"chunk_size of {self.strategy} is from {sizes.smallest} to {sizes.largest} {sizes.unit}, "
                f"not {size}"
            )
        if sizes.overlap is None and self.overlap:
            raise ValueError(f"{self.strategy} has no overlap; leave it out")
        most = 1 if self.strategy == "paragraph_group" else size // 2
        if (self.overlap or 0) > most:
            raise ValueError(f"overlap of {self.strategy} with chunk_size {size} is at most {most}")
        if sizes.parent_size is None and self.parent_size is not None:
            raise ValueError(f"{self.strategy} has no parents; leave parent_size out")
        if self.parent_size is not None and not 2 * size <= self.parent_size <= MAX_PARENT:
            raise ValueError(
                f"parent_size is from {2 * size}, twice the chunk_size, to {MAX_PARENT} characters"
            )
        return self

    @property
    def size(self) -> int:
        """The chunk size that holds, in the strategy's unit."""
        return SIZES[self.strategy].chunk_size if self.chunk_size is None else self.chunk_size

    @property
    def unit(self) -> str:
        """What chunk_size counts: words or characters."""
        return SIZES[self.strategy].unit

    @property
    def crosses_sources(self) -> bool:
        """Whether a chunk, or what its vector is made from, may cover several sources."""
        return self.is_late or self.strategy not in {"sentence", "paragraph"}

    @property
    def has_template(self) -> bool:
        """Whether a line made by a template stands before a chunk."""
        return self.context in {"template", "late_template"}

    @property
    def is_late(self) -> bool:
        """Whether a chunk is read among its neighbours too when it is embedded."""
        return self.context in {"late", "late_template"}
