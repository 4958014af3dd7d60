from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.errors import EmbeddingUnavailable, InvalidInput
from kg_api.graph import document_writes
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import TextPart, Vectors
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.embedding import EmbeddingConfig, SpaceBuild
from kg_api.schemas.spaces import NewSpace, SpaceIdentity
from kg_api.spaces.plans import read_embedding_state
from tests.graph.test_chunks import EDITS, STRATEGIES, chunks, configure, document, pairs, paragraph
from tests.support.cypher import rows
from tests.support.embedding import open_spaces, run_jobs, status
from tests.support.kg import TEXTS, Kg, first, matched
from tests.support.records import text_record

LATE = [{**config, "context": "late"} for config in STRATEGIES]


class PartsEmbedder(DeterministicEmbedder):
    """Embedder that records its parts. In these tests, there is room for four paragraphs in a window."""

    def __init__(self, max_tokens: int = 150) -> None:
        super().__init__(max_tokens=max_tokens)
        self.parts: list[TextPart] = []

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        self.parts.extend(parts)
        return super().embed_parts(parts)


class TextsAlone:
    """Model that returns one vector for a text. Like all remote providers, it has no token vectors."""

    def __init__(self, provider: str = "openai") -> None:
        self._embedder = DeterministicEmbedder(64)
        self.identity: SpaceIdentity = replace(self._embedder.identity, provider=provider, model="far-away")
        self.embed_passages = self._embedder.embed_passages
        self.embed_query = self._embedder.embed_query
        self.spans = self._embedder.spans
        self.count_tokens = self._embedder.count_tokens
        self.close = self._embedder.close


def vectors(driver: neo4j.Driver) -> dict[str, bytes]:
    assert rows(driver, "MATCH (s:Source) RETURN count(s.embedding) AS n")[0]["n"] == 0
    return {each["id"]: bytes(str(each["vector"]), "ascii") for each in chunks(driver)}


def built_anew(graph: Graph, driver: neo4j.Driver, record: DocumentRecord, **config: Any) -> dict[str, bytes]:
    document_writes.delete_ontology(graph, record.ontology)
    configure(graph, **config)
    store_document(graph, record)
    run_jobs(graph, PartsEmbedder())
    return vectors(driver)


@pytest.mark.parametrize("config", LATE, ids=lambda config: config["strategy"])
def test_every_chunk_is_embedded_in_its_document_window(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any]
) -> None:
    embedder = PartsEmbedder()
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6, 7, 8]))
    run_jobs(graph, embedder, batch_size=3)
    assert (status(graph).embedded, status(graph).total) == (8, 8)
    assert len(vectors(driver)) == len(embedder.parts), "each once"
    assert {each["text"] for each in chunks(driver)} == {part.separate_text for part in embedder.parts}
    whole = "".join(f"{paragraph(n)}\n\n" for n in range(1, 9))
    windows = {part.text for part in embedder.parts}
    assert all(window in whole for window in windows)
    assert 1 < len(windows) < len(embedder.parts) or config["strategy"] == "paragraph_group"


@pytest.mark.parametrize(("config", "after"), pairs(LATE, EDITS, 1))
def test_late_vectors_match_the_text_after_an_edit(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any], after: list[int]
) -> None:
    expected = built_anew(graph, driver, document(after), **config)
    assert built_anew(graph, driver, document([1, 2, 3, 4, 5, 6]), **config) != expected
    store_document(graph, document(after))
    run_jobs(graph, PartsEmbedder())
    assert vectors(driver) == expected, "to the bit"
    assert status(graph).embedded == len(after)


def test_changed_neighbour_makes_only_its_window_stale(graph: Graph, driver: neo4j.Driver) -> None:
    embedder = PartsEmbedder()
    configure(graph, context="late")
    store_document(graph, document(list(range(40))))
    run_jobs(graph, embedder)
    assert len(embedder.parts) == 40
    before = vectors(driver)
    embedder.parts.clear()
    store_document(graph, document([*range(20), 99, *range(21, 40)]))
    assert len(vectors(driver)) == 39, "its neighbours answer as they were until they are made anew"
    run_jobs(graph, embedder)
    said = {part.separate_text for part in embedder.parts}
    assert paragraph(99) in said
    assert {paragraph(19), paragraph(21)} & said, "a neighbour whose text is the same is embedded again"
    assert 2 <= len(said) <= 16, "those of a few windows, of forty"
    now = vectors(driver)
    assert len(now) == 40
    assert len(now.keys() & before.keys()) == 40 - len(said), "all others kept theirs"


def test_other_blanks_between_paragraphs_are_another_text(graph: Graph, driver: neo4j.Driver) -> None:
    def spaced(blanks: str) -> DocumentRecord:
        return text_record("a.md", [f"{paragraph(n)}{blanks}" for n in range(4)])

    expected = built_anew(graph, driver, spaced("\n\n\n"), context="late")
    built_anew(graph, driver, spaced("\n\n"), context="late")
    store_document(graph, spaced("\n\n\n"))
    run_jobs(graph, PartsEmbedder())
    assert vectors(driver) == expected


def test_new_title_in_template_makes_all_chunks_stale(graph: Graph, driver: neo4j.Driver) -> None:
    embedder, about = PartsEmbedder(), replace(document([1, 2, 3]), title="The Title")
    configure(graph, context="late_template")
    store_document(graph, about)
    run_jobs(graph, embedder)
    assert {part.separate_text for part in embedder.parts} == {
        f"The Title > Top\n\n{paragraph(n)}" for n in (1, 2, 3)
    }
    assert all("The Title" not in part.text for part in embedder.parts), "the window is the text as it stands"
    before = vectors(driver)
    embedder.parts.clear()
    store_document(graph, replace(about, title="Another", content_hash="other"))
    assert status(graph).stale == 3
    run_jobs(graph, embedder)
    assert len(embedder.parts) == 3
    assert not vectors(driver).keys() & before.keys()


class StoppingEmbedder(PartsEmbedder):
    def __init__(self, calls: int) -> None:
        super().__init__()
        self._calls = calls

    def embed_parts(self, parts: Sequence[TextPart]) -> Vectors:
        self._calls -= 1
        if self._calls < 0:
            raise EmbeddingUnavailable("it is away")
        return super().embed_parts(parts)


@pytest.mark.parametrize(("batch_size", "cached"), [(1, False), (7, False), (7, True)])
def test_batched_and_resumed_embedding_has_the_same_bytes(
    graph: Graph, driver: neo4j.Driver, batch_size: int, *, cached: bool
) -> None:
    whole = document(list(range(20)))
    expected = built_anew(graph, driver, whole, context="late")
    document_writes.delete_ontology(graph, "notes")
    configure(graph, context="late")
    store_document(graph, whole)
    run_jobs(graph, StoppingEmbedder(calls=2), batch_size=batch_size, cached=cached)
    assert 0 < status(graph).missing < 20, "it was stopped on its way"
    rows(driver, "MATCH (j:Job) SET j.run_after = datetime(), j.queued_at = datetime()")
    run_jobs(graph, PartsEmbedder(), batch_size=batch_size, cached=cached)
    assert vectors(driver) == expected


def test_the_cache_knows_windows(graph: Graph, driver: neo4j.Driver) -> None:
    """If a text is used with two different neighbours, it has three vectors. Each of them should be
    computed only once."""
    embedder = PartsEmbedder()
    for numbers, made in (([1, 2], 2), ([1, 3], 2), ([1, 2], 0)):
        document_writes.delete_ontology(graph, "notes")
        configure(graph, context="late")
        store_document(graph, document(numbers))
        embedder.parts.clear()
        run_jobs(graph, embedder, cached=True)
        assert len(embedder.parts) == made
    late = {each["text"]: each["vector"] for each in chunks(driver)}
    document_writes.delete_ontology(graph, "notes")
    configure(graph)
    store_document(graph, document([1, 2]))
    run_jobs(graph, embedder, cached=True)
    alone = rows(driver, "MATCH (s:Source {paragraph: 0}) RETURN s.embedding AS v")[0]["v"]
    assert alone != late[paragraph(1)]


def test_change_to_late_chunking_activates_when_complete(kg: Kg) -> None:
    told = kg.configure.set("notes", EmbeddingConfig(context="late"), dry_run=False)
    assert (told.config.context, told.stale, told.embedded) == ("late", 12, 0)
    assert told.answering is not None
    assert told.answering.context == "none"
    assert matched(kg.search()) == TEXTS[7], "the old vectors answer"
    kg.work()
    now = kg.configure.show("notes")
    assert (now.embedded, now.stale, now.answering) == (12, 0, None)
    hits = kg.search()
    assert first(hits) == matched(hits) == TEXTS[7]
    assert [each.paragraph for each in hits.sources[:1]] == [7]
    kg.configure.set("notes", EmbeddingConfig(), dry_run=False)
    kg.work()
    assert kg.configure.show("notes").embedded == 12


def test_a_preview_counts_windows_and_chunks(kg: Kg) -> None:
    plain = kg.configure.set("notes", EmbeddingConfig(strategy="sentence"), dry_run=True).regeneration
    late = kg.configure.set("notes", EmbeddingConfig(strategy="sentence", context="late"), dry_run=True)
    cost = late.regeneration
    assert (cost.chunks, cost.sources) == (plain.chunks, plain.sources)
    assert cost.tokens == 2 * plain.tokens, "each chunk by itself, and all in windows"
    assert any("twice" in note for note in cost.notes)
    assert not late.applied


@pytest.mark.parametrize("provider", ["openai", "nomic"])
def test_late_chunking_rejects_models_without_token_vectors(graph: Graph, provider: Any) -> None:
    kg = Kg(graph, open_spaces(graph, further=lambda choice: TextsAlone(choice.provider)))
    kg.spaces.add(NewSpace(slug="far", provider=provider))
    with pytest.raises(InvalidInput, match=r"far-away .*bge-small-en-v1\.5.*kg admin spaces create"):
        kg.configure.set("notes", EmbeddingConfig(space="far", context="late"), dry_run=True)
    assert kg.configure.set("notes", EmbeddingConfig(context="late"), dry_run=False).applied
    with pytest.raises(InvalidInput, match="far-away"):
        kg.switch.build("far", SpaceBuild())
    assert read_embedding_state(graph, "notes").target.space.slug == "default", "nothing was changed"
    kg.spaces.close()
