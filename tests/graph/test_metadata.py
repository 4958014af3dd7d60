import re
from dataclasses import replace
from typing import Any

import neo4j
import pytest
from pydantic import TypeAdapter

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.documents import change_document
from kg_api.graph.filters import (
    KEPT_SECONDS,
    SETTLED_SECONDS,
    RememberedFilters,
    describe_unknown_fields,
    find_matching_documents,
    prune_writes,
)
from kg_api.graph.library import change_by_name, find_document, list_documents
from kg_api.graph.search import Filters
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from kg_api.schemas.filters import Clause, DocumentFilter, Where
from kg_api.search.scope import choose_documents
from tests.support.cypher import STATEMENTS, rows
from tests.support.embedding import configure_in_place
from tests.support.kg import Kg
from tests.support.records import record

WHERE: TypeAdapter[list[Clause]] = TypeAdapter(Where)
DOCUMENTS: dict[str, dict[str, Any]] = {
    "a": {"author": "Ada", "date": "2025-01-31", "tags": ["oncall", "ops"], "version": 3, "draft": False},
    "b": {"author": "Bob", "date": "2025-03-01T10:00:00+02:00", "tags": ["web"], "version": 4.5},
    "c": {"date": "2024-12-31T23:30:00-05:00", "version": "3", "title": "Not the title"},
    "d": {},
}


def stored(graph: Graph, name: str, metadata: dict[str, Any]) -> None:
    store_document(graph, record(name, [f"says {name}"], metadata=metadata))


def properties(driver: neo4j.Driver, name: str) -> dict[str, Any]:
    found = rows(driver, f"MATCH (d:Document {{document: '{name}'}}) RETURN properties(d) AS p")[0]["p"]
    return {key: value for key, value in found.items() if key.startswith(("meta.", "when."))}


def test_each_key_is_a_property_of_its_type(graph: Graph, driver: neo4j.Driver) -> None:
    stored(graph, "a", {**DOCUMENTS["a"], "long": "x" * 3000, "nothing": None})
    found = properties(driver, "a")
    assert found["meta.tags"] == ["oncall", "ops"]
    assert (found["meta.version"], found["meta.draft"], found["meta.date"]) == (3, False, "2025-01-31")
    assert found["when.date"][0].iso_format().startswith("2025-01-31T00:00:00")
    assert len(found["meta.long"]) == 1000
    assert "meta.nothing" not in found


def test_omitted_metadata_keys_are_removed(graph: Graph, driver: neo4j.Driver) -> None:
    stored(graph, "a", DOCUMENTS["a"])
    stored(graph, "a", {"date": "some day"})
    assert properties(driver, "a") == {"meta.date": "some day"}


def names(graph: Graph, *where: object) -> str:
    found = find_matching_documents(graph, WHERE.validate_python(list(where)), None, in_order=True)
    known = {record(name, ["x"]).document_id: name for name in DOCUMENTS}
    return "".join(known[each] for ids in found.values() for each in ids)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("Große Straße", "k contains STRASSE"),
        ("GROSSE STRASSE", "k contains straße"),
        ("İSTANBUL Işık", "k contains istanbul"),
        ("İSTANBUL Işık", "k contains IŞIK"),
        ("Istanbul", "k contains İstanbul"),
        ("ΟΔΥΣΣΕΑΣ ΑΣΜΑ", "k contains οδυσσεας ασ"),
        ("Phở bò", "k='Pho\u031b\u0309 bo\u0300'"),  # composed and decomposed
        ("Pho\u031b\u0309 bo\u0300", "k in 'Phở bò'"),
        (["x", "Pho\u031b\u0309"], "k contains Phở"),
        ("Pho\u031b\u0309 bo\u0300", "k contains phở"),
        ("z", "k!=Phở"),
        ("z", "k>Phở"),
    ],
)
def test_conditions_ignore_forms_of_writing(graph: Graph, value: str, where: str) -> None:
    stored(graph, "a", {"k": value})
    assert names(graph, where) == "a"


def test_conditions(graph: Graph) -> None:
    for name, metadata in DOCUMENTS.items():
        stored(graph, name, metadata)
    cases: dict[str, str] = {
        "author=Ada": "a",
        "author!=Ada": "bcd",
        "author in Ada, Bob": "ab",
        "author exists": "ab",
        "author does not exist": "cd",
        "author contains D": "a",
        "tags=oncall": "a",
        "tags!=oncall": "bcd",
        "tags contains web": "b",
        "tags contains we": "",
        "version=3": "a",
        "version='3'": "c",
        "version>3": "b",
        "version<=4.5": "ab",
        "draft=false": "a",
        "date>=2025-01-01": "abc",  # 23:30 in New York is the next year in UTC
        "date<2025-02": "ac",
        "date=2025-01": "ac",
        "date>2025-01": "b",
        "date=2025": "abc",
        "date<=2025-03-01T08:00:00Z": "abc",
        "date>2025-03-01T08:00:00Z": "",
        "date!=2025-03": "acd",
        "title=a": "a",
        "metadata.title contains not": "c",
        "document in a,b": "ab",
        "format=text": "abcd",
        "updated_at>=2020": "abcd",
        "updated_at<2020": "",
    }
    assert {text: names(graph, text) for text in cases} == cases
    assert names(graph, "date>=2025", {"field": "version", "op": "<", "value": 4}) == "a"


def test_a_field_that_no_document_has(graph: Graph) -> None:
    stored(graph, "a", DOCUMENTS["a"])
    with pytest.raises(InvalidInput, match=r"'auhtor'. Did you mean 'author'"):
        describe_unknown_fields(graph, WHERE.validate_python(["auhtor=Ada"]), None)
    with pytest.raises(InvalidInput, match="year counts need the field 'date' itself, as in date=2015"):
        describe_unknown_fields(graph, WHERE.validate_python(["date:year=2015"]), None)
    where = WHERE.validate_python(["zzz=1", "author=Bob"])
    absent, unmatched = list_documents(graph, ontology=None, offset=0, limit=1, where=where).notes
    assert absent == "no document has the field 'zzz'"
    assert unmatched == "no document fits the conditions of the filter"
    told = describe_unknown_fields(graph, where, ["notes"])
    assert [each.effect for each in told] == ["no document has the field 'zzz'"]


ALTERNATIVES: dict[str, str] = {
    "author=Ada || tags=web": "ab",
    "author=Ada && draft=true || version>4 && date=2025-03": "b",
    "author does not exist || draft=false": "acd",
    "document in c,d && date exists || author=Bob": "bc",
    "author=Eve || version>99": "",
}


def test_alternatives(graph: Graph) -> None:
    for name, metadata in DOCUMENTS.items():
        stored(graph, name, metadata)
    assert {text: names(graph, text) for text in ALTERNATIVES} == ALTERNATIVES
    assert names(graph, "author exists", "tags=ops || version>4", {"any_of": [["draft=false"]]}) == "a"
    for author, unmatched in (("Ada", []), ("Eve", ["no document fits the conditions of the filter"])):
        where = WHERE.validate_python([f"author={author} || zzz=1"])
        expected = ["no document has the field 'zzz'", *unmatched]
        assert list_documents(graph, ontology=None, offset=0, limit=1, where=where).notes == expected
        chosen = choose_documents(RememberedFilters(graph), where, Filters(None, None))
        assert [each.effect for each in chosen.notes] == expected
    with pytest.raises(InvalidInput, match=r"'auhtor'. Did you mean 'author'"):
        choose_documents(
            RememberedFilters(graph), WHERE.validate_python(["author=Ada || auhtor=Bob"]), Filters(None, None)
        )


GIVEN = {"author": "Ada", "draft": True}


def told(*paragraphs: str) -> DocumentRecord:
    return record("a.md", paragraphs, metadata=GIVEN)


def test_edited_keys_survive_another_ingest(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, told("one"))
    change = DocumentChange(title="Pumps", metadata={"tags": ["ops"], "draft": None})
    changed = change_by_name(graph, "a.md", change)
    wanted = {"author": "Ada", "tags": ["ops"]}
    assert (changed.title, changed.metadata, changed.job_id, changed.notes) == ("Pumps", wanted, None, [])
    assert change_by_name(graph, "a.md", change).notes == ["no metadata 'draft' to delete"]
    store_document(graph, told("one", "two"))
    again = find_document(graph, "a.md")
    assert (again.title, again.metadata, again.uri) == ("Pumps", wanted, None)
    found = rows(driver, "MATCH (d:Document) RETURN d['meta.draft'] AS draft, d['meta.tags'] AS tags")
    assert found == [{"draft": None, "tags": ["ops"]}]
    titles = rows(driver, "MATCH (s:Source) RETURN DISTINCT s.title AS title")
    assert titles == [{"title": "Pumps"}]


def test_edit_to_the_current_value_survives_another_ingest(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, told("one"))
    before = find_document(graph, "a.md")
    change = DocumentChange(title=before.title, metadata={"author": "Ada"})
    writes = []
    for _ in range(2):
        change_by_name(graph, "a.md", change)
        writes.append(rows(driver, "MATCH (w:DocumentWrite) RETURN count(w) AS n")[0]["n"])
    assert writes[0] == writes[1], "the second edit changes nothing"
    store_document(graph, replace(told("two"), title="Other", metadata='{"author": "Eve"}'))
    again = find_document(graph, "a.md")
    assert (again.title, again.metadata) == (before.title, {"author": "Ada"})


def test_document_with_an_impossible_date_can_be_changed(graph: Graph) -> None:
    store_document(graph, to_record(Incoming("notes", "a.md", '---\ndate: "2025-13-31"\n---\n\nText.'))[0])
    changed = change_by_name(graph, "a.md", DocumentChange(title="Pumps"))
    assert (changed.title, changed.metadata) == ("Pumps", {"date": "2025-13-31"})


def test_reserved_metadata_cannot_be_changed(graph: Graph) -> None:
    store_document(graph, told("one"))
    with pytest.raises(NotFound):
        change_by_name(graph, "b.md", DocumentChange(title="x"))
    with pytest.raises(InvalidInput, match="metadata"):
        change_by_name(graph, "a.md", DocumentChange(metadata={f"k{n}": n for n in range(63)}))
    assert find_document(graph, "a.md").metadata == GIVEN


@pytest.mark.parametrize("context", ["none", "template"])
def test_metadata_change_embeds_only_contexts_with_it(kg: Kg, context: str) -> None:
    configure_in_place(kg.graph, "notes", context=context)
    kg.work()
    assert change_by_name(kg.graph, "a.md", DocumentChange(metadata={"shelf": 3})).job_id is None
    assert (change_by_name(kg.graph, "a.md", DocumentChange(title="Pumps")).job_id is not None) == (
        context == "template"
    )
    kg.work()
    date = DocumentChange(metadata={"date": "2025-01-31"})
    assert (change_by_name(kg.graph, "a.md", date).job_id is not None) == (context == "template")
    assert change_by_name(kg.graph, "a.md", date).job_id is None
    store_document(kg.graph, record("b.md", ["New."]))
    assert change_by_name(kg.graph, "b.md", date).job_id is None, "its job counts each source once"


def written(modified: str | None, text: str = "It says so.") -> DocumentRecord:
    return to_record(Incoming("notes", "a.txt", text, modified=modified))[0]


def find_names(graph: Graph, condition: str) -> list[str]:
    where = DocumentFilter.model_validate({"where": [condition]}).where
    found = list_documents(graph, ontology="notes", offset=0, limit=10, where=where)
    return [each.document for each in found.documents]


def metadata_of(graph: Graph) -> dict[str, Any]:
    return find_document(graph, "a.txt").metadata


def test_documents_are_filtered_by_file_time(graph: Graph) -> None:
    store_document(graph, written("2025-03-01T09:30:00Z"))
    assert find_names(graph, "modified>=2025-01-01") == find_names(graph, "modified=2025-03") == ["a.txt"]
    assert find_names(graph, "modified>=2025-04") == find_names(graph, "date>=2025") == []


def test_changed_file_time_updates_metadata_only(graph: Graph, driver: neo4j.Driver) -> None:
    store_document(graph, written(None))  # as an older kg stored it
    before = rows(driver, "MATCH (d:Document) RETURN d.updated_at AS at, d.written_by AS by")
    for time in ("2025-03-01T09:30:00Z", "2026-01-01T00:00:00Z"):
        told = store_document(graph, written(time))
        assert (told.change.change, told.job_id, told.unread) == ("unchanged", None, 0)
        assert (metadata_of(graph), find_names(graph, f"modified={time}")) == ({"modified": time}, ["a.txt"])
    assert rows(driver, "MATCH (d:Document) RETURN d.updated_at AS at, d.written_by AS by") == before
    assert store_document(graph, written(None)).change.change == "unchanged"
    assert metadata_of(graph) == {"modified": "2026-01-01T00:00:00Z"}


OPS = DocumentFilter.model_validate({"where": ["tags=ops || version>2"]}).where
COUNTED = re.compile(r"CREATE \(:DocumentWrite\)")
WRITES_DOCUMENTS = re.compile(r"\b(SET d\b|DELETE d\b|DETACH DELETE d\b|SET d \+=)")
FILTERED_BY_NOTHING = {
    *("documents/hold", "documents/hold_about", "documents/hold_versions", "documents/lock"),
    *("folders/hold_document", "folders/take_documents", "folders/touch_documents"),
    *("blobs/lose", "bundle/hold", "bundle/keep_changes"),
}
"""Statements that change documents, but not the fields that you can filter by. `lock` is used to create
nodes that `describe` counts."""


def about(name: str, **metadata: Any) -> DocumentRecord:
    return record(name, [name], metadata=metadata)


def test_each_write_is_seen(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    remembered = RememberedFilters(graph, lambda: now[0])
    asked = list[object]()

    def counted(*given: Any) -> dict[str, list[str]]:
        asked.append(given)
        return find_matching_documents(*given)

    monkeypatch.setattr("kg_api.graph.filters.find_matching_documents", counted)

    def right() -> int:
        for _ in range(3):
            now[0] += SETTLED_SECONDS
            assert remembered.match(OPS, None) == find_matching_documents(graph, OPS, None)
        return sum(map(len, remembered.match(OPS, None).values()))

    one, other = about("one", tags=["ops"]), about("other", version=1)
    store_document(graph, one)
    assert right() == 1
    before = len(asked)
    assert right() == 1
    assert len(asked) == before, "nothing was written, so nothing is to be chosen again"
    store_document(graph, other)
    assert right() == 1
    change_document(graph, other.document_id, DocumentChange(metadata={"version": 3}))
    assert right() == 2
    delete_document(graph, one.document_id)
    assert right() == 1
    before = len(asked)
    now[0] += KEPT_SECONDS
    assert right() == 1
    assert len(asked) == before + 1

    def slow(*given: Any) -> dict[str, list[str]]:
        now[0] += SETTLED_SECONDS
        return counted(*given)

    monkeypatch.setattr("kg_api.graph.filters.find_matching_documents", slow)
    store_document(graph, about("third"))
    for number in (1, 2):
        assert len(remembered.match(OPS, None)["notes"]) == 1
        assert len(asked) == before + 1 + number, "an answer that began with the write is not kept"


def test_every_statement_writing_filtered_fields_is_counted() -> None:
    found = set[str]()
    for name, text in STATEMENTS.items():
        if "Document" in text and WRITES_DOCUMENTS.search(text) and not COUNTED.search(text):
            found.add(name)
    assert found == FILTERED_BY_NOTHING


@pytest.mark.parametrize(
    ("line", "fits"),
    [("reviewed<m", []), ("reviewed>a", ["note"]), ("reviewed<2025", ["dated"]), ("reviewed>=2025", [])],
)
def test_text_that_is_not_a_date_never_matches(graph: Graph, line: str, fits: list[str]) -> None:
    """`date<gestern` was true for any document with a date, so all of them would have been deleted."""
    for name, value in (("dated", "2024-05-01"), ("note", "soon")):
        store_document(graph, about(name, reviewed=value))
    where = DocumentFilter.model_validate({"where": [line]}).where
    found = find_matching_documents(graph, where, None)
    names = {record(name, [name]).document_id: name for name in ("dated", "note")}
    assert sorted(names[each] for ids in found.values() for each in ids) == fits


def test_pruned_writes_stay_counted(graph: Graph, driver: neo4j.Driver) -> None:
    for at in range(3):
        store_document(graph, about(f"{at}"))
    before = graph.read("documents/writes")
    assert prune_writes(graph) == 3
    assert prune_writes(graph) == 0
    assert rows(driver, "MATCH (w:DocumentWrite) RETURN count(w) AS n") == [{"n": 0}]
    assert graph.read("documents/writes") == before
    store_document(graph, about("another"))
    assert graph.read("documents/writes")[0]["writes"] == before[0]["writes"] + 1
