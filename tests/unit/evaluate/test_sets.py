from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import InvalidInput
from kg_api.evaluation.run import build_sent_document
from kg_api.evaluation.sets import (
    build_judged_queries,
    build_pair_query,
    read_set,
    sample_hash,
    sample_queries,
    write_set,
)
from kg_api.schemas.concepts import Concept, ConceptDetails, ConceptList, Evidence, RelatedConcept
from kg_api.schemas.evaluation import Judgement, Reference, SetDocument, SetQuery
from kg_api.schemas.search import Place
from kg_cli.evaluate import make
from tests.unit.evaluate.sets import CORPUS, QUERIES, lines, write


def spans(name: str, **more: Any) -> dict[str, Any]:
    start = CORPUS[0]["text"].index("ten seconds")
    span = {"start": start, "end": start + 11, name: "ten seconds"}
    return {"_id": "q1", "text": "how often", **more, "spans" if name == "text" else "references": [span]}


def test_a_standard_set(tmp_path: Path) -> None:
    found = read_set(write(tmp_path / "handbook"))
    assert found.name == "handbook"
    assert [each.document for each in found.documents] == ["leases", "retries", "money"]
    assert [dict(each.relevant) for each in found.queries] == [{"leases": 1}, {"retries": 2}]
    assert found.targets == ("documents",)
    assert found.notes == ()


def test_spans_in_a_standard_set(tmp_path: Path) -> None:
    found = read_set(write(tmp_path / "s", queries=[spans("text", doc="leases"), QUERIES[1]]))
    assert found.queries[0].references == (Reference("leases", 32, 43),)
    assert found.targets == ("documents", "spans")


def test_a_set_of_long_texts_and_spans(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "leases.md").write_bytes(CORPUS[0]["text"].encode())
    (tmp_path / "queries.jsonl").write_text(lines([spans("content", corpus_id="leases")]))
    found = read_set(tmp_path)
    assert found.targets == ("spans",)
    assert found.queries[0].references == (Reference("leases", 32, 43),)
    assert found.documents[0].format == "markdown"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("leases.pdf", b"", r"leases.pdf: only .* are read"),
        ("leases.txt", b"", "another file is called 'leases'"),
        ("other.md", b"a\0b", "U\\+0000"),
    ],
)
def test_unusable_file_of_corpus_is_rejected(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "leases.md").write_text("x")
    (tmp_path / "corpora" / ".hidden").write_bytes(b"\xff")
    (tmp_path / "corpora" / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=told):
        read_set(tmp_path)


def test_empty_documents_are_reported(tmp_path: Path) -> None:
    found = read_set(write(tmp_path, corpus=[*CORPUS, {"_id": "void", "text": " "}]))
    assert found.notes == ("1 documents are empty and cannot be found: void",)


def test_skipped_questions_are_reported(tmp_path: Path) -> None:
    more = [*QUERIES, {"_id": "q3", "text": "who knows"}]
    found = read_set(write(tmp_path, queries=more))
    assert [each.query_id for each in found.queries] == ["q1", "q2"]
    assert found.notes == ("1 of 3 questions are skipped, because the set lists no answers for them",)


BAD: dict[str, dict[str, Any]] = {}
"""What is wrong, by the file and the message."""
BAD["corpus"] = {
    "line 2: the document 'leases' is listed twice": [CORPUS[0], CORPUS[0]],
    "line 1: _id: Field required": [{"text": "x"}],
    "line 1: text: Field required": [{"_id": "a"}],
    "line 1: text: Input should be a valid string": [{"_id": "a", "text": 7}],
    "line 1: text: holds the character U+0000": [{"_id": "a", "text": "a\0b"}],
    "line 1: _id: at least 1 character must be given": [{"_id": "", "text": "x"}],
    "format: Input should be 'text', 'markdown', 'rst' or 'org'": [
        {"_id": "a", "text": "x", "format": "pdf"}
    ],
    "no documents": [],
}
BAD["queries"] = {
    "line 2: the question 'q1' is listed twice": [QUERIES[0], QUERIES[0]],
    "line 1: text: is blank": [{"_id": "q1", "text": " "}],
    "line 1: text: at most 20,000 characters are allowed": [{"_id": "q1", "text": "x" * 20_001}],
    "a span or passage names the document 'nowhere', which is not in the": [spans("text", doc="nowhere")],
    "line 1: a span or passage names the document None": [spans("text")],
    "line 1: 'retries' has 'er one seco' from 32 to 43, not 'ten seconds'": [spans("text", doc="retries")],
    "line 1: spans: Input should be a valid array": [{**spans("text", doc="leases"), "spans": {}}],
    "line 1: 'leases' has 44 characters, and none from 3 to 3": [
        {**spans("text", doc="leases"), "spans": [{"start": 3, "end": 3}]}
    ],
    "line 1: 'leases' has 44 characters, and none from 0 to 1000": [
        {**spans("text", doc="leases"), "spans": [{"start": 0, "end": 1000}]}
    ],
    "no questions": [],
}
BAD["qrels"] = {
    "line 2: question 'q9' not found in this set": "query-id\tcorpus-id\tscore\nq9\tleases\t1\n",
    "line 1: document 'nowhere' not found in this set": "q1\tnowhere\t1\n",
    "line 1: 'q1 leases 1' is not a judgement: write query-id": "q1 leases 1\n",
    "is not a judgement: write query-id, corpus-id, and a whole number": "q1\tleases\t1\nq1\tmoney\tyes\n",
    "line 2: 'q1' and 'leases' were judged otherwise before": "q1\tleases\t1\nq1\tleases\t2\n",
    "no judgements": "query-id\tcorpus-id\tscore\n",
}


@pytest.mark.parametrize(("file", "told"), [(file, told) for file, bad in BAD.items() for told in bad])
def test_invalid_set_is_rejected(tmp_path: Path, file: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{file}\.(jsonl|tsv)") as refused:
        read_set(write(tmp_path, **{file: BAD[file][told]}))
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"_id": ', "line 1: the body: Invalid JSON"),
        (b"[1]", "write a JSON object"),
        (b"\xff", "byte 0 is not valid"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes, told: str) -> None:
    write(tmp_path)
    (tmp_path / "queries.jsonl").write_bytes(content)
    with pytest.raises(InvalidInput, match=told):
        read_set(tmp_path)


def test_folder_without_a_set_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl and corpora/"):
        read_set(tmp_path)


def passage(**change: object) -> dict[str, object]:
    return {"doc": "leases", "start": 0, "end": 8, "relevance": 2, "text": "A worker"} | change


def test_passages_that_were_judged_are_read_and_written(tmp_path: Path) -> None:
    queries = [{**QUERIES[0], "passages": [passage(), passage(start=9, end=15, relevance=0, text="renews")]}]
    qrels = "query-id\tcorpus-id\tscore\nq1\tleases\t2\n"
    found = read_set(write(tmp_path / "s", queries=queries, qrels=qrels))
    assert found.targets == ("passages", "documents")
    assert [(each.start, each.relevance) for each in found.queries[0].passages] == [(0, 2), (9, 0)]
    write_set(tmp_path / "again", found.documents, found.queries, {})
    again = read_set(tmp_path / "again")
    assert (again.queries, again.data_hash) == (found.queries, found.data_hash)


@pytest.mark.parametrize(
    "wrong", [[passage(doc="x")], [passage(relevance=-1)], [passage(text="other")], [passage()] * 2, "all"]
)
def test_invalid_passages_are_rejected(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InvalidInput, match=r"passage|has .* from"):
        read_set(write(tmp_path / "s", queries=[{**QUERIES[0], "passages": wrong}], qrels=None))


PASSAGE = "A heron of the estuary carries a copper ring from Riga."


def concept(label: str, *places: tuple[str, int, int], others: tuple[str, ...] = ()) -> ConceptDetails:
    quotes: list[Evidence] = []
    for name, start, end in places:
        source = Place.model_construct(source_id=f"of {name}", document=name, full_text=PASSAGE)
        quotes.append(Evidence.model_construct(source=source, start=start, end=end))
    return ConceptDetails.model_construct(label=label, search_terms=[*others], evidence=quotes)


def test_the_quotes_of_both_are_the_answer() -> None:
    found = build_pair_query(concept("heron", ("a", 2, 9)), concept("copper ring", ("a", 33, 44)), ["of a"])
    assert found is not None
    assert (found.text, dict(found.relevant)) == ("heron, copper ring", {"a": 1})
    assert found.references == (Reference("a", 2, 9), Reference("a", 33, 44))
    found = build_pair_query(concept("heron", ("a", 2, 16)), concept("estuary", ("a", 9, 24)), ["of a"])
    assert found is not None
    assert found.references == (Reference("a", 2, 24),)


def test_question_uses_a_name_absent_from_the_passage() -> None:
    one = concept("heron", ("a", 2, 9), others=("Heron", "Ardea cinerea"))
    found = build_pair_query(one, concept("copper ring", ("a", 33, 44)), ["of a"])
    assert found is not None
    assert found.text == "Ardea cinerea, copper ring"


def test_question_with_several_answers_is_omitted() -> None:
    one, other = concept("heron", ("a", 2, 9), ("b", 2, 9)), concept("ring", ("a", 33, 44), ("b", 33, 44))
    assert build_pair_query(one, other, ["of a", "of b"]) is None
    assert build_pair_query(one, other, ["of a"]) is not None
    assert build_pair_query(one, other, ["of c"]) is None
    assert build_pair_query(one, concept("Heron nest", ("a", 33, 44)), ["of a"]) is None


class Concepts:
    """Client with concepts that all appear together, by the number of their sources."""

    def __init__(self, **sources: int) -> None:
        self._listed = [
            Concept.model_construct(concept_id=label, label=label, sources=each, verified=label != "doubtful")
            for label, each in sources.items()
        ]
        self.asked: list[str] = []

    def concepts(self, _: str, *, offset: int, limit: int) -> ConceptList:
        page = self._listed[offset : offset + limit]
        return ConceptList.model_construct(concepts=page, total=len(self._listed))

    def concept(self, concept_id: str, **_: Any) -> ConceptDetails:
        self.asked.append(concept_id)
        found = concept(concept_id, ("a", len(self.asked), len(self.asked) + 1))
        others = [each for each in self._listed if each.concept_id != concept_id]
        related = [RelatedConcept.model_construct(concept=each, sources=["of a"]) for each in others]
        return found.model_copy(update={"related": related})


def test_question_pairs_rare_concepts_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make, "_PAGE", 2)
    client: Any = Concepts(heron=20, ring=3, common=21, doubtful=2, estuary=19, riga=1)
    documents = [SetDocument(name, PASSAGE) for name in ("a", "b")]
    for seed in range(3):
        found = list(make.generate_instance_queries(client, "notes", documents, 2, seed))
        assert len(found) == 2, "twice the fair share of one document of two"
        assert sorted(", ".join(each.text for each in found).split(", ")) == [
            "estuary",
            "heron",
            "riga",
            "ring",
        ]
    assert len(list(make.generate_instance_queries(client, "notes", documents, 1, 0))) == 1
    assert list(make.generate_instance_queries(client, "notes", documents[1:], 9, 0)) == []
    first, other = next(make.generate_instance_queries(client, "notes", documents, 2, 0)).text.split(", ")
    assert other == ("heron" if first != "heron" else "estuary"), "the most frequent of those beside it"


def judgement(question: str, document: str, start: int, relevance: int, *, gone: bool = False) -> Judgement:
    source = None if gone else Place.model_construct(start=start, end=start + 5)
    return Judgement.model_construct(
        ontology="o", question=question, document=document, relevance=relevance, source=source
    )


def test_document_is_as_relevant_as_its_best_passage() -> None:
    (query,), notes = build_judged_queries(
        [judgement("q", "a", 10, 1), judgement("q", "a", 0, 2), judgement("q", "b", 0, 1)]
    )
    assert (query.text, dict(query.relevant), query.references) == ("q", {"a": 2, "b": 1}, ())
    assert [(each.document, each.start, each.relevance) for each in query.passages] == [
        ("a", 0, 2),
        ("a", 10, 1),
        ("b", 0, 1),
    ]
    assert notes == []


def test_unusable_judgements_are_skipped_and_counted() -> None:
    queries, notes = build_judged_queries(
        [
            *(judgement("q", "a", 0, 2, gone=True), judgement("q", "a", 10, 0)),
            *(judgement("p", "a", 0, 1), judgement("r", "a", 0, 0)),
        ]
    )
    assert [each.text for each in queries] == ["p"]
    assert notes == [
        "1 judgement skipped: the passages have changed since",
        "1 question skipped: all answers have changed since",
        "1 question skipped: nothing was judged to answer",
    ]


def test_a_set_that_is_written_is_read_again(tmp_path: Path) -> None:
    documents = [SetDocument("one", "Zirconium glows violet.\n"), SetDocument("two", "Herons carry rings.\n")]
    queries = [SetQuery("q1", "what glows", {"one": 1}, (Reference("one", 0, 23),))]
    folder = tmp_path / "made"
    write_set(folder, documents, queries, {"seed": 0})
    found = read_set(folder)
    assert (found.documents, found.queries) == (tuple(documents), tuple(queries))
    assert found.targets == ("documents", "spans")


def test_a_title_goes_above_the_text() -> None:
    sent = build_sent_document(SetDocument("d", "It is long.", "Leases"))
    assert (sent.text, sent.format, sent.title) == ("Leases\n\nIt is long.", "text", "Leases")
    assert sent.find_span(0, 12).model_dump() == {"document": "d", "start": 0, "end": 4}


@given(st.text(max_size=30), st.text(st.characters(exclude_characters="\n"), max_size=10), st.data())
def test_offsets_lead_back_to_the_same_text(text: str, title: str, data: st.DataObject) -> None:
    sent = build_sent_document(SetDocument("d", text, " ".join(title.split())))
    start = data.draw(st.integers(sent.shift, len(sent.text)))
    end = data.draw(st.integers(start, len(sent.text)))
    found = sent.find_span(start, end)
    assert text[found.start : found.end] == sent.text[start:end]


def test_smaller_tiers_are_subsets_of_larger_ones() -> None:
    many = [SetQuery(f"q{n}", "?") for n in range(400)]
    tiers = [sample_queries(many, name) for name in ("pilot", "standard", "full")]
    assert [len(tier) for tier in tiers] == [50, 300, 400]
    names = [{query.query_id for query in tier} for tier in tiers]
    assert names[0] < names[1] < names[2]
    assert sample_queries(many[::-1], "pilot") == tiers[0][::-1]
    assert len({sample_hash(tier) for tier in tiers}) == 3
