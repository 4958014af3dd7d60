import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.evaluation.sets import read_set
from kg_api.schemas.documents import DocumentPage, DocumentSummary, OntologyList, OntologySummary
from kg_api.schemas.embedding import EmbeddingConfiguration
from kg_api.schemas.search import MatchedChunk, SourceHit, SourceHits
from kg_cli.evaluate import make, run
from kg_cli.evaluate.choice import parse_choice
from kg_cli.evaluate.run import RunSettings, compare_results, evaluate
from tests.unit.cli.test_views import Examples
from tests.unit.evaluate.sets import CORPUS, write

NAME = "eval-handbook-"


class Kg(KgClient):
    """Client that stores documents and finds the right one at each question except with full-text search."""

    def __init__(self) -> None:
        super().__init__("http://kg")
        self.stored: dict[str, dict[str, dict[str, Any]]] = {}
        self.asked: list[str] = []
        self.configured: dict[str, dict[str, Any]] = {}

    def _send(self, call: Any) -> Any:
        name, body = call.params.get("ontology"), call.json or {}
        if call.answer is OntologyList:
            return OntologyList.model_construct(
                ontologies=[OntologySummary.model_construct(ontology=each) for each in self.stored]
            )
        if call.answer is DocumentPage:
            there = [DocumentSummary.model_construct(**each) for each in self.stored[name].values()]
            page = there[call.params["offset"] :][: call.params["limit"]]
            return DocumentPage.model_construct(documents=page, total=len(there))
        if call.path == "/documents":
            about = {"characters": len(body["text"]), "document_id": body["document"], **body}
            self.stored.setdefault(body["ontology"], {})[body["document"]] = about
        self.asked.append(f"{call.method} {call.path} {json.dumps(body)}")
        if call.answer is SourceHits:
            document = "leases" if "lease" in body["query_text"] else "retries"
            chunk = MatchedChunk(text="", start=0, end=5, source_ids=[])
            document = "money" if body.get("mode") == "text" else document
            found = SourceHit.model_construct(document=document, chunk=chunk)
            return SourceHits.model_construct(sources=[found], timings_ms={}, degraded=[])
        answer = Examples("sparse").build(call.answer)
        if call.answer is EmbeddingConfiguration:
            config = self.configured.setdefault(call.path, {})
            config |= body
            answer.config = answer.config.model_copy(update=config)
        return answer


@pytest.fixture
def kg(monkeypatch: pytest.MonkeyPatch) -> Kg:
    client = Kg()
    for name in ("wait_until_embedded", "list_unfinished_jobs"):
        monkeypatch.setattr(make, name, lambda *_, **__: None)
    monkeypatch.setattr(make, "_PAGE", 2)
    monkeypatch.setattr(run, "open_client", lambda: client)
    return client


def settings_for(folder: Path, ontology: str | None = None, *, in_place: bool = False) -> RunSettings:
    return RunSettings(folder, "full", None, 10, ontology, in_place, folder.parent / "results")


def test_configurations_are_measured_once(kg: Kg, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_for(write(tmp_path / "handbook"))
    configs = ["mode=text", "mode=vector", "mode=vector,strategy=sentence"]
    found = compare_results([], configs, settings, None, "first", fresh=False)
    assert [found.metrics[label]["hit_rate@1"] for label in found.labels] == [0.0, 1.0, 1.0]
    usual, other = kg.stored
    assert usual.startswith(NAME)
    assert (len(usual), len(other)) == (len(NAME) + 8, len(NAME) + 17), "hashes of the set and the options"
    assert {*kg.stored[other]} == {each["_id"] for each in CORPUS}
    assert [each for each in kg.asked if each.startswith("PUT")] == [
        f"PUT /ontologies/{other}/embedding-config {json.dumps({'strategy': 'sentence'})}"
    ]
    searches = [each for each in kg.asked if "search" in each]
    assert len(searches) == 3 * (1 + 2), "the first question also warms the connection"
    assert f'"ontology": "{usual}"' in searches[0]
    capsys.readouterr()
    again = compare_results([], [*configs[1:], "mode=hybrid"], settings, None, "first", fresh=False)
    told = capsys.readouterr().err
    for line in ("known: vector", "known: vector strategy=sentence", "measured: hybrid"):
        assert line in told
    assert again.results["vector"] == found.results["vector"]
    saved = [Path(path) for path in found.results.values()]
    known = compare_results(saved, [], None, ["mrr@10"], "best", fresh=False)
    assert (known.baseline, known.results) == ("vector", found.results)
    assert [each for each in kg.asked if "POST /documents" in each][6:] == [], "each document once"
    compare_results([], configs, settings, None, "first", fresh=True)
    assert "known" not in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="has no spans to measure, only documents"):
        compare_results([], configs, replace(settings, target="spans"), None, "first", fresh=True)
    with pytest.raises(InvalidInput, match="name it with --set"):
        compare_results([], configs, None, None, "first", fresh=False)


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        ({"own.md": {"document": "own.md", "uri": None}}, "mode=text", "not of this set"),
        ({"money": {"document": "money", "uri": "file:a"}}, "mode=text", "documents of your own"),
        ({}, "strategy=semantic", r"embedded otherwise \(strategy\)"),
        ({}, "extractor=llm", r"embedded otherwise \(extractor\)"),
    ],
)
def test_ontology_with_other_content_is_not_used(
    kg: Kg, tmp_path: Path, change: dict[str, Any], options: str, told: str
) -> None:
    folder = write(tmp_path / "handbook")
    evaluate(kg, read_set(folder), parse_choice(["mode=text"]), settings_for(folder, "notes"))
    kg.stored["notes"] |= change
    with pytest.raises(Conflict, match=told):
        evaluate(kg, read_set(folder), parse_choice([options]), settings_for(folder, "notes"))


def test_stored_documents_are_used_in_place(kg: Kg, tmp_path: Path) -> None:
    folder = write(tmp_path / "handbook")
    there = settings_for(folder, "notes", in_place=True)
    kg.stored["notes"] = {
        each["_id"]: {"document": each["_id"], "uri": "file:a", "characters": len(each["text"])}
        for each in [*CORPUS, {"_id": "more", "text": ""}]
    }
    choice, questions = parse_choice(["mode=vector"]), read_set(folder)
    assert evaluate(kg, questions, choice, there).result.metrics["hit_rate@1"] == 1.0
    assert not [each for each in kg.asked if "POST /documents" in each]
    kg.stored["notes"]["money"]["characters"] += 1
    with pytest.raises(Conflict, match="was changed since the set was made"):
        evaluate(kg, questions, choice, there)
    del kg.stored["notes"]["money"]
    with pytest.raises(NotFound, match="has no document 'money'"):
        evaluate(kg, questions, choice, there)
    for settings, options, told in [
        (settings_for(folder, in_place=True), "mode=text", "needs --ontology"),
        (there, "strategy=sentence", "Omit strategy"),
        (there, "extractor=llm", "Omit extractor"),
    ]:
        with pytest.raises(InvalidInput, match=told):
            evaluate(kg, questions, parse_choice([options]), settings)
