import json
from pathlib import Path
from typing import Any, TypeVar

import neo4j
import pytest

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.errors import DatabaseUnavailable
from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.graph import bundle
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concept_writes import read_extraction
from kg_api.graph.document_writes import store_document
from kg_api.graph.fulltext import read_language, read_synonyms
from kg_api.graph.library import change_by_name
from kg_api.graph.names import list_ontology_names
from kg_api.schemas.base import build_concept_id
from kg_api.schemas.bundles import (
    BundledDocument,
    BundledOntology,
    BundledPassages,
    ImportedLines,
    ImportOpened,
    OntologyToImport,
)
from kg_api.schemas.concepts import ExtractedRelation, ExtractionConfig
from kg_api.schemas.documents import DocumentChange
from kg_api.schemas.embedding import EmbeddingConfigChange
from kg_api.settings import Settings
from kg_api.spaces.configuration import ExtractionService
from kg_api.spaces.plans import read_embedding_state
from kg_api.transfer import exporting
from kg_api.transfer.bundles import read_lines
from kg_api.transfer.importing import TransferService
from tests.conftest import wipe
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.embedding import status
from tests.support.kg import TEXTS, Kg
from tests.support.records import record
from tests.support.two_concepts import always


class Mover:
    def __init__(self, kg: Kg, folder: Path) -> None:
        self.files = StoredFiles(kg.graph, FileBlobStore(folder))
        extractors = Extractors(kg.graph, Settings())
        requests = ExtractionRequests(kg.graph, extractors)
        self.service = TransferService(
            kg.graph,
            self.files,
            kg.configure,
            ExtractionService(kg.graph, extractors, requests),
            requests.request,
            spaces=kg.spaces,
        )

    def pages(self, ontology: str = "notes") -> list[bytes]:
        found, after = list[bytes](), ""
        while page := self.service.exports.export_documents(ontology, after):
            documents = [each for each in read_lines(page) if isinstance(each, BundledDocument)]
            found.append(page)
            after = documents[-1].document
        return found

    def configuration(self, ontology: str = "notes") -> BundledOntology:
        return self.service.exports.offer([ontology]).ontologies[0]

    def open(self, configuration: BundledOntology, *, replace: bool = False) -> ImportOpened:
        offer = self.service.exports.offer(None)
        given = OntologyToImport(
            format=offer.format,
            schema_version=offer.schema_version,
            configuration=configuration,
            replace=replace,
        )
        return self.service.open_import(given)

    def take(self, page: bytes, ontology: str = "notes") -> ImportedLines:
        return self.service.imports.take(ontology, read_lines(page))


def scores(kg: Kg, mode: Any) -> list[tuple[str, float]]:
    answer = kg.find("passage about topic7", mode=mode, limit=8)
    assert answer.sources
    return [(each.source_id, each.score) for each in answer.sources]


def said_of_sources(driver: neo4j.Driver) -> list[list[dict[str, Any]]]:
    asked = (
        """MATCH (c:Concept)-[a:APPEARS_IN]->(s)
        RETURN c {.concept_id, .label, .description, .search_terms}, properties(a) AS said,
        s.source_id AS source ORDER BY source, c.label""",
        """MATCH (c:Concept)-->(i:Instance)-->(s:Source)
        RETURN properties(i) AS quote, s.source_id AS source, c.label AS label ORDER BY source, label""",
        """MATCH (a)-[r:RELATED_TO]->(b)
        RETURN a.label AS subject, b.label AS object, r {.relation_id, .type, .confidence, .statement,
        .quote, .start, .end, .extracted_with, .source_id} AS said ORDER BY subject""",
        "MATCH (s:Source) RETURN s.source_id AS source, s.extracted_with AS read ORDER BY source",
    )
    return [rows(driver, each) for each in asked]


def moved(graph: Graph, driver: neo4j.Driver, folder: Path) -> Kg:
    """Import an ontology into an empty database. After this, no source is embedded again."""
    kg = Kg(graph)
    pages, configuration = Mover(kg, folder).pages(), Mover(kg, folder).configuration()
    kg.spaces.close()
    wipe(driver)
    fresh = Kg(graph)
    mover = Mover(fresh, folder / "fresh")
    assert mover.open(configuration).takes_vectors
    for page in pages:
        assert not mover.take(page).problems
    return fresh


@pytest.mark.parametrize(
    "config",
    [
        EmbeddingConfigChange(strategy="count", chunk_size=20, overlap=5),
        EmbeddingConfigChange(strategy="paragraph_group", chunk_size=60),
        EmbeddingConfigChange(strategy="hierarchical"),
        EmbeddingConfigChange(strategy="sentence", context="template"),
    ],
    ids=["count", "paragraph_group", "hierarchical", "template"],
)
def test_chunks_are_as_they_were(
    graph: Graph, driver: neo4j.Driver, tmp_path: Path, config: EmbeddingConfigChange
) -> None:
    kg = Kg(graph)
    kg.configure.change("notes", config, dry_run=False)
    store_document(graph, record("a.md", [text * 4 for text in TEXTS]))
    kg.work()
    chunks = (
        "MATCH (c:Chunk) RETURN c.chunk_id AS id, c.source_ids AS sources, c.offset AS first, "
        "c.end_offset AS last, c.embedding AS vector, [(k:Chunk)-[:CHILD_OF]->(c) | k.chunk_id] AS children, "
        "COUNT { (c)-[:CHUNK_OF]->() } AS covers ORDER BY id"
    )
    before, hits = rows(driver, chunks), scores(kg, "vector")
    kg.spaces.close()
    fresh = moved(graph, driver, tmp_path)
    after = rows(driver, chunks)
    assert [{**row, "children": sorted(row["children"])} for row in after] == [
        {**row, "children": sorted(row["children"])} for row in before
    ]
    assert scores(fresh, "vector") == hits
    assert fresh.requests is not None
    assert status(graph, "notes").embedded == len(TEXTS)
    fresh.spaces.close()


def test_concepts_quotes_and_relationships_are_as_they_were(
    graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    kg = Kg(graph)
    text = "Ada Lovelace wrote to Charles Babbage about the engine."
    given = record("a.md", [text, *TEXTS])
    store_document(graph, given)
    said = ExtractedRelation("Ada Lovelace", "wrote to", "Charles Babbage", 0.7, quote(text, text))
    ada = found("Ada Lovelace", quote(text, "Ada Lovelace"), description="A mathematician.")
    babbage = found("Charles Babbage", quote(text, "Charles Babbage"), search_terms=("the inventor",))
    write(graph, extraction(given, 0, ada, babbage, relations=(said,)))
    write(graph, extraction(given, 1, found("topic", unverified=("never said",))))
    kg.work()
    before = said_of_sources(driver)
    assert [len(each) for each in before] == [3, 2, 1, 13]
    kg.spaces.close()
    fresh = moved(graph, driver, tmp_path)
    assert said_of_sources(driver) == before
    fresh.spaces.close()


def test_manual_changes_survive_another_import(graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg = Kg(graph)
    store_document(graph, record("a.md", TEXTS, uri="file:///a.md"))
    change_by_name(graph, "a.md", DocumentChange(title="Another title", metadata={"by": "Ada"}))
    kg.spaces.close()
    fresh = moved(graph, driver, tmp_path)
    asked = "MATCH (d:Document) RETURN d.title AS title, d.uri AS uri, d.metadata AS metadata"
    kept = [{"title": "Another title", "uri": "file:///a.md", "metadata": '{"by": "Ada"}'}]
    assert rows(driver, asked) == kept
    store_document(graph, record("a.md", [*TEXTS, "more"], uri="file:///a.md"))
    assert rows(driver, asked) == kept
    fresh.spaces.close()


def test_vectors_of_another_model_are_recomputed(kg: Kg, tmp_path: Path) -> None:
    mover = Mover(kg, tmp_path)
    (page,), configuration = mover.pages(), mover.configuration()
    other = configuration.model_copy(
        update={
            "ontology": "others",
            "space_fingerprint": "0" * 16,
            "mark": "0" * 16,
            "model": "someone's model",
        }
    )
    opened = mover.open(other)
    assert (opened.created, opened.takes_vectors) == (True, False)
    assert "someone's model" in opened.notes[0]
    page = page.replace(configuration.mark.encode(), other.mark.encode())
    done = mover.take(page, "others")
    assert (done.stored, done.vectors, done.anew) == (1, 0, len(TEXTS))
    assert status(kg.graph, "others").embedded == 0
    kg.work()
    assert status(kg.graph, "others").embedded == len(TEXTS)


def test_import_creates_the_space_of_a_bundle(kg: Kg, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg.add("other")
    kg.configure.change("notes", EmbeddingConfigChange(space="other"), dry_run=False)
    kg.work()
    mover = Mover(kg, tmp_path)
    (page,), configuration = mover.pages(), mover.configuration()
    kg.spaces.close()
    wipe(driver)
    fresh = Mover(Kg(kg.graph), tmp_path / "fresh")
    other = configuration.model_copy(update={"ontology": "others", "space_fingerprint": "0" * 16})
    failed = fresh.open(other)
    assert "could not be created: this kg opens deterministic" in failed.notes[0]
    assert "kg admin spaces create other --provider deterministic" in failed.notes[1]
    assert not failed.takes_vectors
    opened = fresh.open(configuration)
    assert opened.takes_vectors
    assert opened.notes == [f"created the embedding space 'other' for {configuration.model}"]
    assert fresh.take(page).vectors == len(TEXTS)
    assert status(kg.graph, "notes").embedded == len(TEXTS)


def test_document_larger_than_a_page_is_complete(graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> None:
    kg = Kg(graph)
    store_document(graph, record("a.md", [f"Number {at} about topic{at}." for at in range(1203)]))
    store_document(graph, record("b.md", TEXTS))
    kg.work()
    assert len(Mover(kg, tmp_path).pages()) == 2
    vectors = "MATCH (s:Source) RETURN s.source_id AS source, s.embedding AS vector ORDER BY source"
    before = rows(driver, vectors)
    kg.spaces.close()
    fresh = moved(graph, driver, tmp_path)
    assert status(graph, "notes").embedded == 1203 + len(TEXTS)
    assert rows(driver, vectors) == before
    fresh.spaces.close()


LineT = TypeVar("LineT", BundledDocument, BundledPassages)


@pytest.fixture
def bare(graph: Graph) -> Kg:
    return Kg(graph)


@pytest.mark.parametrize(
    "statement", ["ontologies/set_language", "ontologies/set_synonyms", "extraction/configure"]
)
def test_ontology_is_imported_with_complete_configuration(
    graph: Graph, bare: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    bare.configure.change("notes", EmbeddingConfigChange(strategy="count", chunk_size=30), dry_run=False)
    mover = Mover(bare, tmp_path)
    wanted = mover.configuration().model_copy(
        update={
            "ontology": "moved",
            "language": "de",
            "synonyms": [["lease", "contract"]],
            "extraction": ExtractionConfig(per_source=3),
        }
    )
    run = Transaction.run

    def breaking(tx: Transaction, name: Any, space: str = "default", /, **parameters: Any) -> Any:
        if name == statement:
            raise DatabaseUnavailable
        return run(tx, name, space, **parameters)

    monkeypatch.setattr(Transaction, "run", breaking)
    with pytest.raises(DatabaseUnavailable):
        mover.open(wanted)
    monkeypatch.undo()
    assert "moved" not in list_ontology_names(graph)
    assert mover.open(wanted).created
    assert read_embedding_state(graph, "moved").target.config.strategy == "count"
    language = read_language(graph, "moved")
    assert (language.language, language.complete) == ("de", True)
    assert read_synonyms(graph, "moved") == [["lease", "contract"]]
    assert read_extraction(graph, "moved").config.per_source == 3


def parsed(page: bytes, kind: type[LineT]) -> list[LineT]:
    return [line for line in read_lines(page) if isinstance(line, kind)]


def test_configuration_change_during_a_page_is_detected(
    bare: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_document(bare.graph, record("a.md", TEXTS))
    bare.work()
    before = kg_marks(bare)
    asked, switched = exporting.read_part, list[bool]()

    def switching(*arguments: Any, **more: Any) -> Any:
        if not switched:
            switched.append(True)
            bare.configure.change(
                "notes", EmbeddingConfigChange(strategy="count", chunk_size=20), dry_run=False
            )
            bare.work()
        return asked(*arguments, **more)

    monkeypatch.setattr(exporting, "read_part", switching)
    (page,) = Mover(bare, tmp_path).pages()
    (line,) = parsed(page, BundledPassages)
    assert line.mark == kg_marks(bare) != before
    assert [each.paragraph for each in line.passages if each.embedded] == [*range(len(TEXTS))]


def kg_marks(bare: Kg) -> str:
    return read_embedding_state(bare.graph, "notes").answering.mark.value


def test_merge_during_an_export_repeats_the_page(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kg = Kg(graph)
    text = "Ada Lovelace and Ada King wrote."
    given = record("a.md", [text])
    store_document(graph, given)
    labels = ("Ada Lovelace", "Ada King")
    write(graph, extraction(given, 0, *(found(each, quote(text, each)) for each in labels)))
    one, other = (build_concept_id("notes", each) for each in labels)
    asked = bundle.present_evidence
    merged = list[str | None]()

    def merging(*arguments: Any) -> Any:
        evidence = asked(*arguments)
        if not merged:
            merged.append(merge_concepts(graph, (one, other), always))
        return evidence

    monkeypatch.setattr(bundle, "present_evidence", merging)
    (page,) = Mover(kg, tmp_path).pages()
    (line,) = [each for each in map(json.loads, page.splitlines()) if each["kind"] == "passages"]
    (concept,) = line["passages"][0]["evidence"][0]["concepts"]
    assert merged[0] is not None
    assert (concept["label"] in labels, len(concept["quotes"])) == (True, 2)
    kg.spaces.close()
