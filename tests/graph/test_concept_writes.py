import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import neo4j
import pytest

from kg_api.errors import DatabaseUnavailable
from kg_api.graph import concept_writes
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concept_writes import count_for_extraction, list_pending_extractions
from kg_api.graph.document_writes import (
    delete_document,
    delete_evidence_in_parts,
    delete_ontology,
    store_document,
)
from kg_api.schemas.base import build_concept_id, hash_concept_text
from kg_api.schemas.concepts import ExtractedRelation, Extraction
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import (
    check_invariants,
    concepts,
    count,
    extraction,
    found,
    labelled,
    picture,
    quote,
    write,
)
from tests.support.cypher import rows
from tests.support.records import record

BEES = ["Bees dance to show flowers.", "Flowers give nectar to bees.", "Wasps build paper nests."]


@pytest.fixture
def bees(graph: Graph) -> DocumentRecord:
    made = record("bees.md", BEES)
    store_document(graph, made)
    return made


def test_extraction_is_stored(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    text = bees.sources[0].full_text
    one = extraction(
        bees,
        0,
        found("Bees", quote(text, "Bees dance"), description="Insects", search_terms=("honey bees",)),
        found("dance", confidence=0.5),
        relations=(ExtractedRelation("bees", "perform", "Dance"),),
    )
    assert write(graph, one) == 1
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1, "dance": 1}
    assert rows(driver, "MATCH (i:Instance) RETURN i.quote AS q, i.start AS start") == [
        {"q": "Bees dance", "start": 0}
    ]
    seen = rows(
        driver,
        "MATCH (c)-[a:APPEARS_IN]->() RETURN c.label AS l, a.verified AS v, a.confidence AS c ORDER BY l",
    )
    assert [tuple(row.values()) for row in seen] == [("Bees", True, 1.0), ("dance", False, 0.5)]
    told = rows(driver, "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label AS a, r.type AS r, b.label AS b")
    assert told == [{"a": "Bees", "r": "perform", "b": "dance"}]
    assert count(driver, "(:ConceptName {name: 'bees'})-[:NAMES]->(:Concept {label: 'Bees'})") == 1


def test_twice_is_as_once(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    relations = (ExtractedRelation("Bees", "show", "flowers"),)
    text = bees.sources[0].full_text
    named = [found(each, quote(text, each), search_terms=("x", each)) for each in ("Bees", "flowers")]
    both = [extraction(bees, 0, *named, relations=relations), labelled(bees, 1, "Flowers", "nectar")]
    write(graph, *both)
    before = picture(driver)
    asked = count(driver, "(j:Job {kind: 'concept_embedding'}) WHERE j.wanted = 1")
    write(graph, *both)
    assert picture(driver) == before
    assert asked == count(driver, "(j:Job {kind: 'concept_embedding'}) WHERE j.wanted = 1") == 1
    write(graph, *reversed(both))
    assert picture(driver) == before


def test_repeated_extraction_removes_missing_concepts(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    relation = ExtractedRelation("Bees", "show", "flowers")
    text = bees.sources[0].full_text
    quoted = [found(each, quote(text, each)) for each in ("Bees", "dance", "flowers")]
    write(graph, extraction(bees, 0, *quoted, relations=(relation,)), labelled(bees, 1, "bees"))
    write(graph, labelled(bees, 0, "dance"), mark="m2")
    check_invariants(driver)
    assert concepts(driver) == {"dance": 1, "Bees": 1}
    assert count(driver, "()-[:RELATED_TO]->()") == 0
    assert count(driver, "(:ConceptName)") == 2


def test_changed_source_is_skipped(graph: Graph, driver: neo4j.Driver, bees: DocumentRecord) -> None:
    old = labelled(bees, 0, "Bees")
    gone = Extraction("0" * 32, "x", old.concepts)
    other = Extraction(old.source_id, "another", old.concepts)
    assert write(graph, gone, other) == 0
    assert write(graph, old, ontology="others") == 0
    assert concepts(driver) == {}
    assert count_for_extraction(graph, "notes", "m1") == 3


def test_sources_are_due_until_they_are_read(graph: Graph, bees: DocumentRecord) -> None:
    assert [each.paragraph for each in list_pending_extractions(graph, "notes", "m1", ("", -1), 2)] == [0, 1]
    after = (bees.document_id, 0)
    assert [each.paragraph for each in list_pending_extractions(graph, "notes", "m1", after, 2)] == [1, 2]
    refused = Extraction(bees.sources[1].source_id, bees.sources[1].content_hash, refused="too\nlong")
    assert write(graph, labelled(bees, 0), refused) == 2
    assert [each.paragraph for each in list_pending_extractions(graph, "notes", "m1", ("", -1), 9)] == [2]
    assert count_for_extraction(graph, "notes", "m1") == 1
    assert count_for_extraction(graph, "notes", "m2") == 3


def test_rejection_records_reason_and_keeps_concepts(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees"))
    write(graph, Extraction(bees.sources[0].source_id, bees.sources[0].content_hash, refused="no\x00 answer"))
    assert concepts(driver) == {"Bees": 1}
    said = "MATCH (s:Source) WHERE s.not_extracted_because IS NOT NULL RETURN s.not_extracted_because AS why"
    assert rows(driver, said) == [{"why": "no answer"}]
    write(graph, labelled(bees, 0, "Bees"))
    assert rows(driver, said) == []


def test_deleted_document_removes_its_evidence(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    wasps = record("wasps.md", ["Wasps and bees sting."])
    store_document(graph, wasps)
    text = bees.sources[0].full_text
    quoted = [found(each, quote(text, each)) for each in ("Bees", "dance")]
    write(graph, extraction(bees, 0, *quoted, relations=(ExtractedRelation("Bees", "do", "dance"),)))
    write(graph, labelled(wasps, 0, "bees", "Wasps"))
    delete_document(graph, bees.document_id)
    check_invariants(driver)
    assert concepts(driver) == {"Bees": 1, "Wasps": 1}
    assert count(driver, "()-[:RELATED_TO]->()") == 0
    delete_ontology(graph, "notes")
    assert count(driver, "(n) WHERE n:Concept OR n:ConceptName OR n:Instance OR n:Source") == 0


def test_a_paragraph_that_changes_loses_its_evidence(
    graph: Graph, driver: neo4j.Driver, bees: DocumentRecord
) -> None:
    write(graph, labelled(bees, 0, "Bees", "dance"), labelled(bees, 1, "Flowers"), labelled(bees, 2, "Wasps"))
    store_document(graph, record("bees.md", [BEES[2], "Bees waggle.", BEES[1] + "\n"]))
    check_invariants(driver)
    assert concepts(driver) == {"Flowers": 1, "Wasps": 1}
    assert [each.paragraph for each in list_pending_extractions(graph, "notes", "m1", ("", -1), 9)] == [1]


def test_writers_at_once_make_no_duplicates(graph: Graph, driver: neo4j.Driver) -> None:
    """Eight writers add the same new concepts in a different order, using their own documents."""
    names = [f"idea {chr(97 + n % 20)}{chr(97 + n // 20)}" for n in range(40)]
    records = [record(f"{n}.md", [" ".join(names)] * 2) for n in range(8)]
    for each in records:
        store_document(graph, each)
    barrier = threading.Barrier(8)

    def run(number: int) -> int:
        each = records[number]
        turned = names[number * 5 :] + names[: number * 5]
        relations = tuple(ExtractedRelation(a, "then", b) for a, b in pairwise(turned))
        text = each.sources[0].full_text
        barrier.wait()
        done = 0
        for paragraph in (0, 1):
            quoted = [found(name, quote(text, name), search_terms=(f"{name}s",)) for name in turned]
            done += write(graph, extraction(each, paragraph, *quoted, relations=relations))
        return done

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(run, range(8))) == 16
    check_invariants(driver)
    assert concepts(driver) == dict.fromkeys(names, 16)
    assert count(driver, "(:ConceptName)") == 40
    assert count(driver, "(:Instance)") == 16 * 40
    assert count(driver, "()-[:RELATED_TO]->()") == 16 * 39


def test_writing_while_the_last_source_goes(graph: Graph, driver: neo4j.Driver) -> None:
    """If documents with the same concepts are written and deleted at once, no concept should be lost or
    left over."""
    kept = record("kept.md", ["The common idea stays."])
    store_document(graph, kept)
    stop = threading.Event()

    def come_and_go(number: int) -> int:
        each, times = record(f"{number}.md", ["The common idea comes and goes."]), 0
        while not stop.is_set():
            store_document(graph, each)
            write(graph, labelled(each, 0, "common idea", "goes"))
            delete_document(graph, each.document_id)
            times += 1
        return times

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(come_and_go, number) for number in range(3)]
        try:
            for _ in range(10):
                write(graph, labelled(kept, 0, "common idea"))
                assert concepts(driver)["common idea"] >= 1
                write(graph, labelled(kept, 0))
            write(graph, labelled(kept, 0, "common idea"))
        finally:
            stop.set()
        assert all(each.result() > 0 for each in running)
    check_invariants(driver)
    assert concepts(driver) == {"common idea": 1}


class Counting:
    """Graph that counts its transactions. You can use it to raise an error before one of them."""

    def __init__(self, graph: Graph, fail_at: int = -1) -> None:
        self._graph = graph
        self._fail_at = fail_at
        self.transactions = 0

    def read(self, *names: Any, **parameters: Any) -> Any:
        return self._graph.read(*names, **parameters)

    def write(self, *names: Any, **parameters: Any) -> Any:
        return self._graph.write(*names, **parameters)

    def transaction(self, work: Callable[[Transaction], Any]) -> Any:
        self.transactions += 1
        if self.transactions == self._fail_at:
            raise DatabaseUnavailable("it has just gone")
        return self._graph.transaction(work)


def counting(graph: Graph, fail_at: int = -1) -> Any:
    return Counting(graph, fail_at)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concept_writes, "MAX_SOURCES_PER_TRANSACTION", 2)


@pytest.fixture
def five(graph: Graph) -> DocumentRecord:
    made = record("five.md", [f"Common thing{n}." for n in range(5)])
    other = record("other.md", ["Common too."])
    store_document(graph, made)
    store_document(graph, other)
    write(graph, *(labelled(made, n, "Common", f"thing{n}") for n in range(5)), labelled(other, 0, "Common"))
    return made


@pytest.mark.usefixtures("small")
def test_evidence_goes_before_in_parts(graph: Graph, driver: neo4j.Driver, five: DocumentRecord) -> None:
    seen = counting(graph)
    assert delete_document(seen, five.document_id).sources == 5
    assert seen.transactions == 4, "three of two sources at most, and the last one"
    check_invariants(driver)
    assert concepts(driver) == {"Common": 1}
    assert delete_document(seen, five.document_id).sources == 0


@pytest.mark.usefixtures("small", "five")
def test_large_deletion_removes_evidence_in_batches(graph: Graph, driver: neo4j.Driver) -> None:
    few, many = counting(graph), counting(graph)
    store_document(few, record("five.md", [f"Common thing{n}." for n in range(4)]))
    assert few.transactions == 1, "few go with the rest"
    store_document(many, record("five.md", ["Common thing0.", "New."]))
    assert many.transactions == 3
    check_invariants(driver)
    assert concepts(driver) == {"Common": 2, "thing0": 1}
    assert count_for_extraction(graph, "notes", "m1") == 1, "what stays was read"


def test_a_document_goes_though_too_many_jobs_wait(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = (record(name, [f"Bees of {name}."]) for name in ("kept.md", "gone.md"))
    for each in (kept, gone):
        store_document(graph, each)
        write(graph, extraction(each, 0, found("Bees", description=f"Of {each.document}.")))
    rows(driver, "MATCH (j:Job) DETACH DELETE j")
    monkeypatch.setattr(graph, "most_queued", 0)
    assert delete_document(graph, gone.document_id).documents == 1
    assert concepts(driver) == {"Bees": 1}
    assert count(driver, "(c:Concept {description: 'Of kept.md.'})") == 1


TEXTS = ["Bees dance.", "Bees sting.", "Bees fly."]


@pytest.fixture
def said_bees(graph: Graph) -> DocumentRecord:
    made = record("bees.md", TEXTS)
    store_document(graph, made)
    graph.transaction(lambda tx: request_concepts(tx, "notes"))  # so that each change asks for its embedding
    return made


@pytest.fixture
def more(graph: Graph) -> DocumentRecord:
    made = record("more.md", ["Bees lie.", "Bees hum."])
    store_document(graph, made)
    return made


def say(graph: Graph, of: DocumentRecord, paragraph: int, description: str, *terms: str, **more: Any) -> None:
    label, quoted = more.pop("label", "Bees"), more.pop("quoted", True)
    quotes = (quote(of.sources[paragraph].full_text, "Bees"),) if quoted else ()
    one = found(label, *quotes, description=description, search_terms=terms, **more)
    write(graph, extraction(of, paragraph, one))


def said(driver: neo4j.Driver) -> tuple[str, str, list[str]]:
    (row,) = rows(driver, "MATCH (c:Concept) RETURN properties(c) AS map")
    label, description, terms = (row["map"][each] for each in ("label", "description", "search_terms"))
    assert row["map"]["text_hash"] == hash_concept_text(label, description, terms)
    return label, description, terms


def wanted(driver: neo4j.Driver) -> int:
    found = rows(driver, "MATCH (j:Job {kind: 'concept_embedding'}) RETURN sum(j.total) AS total")
    return found[0]["total"]


def test_deleted_document_removes_its_descriptions(
    graph: Graph, driver: neo4j.Driver, said_bees: DocumentRecord, more: DocumentRecord
) -> None:
    say(graph, more, 0, "Pirates.", "gold", "Reserve")
    say(graph, said_bees, 0, "Insects.", "Apis", "gold")
    assert said(driver) == ("Bees", "Pirates.", ["gold", "Reserve", "Apis"])
    before = wanted(driver)
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "Insects.", ["Apis", "gold"])
    assert wanted(driver) == before + 1
    check_invariants(driver)


def test_repeated_extraction_replaces_description(
    graph: Graph, driver: neo4j.Driver, said_bees: DocumentRecord
) -> None:
    say(graph, said_bees, 0, "A wrong one.", "junk", "rubbish")
    say(graph, said_bees, 0, "Insects.", "Apis", "junk")
    assert said(driver) == ("Bees", "Insects.", ["Apis", "junk"])
    before, asked = picture(driver), wanted(driver)
    say(graph, said_bees, 0, "Insects.", "Apis", "junk")
    assert (picture(driver), wanted(driver)) == (before, asked)
    say(graph, said_bees, 0, "")
    assert said(driver) == ("Bees", "", [])


def test_most_confident_description_wins_in_any_order(
    graph: Graph, driver: neo4j.Driver, said_bees: DocumentRecord, more: DocumentRecord
) -> None:
    last = max(said_bees.sources[:2], key=lambda source: source.source_id).paragraph
    for paragraph in (last, 1 - last):
        say(graph, said_bees, paragraph, f"Number {paragraph}.", f"t{paragraph}", confidence=0.8)
    say(graph, said_bees, 2, "Not proven.", "t2", confidence=1.0, quoted=False)
    say(graph, more, 0, "Gone.", "gone")
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", f"Number {1 - last}.", [f"t{1 - last}", f"t{last}", "t2"])
    say(graph, said_bees, 1 - last, "")
    assert said(driver) == ("Bees", f"Number {last}.", [f"t{last}", "t2"])
    say(graph, said_bees, last, "")
    assert said(driver) == ("Bees", "Not proven.", ["t2"])
    for paragraph, confidence in ((1 - last, 0.7), (last, 0.9)):
        say(graph, said_bees, paragraph, f"Number {paragraph}.", f"t{paragraph}", confidence=confidence)
    say(graph, said_bees, 2, "")
    assert said(driver) == ("Bees", f"Number {last}.", [f"t{last}", f"t{1 - last}"])


def test_merge_keeps_descriptions_and_names(
    graph: Graph, driver: neo4j.Driver, said_bees: DocumentRecord, more: DocumentRecord
) -> None:
    say(graph, said_bees, 0, "Insects.", "Apis")
    say(graph, said_bees, 1, "")
    say(graph, more, 0, "They hum.", "hum", label="Honeybees")
    say(graph, more, 1, "", label="Honeybees")
    pair = build_concept_id("notes", "Bees"), build_concept_id("notes", "Honeybees")
    rows(driver, "MATCH (c:Concept {label: 'Bees'}) SET c.created_at = datetime('2020-01-01T00:00:00Z')")
    assert merge_concepts(graph, pair, lambda _one, _other: True) == pair[0]
    assert said(driver) == ("Bees", "Insects.", ["Apis", "Honeybees", "hum"])
    before = picture(driver)
    say(graph, more, 0, "They hum.", "hum", label="Honeybees")
    assert picture(driver) == before, "what is found again is what went over"
    say(graph, said_bees, 0, "")
    assert said(driver) == ("Bees", "They hum.", ["Honeybees", "hum"])
    store_document(graph, record("more.md", ["Bees hum."]))
    assert said(driver) == ("Bees", "", ["Honeybees"]), "a source calls it so"
    delete_document(graph, more.document_id)
    assert said(driver) == ("Bees", "", [])
    check_invariants(driver)


@pytest.mark.usefixtures("small")
def test_documents_kept_after_an_error_keep_evidence(
    graph: Graph, driver: neo4j.Driver, five: DocumentRecord
) -> None:
    other = record("other.md", ["Common too."])
    asked = list[str]()

    def goes(_: Transaction, document_id: str) -> bool:
        asked.append(document_id)
        return document_id == other.document_id

    delete_evidence_in_parts(graph, [five.document_id, other.document_id], goes)
    assert asked == [five.document_id] * 3 + [other.document_id]
    assert concepts(driver) == {"Common": 5, **{f"thing{n}": 1 for n in range(5)}}
