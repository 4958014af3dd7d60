from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.errors import EmbeddingUnavailable, InvalidInput
from kg_api.graph import cache, document_writes
from kg_api.graph.cache import prune_cache, read_contexts, read_vectors, store_contexts, store_vectors
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import SOURCE_EMBEDDING, enqueue_slot, set_paused
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import TextPart, Vectors
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.embedding import EmbeddingConfigChange, SpaceBuild
from kg_api.schemas.spaces import NewSpace, SpaceIdentity
from kg_api.spaces.plans import read_embedding_state
from tests.graph.test_embedding_jobs import CountingEmbedder, PickyEmbedder
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.embedding import configure_in_place, open_spaces, run_jobs, status
from tests.support.kg import Kg
from tests.support.records import record

STRATEGIES: list[dict[str, Any]] = [
    {"strategy": "sentence", "chunk_size": 10},
    {"strategy": "paragraph"},
    {"strategy": "count", "chunk_size": 25, "overlap": 5},
    {"strategy": "paragraph_group", "chunk_size": 100},
    {"strategy": "hierarchical", "chunk_size": 150, "overlap": 20, "parent_size": 500},
]


def paragraph(number: int) -> str:
    return " ".join(f"This is sentence {n} of paragraph {number}, about topic{number}." for n in range(4))


def document(numbers: list[int], name: str = "a.md") -> DocumentRecord:
    return record(name, [paragraph(number) for number in numbers])


def configure(graph: Graph, **config: Any) -> None:
    configure_in_place(graph, "notes", **config)


def chunks(driver: neo4j.Driver) -> list[dict[str, Any]]:
    """Return all chunks that can be found by a search, with the parent and the text from the sources."""
    found = rows(
        driver,
        "MATCH (c:Chunk)-[:CHUNK_OF]->(s:Source) WHERE c.embedding IS NOT NULL "
        "WITH c, s ORDER BY s.paragraph "
        "WITH c, collect(s) AS parts OPTIONAL MATCH (c)-[:CHILD_OF]->(p) "
        "RETURN c.chunk_id AS id, c.offset AS a, c.end_offset AS b, [s IN parts | s.full_text] AS texts, "
        "[s IN parts | s.paragraph] AS paragraphs, collect(p.chunk_id) AS parents, c.embedding AS vector",
    )
    for each in found:
        *before, last = each["texts"]
        each["text"] = "".join([*before, last[: each["b"]]])[each["a"] :]
    return sorted(found, key=lambda each: (each["paragraphs"], each["a"]))


@pytest.mark.parametrize("config", STRATEGIES, ids=lambda config: config["strategy"])
def test_every_strategy_embeds_all_text_of_each_chunk(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any]
) -> None:
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6]))
    embedder = CountingEmbedder()
    run_jobs(graph, embedder, batch_size=2)
    assert (status(graph).embedded, status(graph).total) == (6, 6)
    whole = rows(driver, "MATCH (s:Source) WHERE s.embedding IS NOT NULL RETURN s.full_text AS text")
    found = chunks(driver)
    assert bool(found) == (config["strategy"] != "paragraph")
    assert {each["text"] for each in found} | {each["text"].strip() for each in whole} == set(embedder.texts)
    assert {word for text in embedder.texts for word in text.split()} == {
        word for number in range(1, 7) for word in paragraph(number).split()
    }
    expected = CountingEmbedder().embed_passages([each["text"] for each in found])
    for each, vector in zip(found, expected, strict=True):
        assert each["vector"] == pytest.approx(vector.tolist())


def test_changed_strategy_makes_chunks_stale_and_replaces_them(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, document([1, 2, 3]))
    run_jobs(graph)
    configure(graph, strategy="sentence", chunk_size=10)
    assert (status(graph).stale, status(graph).missing) == (3, 0)
    assert rows(driver, "MATCH (s:Source) RETURN count(s.embedding) AS n")[0]["n"] == 3, "found as they are"
    rows(driver, "MATCH (j:Job) DELETE j")
    enqueue_slot(graph, "backfill", "1")
    run_jobs(graph)
    assert (status(graph).stale, status(graph).embedded) == (0, 3)
    assert rows(driver, "MATCH (s:Source) RETURN count(s.embedding) AS n")[0]["n"] == 0
    configure(graph, strategy="paragraph")
    enqueue_slot(graph, "backfill", "2")
    run_jobs(graph, PickyEmbedder("topic2"))
    assert rows(driver, "MATCH (c:Chunk) RETURN count(c) AS n")[0]["n"] == 0
    assert (status(graph).embedded, status(graph).refused) == (2, 1)


@pytest.mark.parametrize("is_paused", [False, True])
def test_embedding_at_ingestion_can_be_off_or_paused(graph: Graph, *, is_paused: bool) -> None:
    configure(graph, embed_on_ingest=is_paused)
    if is_paused:
        graph.transaction(lambda tx: set_paused(tx, SOURCE_EMBEDDING, "notes", paused=True))
    assert store_document(graph, document([1])).job_id is None
    enqueue_slot(graph, "backfill", "1")
    run_jobs(graph)
    assert status(graph).missing == 1


def test_contexts_are_embedded_and_the_stored_text_stays(graph: Graph, driver: neo4j.Driver) -> None:
    configure(graph, context="template")
    embedder, about = CountingEmbedder(), document([1])
    store_document(graph, replace(about, title="The Title"))
    run_jobs(graph, embedder)
    assert embedder.texts == [f"The Title > Top\n\n{paragraph(1)}"]
    assert rows(driver, "MATCH (s:Source) RETURN s.full_text AS t")[0]["t"].strip() == paragraph(1)
    embedder.texts.clear()
    store_document(graph, replace(about, title="Another", content_hash="other"))
    assert status(graph).stale == 1, "its context has changed, though its text has not"
    run_jobs(graph, embedder)
    assert embedder.texts == [f"Another > Top\n\n{paragraph(1)}"]


def test_cached_vectors_are_reused(graph: Graph) -> None:
    embedder = CountingEmbedder()
    store_document(graph, document([1, 2, 2, 3]))
    run_jobs(graph, embedder, cached=True)
    assert len(embedder.texts) == 3, "equal texts once"
    document_writes.delete_ontology(graph, "notes")
    store_document(graph, document([3, 2, 1], name="other.md"))
    run_jobs(graph, embedder, cached=True)
    assert len(embedder.texts) == 3, "nothing is embedded twice"
    assert status(graph).embedded == 3


def test_caches_are_bounded_and_evict_unused_entries(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "CONTEXTS_KEPT", 3)
    vector, keys = small_embedder().embed_passages(["x"])[0], [f"k{n}" for n in range(10)]
    store_vectors(graph, {f"k{n}": vector for n in range(10)}, [])
    store_vectors(graph, {}, ["k3"])
    store_contexts(graph, dict.fromkeys(keys, "x"))
    assert read_contexts(graph, ["k4"]) == {"k4": "x"}
    assert prune_cache(graph, 4) == 6 + 7
    assert "k3" in read_vectors(graph, keys)
    assert prune_cache(graph, 4) == 0
    assert read_vectors(graph, ["k3"])["k3"].tobytes() == vector.tobytes(), "byte for byte"
    assert "k4" in read_contexts(graph, keys)


EDITS = {
    "added": [1, 2, 3, 9, 4, 5, 6],
    "first gone": [2, 3, 4, 5, 6],
    "middle gone": [1, 2, 5, 6],
    "turned round": [6, 5, 4, 3, 2, 1],
    "one left": [1],
    "all new": [7, 8, 9],
}
WHILE_EMBEDDED = {
    "others around": [1, 3, 4, 5, 6, 7, 9],
    "first": [9, 1, 2, 3, 4],
    "turned round": [4, 3, 2, 1, 9],
}


def pairs(strategies: list[dict[str, Any]], edits: dict[str, list[int]], usual: int) -> list[Any]:
    """Combine the strategies with the edits. By default, only some strategies are used for each edit."""
    return [
        pytest.param(
            config,
            after,
            id=f"{name}-{config['strategy']}",
            marks=[] if (place - row * usual) % len(strategies) < usual else [pytest.mark.full],
        )
        for row, (name, after) in enumerate(edits.items())
        for place, config in enumerate(strategies)
    ]


@pytest.mark.parametrize(("config", "after"), pairs(STRATEGIES, EDITS, 1))
def test_chunks_match_the_text_after_an_edit(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any], after: list[int]
) -> None:
    configure(graph, **config)
    store_document(graph, document(after))
    run_jobs(graph)
    expected = [each["id"] for each in chunks(driver)]
    document_writes.delete_ontology(graph, "notes")
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6]))
    run_jobs(graph)
    before = {each["id"]: each["text"] for each in chunks(driver)}
    assert not expected or [*before] != expected
    store_document(graph, document(after))
    for each in chunks(driver):
        numbers = each["paragraphs"]
        assert each["text"] == before[each["id"]], "the text of its vector"
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "no chunk over a gap, ever"
    run_jobs(graph)
    assert [each["id"] for each in chunks(driver)] == expected
    assert status(graph).embedded == len(after)


def covered(driver: neo4j.Driver) -> None:
    """Assert that there is a vector for each word in an embedded source."""
    found = chunks(driver)
    for row in rows(driver, "MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector"):
        if row["vector"] is None:
            said = " ".join(each["text"] for each in found).split()
            assert set(row["text"].split()) <= set(said), row["text"]


@pytest.mark.parametrize(("config", "after"), pairs(STRATEGIES[2:], WHILE_EMBEDDED, 1))
def test_edit_during_embedding_loses_nothing(
    graph: Graph, driver: neo4j.Driver, config: dict[str, Any], after: list[int]
) -> None:
    configure(graph, **config)
    store_document(graph, document([1, 2, 3, 4, 5, 6, 7, 8]))
    run_jobs(graph)
    store_document(graph, document([1, 2, 3, 4, 5, 6, 7, 9]))
    embedder = CountingEmbedder()
    edits = iter([document(after)])
    embedder.before = lambda: [store_document(graph, each) for each in edits] and None
    run_jobs(graph, embedder)
    covered(driver)
    assert (status(graph).embedded, status(graph).total) == (len(after), len(after))


def test_resumed_job_includes_sources_before_its_cursor(graph: Graph, driver: neo4j.Driver) -> None:
    job_id = store_document(graph, document([1, 2, 3, 4])).job_id
    run_jobs(graph)
    rows(
        driver,
        "MATCH (j:Job {job_id: $id}) SET j.state = 'queued', j.unique_key = 'source_embedding:notes', "
        "j.cursor = 'zzzz:0'",
        id=job_id,
    )
    configure(graph, strategy="sentence", chunk_size=10)
    run_jobs(graph)
    assert status(graph).stale == 0


def test_edit_embeds_only_new_text(graph: Graph) -> None:
    configure(graph, strategy="paragraph_group", chunk_size=100)
    embedder = CountingEmbedder()
    store_document(graph, document(list(range(12))))
    run_jobs(graph, embedder)
    embedder.texts.clear()
    store_document(graph, document([*range(11), 99]))
    run_jobs(graph, embedder)
    assert embedder.texts
    assert all("topic99" in text for text in embedder.texts), "chunks before the edit keep their vectors"


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


@pytest.mark.parametrize("provider", ["openai", "nomic"])
def test_late_chunking_rejects_models_without_token_vectors(graph: Graph, provider: Any) -> None:
    kg = Kg(graph, open_spaces(graph, further=lambda choice: TextsAlone(choice.provider)))
    kg.spaces.add(NewSpace(slug="far", provider=provider))
    with pytest.raises(InvalidInput, match=r"far-away .*bge-small-en-v1\.5.*kg admin spaces create"):
        kg.configure.change("notes", EmbeddingConfigChange(space="far", context="late"), dry_run=True)
    assert kg.configure.change("notes", EmbeddingConfigChange(context="late"), dry_run=False).applied
    with pytest.raises(InvalidInput, match="far-away"):
        kg.switch.build("far", SpaceBuild())
    assert read_embedding_state(graph, "notes").target.space.slug == "default", "nothing was changed"
    kg.spaces.close()


def test_chunks_of_other_spaces_and_documents_stay(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, document([1, 2]))
    store_document(graph, document([3], name="b.md"))
    rows(
        driver,
        "MATCH (s:Source) SET s.unembedded = null, s.mark = 'm' WITH s UNWIND ['default', 'other'] AS space "
        "CREATE (:Chunk {chunk_id: space + s.source_id, space: space, document_id: s.document_id})"
        "-[:CHUNK_OF]->(s)",
    )
    found = rows(
        driver,
        "MATCH (s:Source) RETURN s.source_id AS id, s.document_id AS of ORDER BY s.document, s.paragraph",
    )
    first, second, _ = (row["id"] for row in found)
    children = [space + row["id"] for row in found for space in ("default", "other")]
    about = {"document_id": found[0]["of"], "offset": 0, "end_offset": 9}
    parent = {"chunk_id": "parent", **about, "source_ids": [first, second], "child_ids": children}
    run = {"space": "default", "ontology": "notes"}
    graph.transaction(lambda tx: tx.run("chunks/write_parents", rows=[parent], **run))
    linked = rows(driver, "MATCH (c)-[:CHILD_OF]->({chunk_id: 'parent'}) RETURN c.chunk_id AS id")
    assert {row["id"] for row in linked} == {f"default{first}", f"default{second}"}
    (stored,) = rows(driver, "MATCH (p:Chunk {chunk_id: 'parent'})-[:CHUNK_OF]->(s) RETURN p, count(s) AS n")
    covered = {"sources": 2, "source_ids": [first, second]}
    assert stored == {"p": {"chunk_id": "parent", **about, **run, **covered}, "n": 2}
    given = {"source_ids": [first], "keep": [], "space": "default", "mark_property": "mark"}
    graph.transaction(lambda tx: tx.run("chunks/delete_others", **given))
    left = {row["id"] for row in rows(driver, "MATCH (c:Chunk) RETURN c.chunk_id AS id")}
    assert left == {*children} - {f"default{first}"}
    marks = rows(
        driver,
        "MATCH (s:Source) RETURN s.mark AS mark, s.unembedded AS flag ORDER BY s.document, s.paragraph",
    )
    assert [(row["mark"], row["flag"]) for row in marks] == [("m", None), (None, True), ("m", None)]
