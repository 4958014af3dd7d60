"""The words of a question, and what full text is asked for them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.graph.fulltext.queries import MAX_TERMS, fuzzy_queries, lucene_queries
from kg_api.graph.fulltext.spelling import fuzzy_clauses, may_be_misspelt
from kg_api.graph.fulltext.stems import stems_of_question
from kg_api.graph.fulltext.stopwords import ENGLISH
from kg_api.graph.fulltext.variants import Variant
from kg_api.models.queries.search import Respelling


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a question, and how they are looked for."""

    words: Sequence[str] = ()
    light: frozenset[str] = frozenset()
    """Those that say little, in lower case."""
    ontologies: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    synonyms: Sequence[str] = ()
    """What searches of an ontology take for some of them, added at half weight."""
    languages: frozenset[str | None] = frozenset({None})
    """Of the ontologies that are searched; None: some have none."""
    variants: Sequence[Variant] = ()
    """Other ways to write its numbers and letters."""
    name: str | None = None
    """The token of the documents whose alias it is."""
    respelt: tuple[Respelling, ...] = ()
    """What takes the place of words that no text has."""

    @property
    def watched(self) -> list[str]:
        """Words, in lower case, that may be misspelt where no text has them."""
        lower = (word.lower() for word in self.words)
        return [word for word in lower if self._may_be_misspelt(word)]

    @property
    def room(self) -> int:
        """How many words may be added to it."""
        return max(0, MAX_TERMS - len(self.words))

    @property
    def queries(self) -> list[str]:
        """In Lucene syntax; what may be meant by a word counts half, for it may not be."""
        respelt = [word for each in self.respelt for word in each.meant]
        meant = [*respelt, *self.synonyms][: self.room]  # what was asked itself gives way to nothing
        light = self.light | {word.lower() for word in meant}
        words = [*self.words[:MAX_TERMS], *meant]
        stems = stems_of_question(words, self.languages)
        return lucene_queries(
            words,
            self.ontologies,
            self.document_ids,
            light=light,
            stems=stems,
            variants=self.variants,
            name=self.name,
        )

    def queries_for(self, word: str) -> list[str]:
        stems = stems_of_question([word], self.languages)
        return lucene_queries([word], self.ontologies, self.document_ids, stems=stems)

    def queries_near(self, word: str) -> list[str]:
        return fuzzy_queries(fuzzy_clauses(word), self.ontologies, self.document_ids)

    def _may_be_misspelt(self, word: str) -> bool:
        return may_be_misspelt(word) and word not in self.light and word not in ENGLISH
