import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from tests.service.asking import ingest, problem, search
from tests.support.embedding import run_jobs

COMPOSED, DECOMPOSED = "Übersicht", "U\u0308bersicht"
NAME = "guide/how to install C#.md"


def test_document_is_found_by_name_path_or_id(kg: KgClient) -> None:
    made = kg.ingest_text("# Install\n\nDo this.\n", ontology="notes", document=NAME)
    names = (made.document_id, made.document_id[:8], NAME, f"notes/{NAME}", f"notes / {NAME}")
    assert {kg.document(each).document_id for each in names} == {made.document_id}
    assert kg.document(NAME, ontology="notes").document == NAME
    source = kg.source_context(NAME)
    assert source.sources[0].document == NAME
    assert kg.source(source.source_id[:8]).source_id == source.source_id
    assert kg.source_context(source.source_id[:10]).source_id == source.source_id
    with pytest.raises(NotFound):
        kg.document(made.document_id[:7])
    for each in (NAME, made.document_id[:8]):
        with pytest.raises(NotFound, match="'other'"):
            kg.document(each, ontology="other")


def test_ambiguous_name_is_a_conflict_without_ontology(kg: KgClient) -> None:
    for ontology in ("a", "b"):
        kg.ingest_text(f"Of {ontology}.", ontology=ontology, document="same.md")
    with pytest.raises(Conflict, match=r"a/same\.md .*b/same\.md"):
        kg.delete_document("same.md")
    assert kg.delete_document("same.md", ontology="a").documents == 1
    assert kg.document("same.md").ontology == "b"


def test_both_forms_of_a_name_are_one_document(kg: KgClient) -> None:
    made = kg.ingest_text("Text.", ontology="notes", document=f"{DECOMPOSED}.md")
    again = kg.ingest_text("Text.", ontology="notes", document=f"{COMPOSED}.md")
    assert (again.document_id, again.change) == (made.document_id, "unchanged")
    for name in (COMPOSED, DECOMPOSED):
        assert kg.document(f"notes/{name}.md").document == f"{COMPOSED}.md"
        assert kg.source(f"{name}.md#0").document_id == made.document_id
        for condition in (
            f"document={name}.md",
            f"document contains {name}",
            f"title contains {name.lower()}",
        ):
            assert [each.document for each in kg.documents(where=[condition]).documents] == [f"{COMPOSED}.md"]
        assert kg.documents(where=[f"document!={name}.md"]).documents == []
        assert kg.documents(where=[f"document>={name}.md", f"document<={name}.md"]).total == 1
    dated = kg.ingest_text("Of a month.", ontology="notes", document="2025-03")
    assert [each.document_id for each in kg.documents(where=["document=2025-03"]).documents] == [
        dated.document_id
    ]
    assert kg.delete_document(f"{DECOMPOSED}.md").documents == 1


def test_unknown_name_suggests_the_nearest(kg: KgClient) -> None:
    made = kg.ingest_text("Text.", ontology="notes", document="guide/install.md")
    with pytest.raises(NotFound, match=r"did you mean 'guide/install\.md'"):
        kg.delete_document("instal.md")
    with pytest.raises(NotFound, match=r"did you mean 'guide/install\.md'"):
        kg.source_context("guide/instal.md")
    assert kg.delete_document("guide/install.md").documents == 1
    repeated = kg.delete_document(made.document_id)
    assert (repeated.documents, repeated.sources) == (0, 0)
    assert "nothing was deleted" in repeated.notes[0]


NO_HANDBOK = "ontology 'handbok' not found (did you mean 'handbook'?)"


def test_every_route_suggests_the_nearest_document(http: httpx.Client) -> None:
    ingest(http, "A worker renews its lease.", ontology="handbook", document="pep-0584.rst")
    said = "document 'pep-584.rst' not found in 'handbook' (did you mean 'pep-0584.rst'?)"
    for path, question in (
        ("sources/search", {"query_text": "lease", "mode": "text"}),
        ("augment", {"text": "lease"}),
        ("sources/graph", {}),
    ):
        for documents in (["pep-584.rst"], ["pep-0584.rst", "pep-584.rst"]):
            missing = http.post(f"/queries/{path}", json={**question, "documents": documents})
            assert (missing.status_code, said in missing.json()["detail"]) == (404, True), path
        assert http.post(f"/queries/{path}", json={**question, "documents": ["pep-0584.rst"]}).is_success


def test_documents_are_selected_by_name_path_or_id(http: httpx.Client) -> None:
    ids = {
        place: ingest(http, "A worker renews its lease.", place[1], ontology=place[0])["document_id"]
        for place in (("a", "x/same.md"), ("b", "x/same.md"), ("a", "other.md"), ("x", "same.md"))
    }
    of_both = {ids["a", "x/same.md"], ids["b", "x/same.md"]}
    for called, meant in (
        (["x/same.md"], of_both),  # the whole name comes before an ontology's
        (["b/x/same.md"], {ids["b", "x/same.md"]}),
        ([ids["a", "other.md"]], {ids["a", "other.md"]}),
        ([ids["a", "other.md"][:8], "a/x/same.md"], {ids["a", "other.md"], ids["a", "x/same.md"]}),
    ):
        for path, question in (
            ("sources/search", {"query_text": "lease", "mode": "text"}),
            ("hybrid", {"query_text": "lease", "mode": "text"}),
            ("augment", {"text": "lease", "mode": "text"}),
        ):
            answer = http.post(f"/queries/{path}", json={**question, "documents": called}).json()
            hits = answer["records"] if path == "augment" else answer["sources"]
            assert {each["document_id"] for each in hits} == meant, (path, called)
        graph = http.post("/queries/sources/graph", json={"documents": called}).json()
        assert {each["document_id"] for each in graph["nodes"]} == meant, called
    asked = {"query_text": "lease", "mode": "text", "ontology": "a", "documents": ["b/x/same.md"]}
    missing = problem(http.post("/queries/sources/search", json=asked), 404)
    assert "document 'b/x/same.md' not found" in missing


def test_source_is_addressed_by_document_and_paragraph(kg: KgClient, graph: Graph) -> None:
    text = "\n\n".join(f"Paragraph {n} is of {'lease ' * 60}." for n in range(4))
    made = kg.ingest_text(text, ontology="notes", document=NAME)
    kg.ingest_text(text, ontology="notes", document="issue #17")
    run_jobs(graph)
    for called in (f"notes/{NAME}#2", f"{NAME}#2", f"{made.document_id}#2", f"{made.document_id[:9]}#2"):
        source = kg.source(called)
        assert (source.document, source.paragraph) == (NAME, 2)
        assert kg.source_context(called).source_id == source.source_id
        assert kg.similar_sources(called).source.source_id == source.source_id
    whole = kg.source_context("issue #17").sources[0]
    assert (whole.document, whole.paragraph) == ("issue #17", 0)
    assert kg.source("issue #17#1").paragraph == 1
    begun = kg.source_graph(["notes/issue #17#1"], neighbours=1)
    assert ("issue #17", 1) in {(each.document, each.paragraph) for each in begun.nodes}
    with pytest.raises(NotFound, match=r"no paragraph 4\. The last one is 3"):
        kg.source(f"notes/{NAME}#4")
    with pytest.raises(NotFound, match=r"no paragraph 4\. The last one is 3"):
        kg.source_context(f"notes/{NAME}#4")
    with pytest.raises(NotFound, match=r"did you mean 'notes/issue #17'"):
        kg.source("notes/isue #17#1")


def test_every_route_suggests_the_nearest_ontology(http: httpx.Client, graph: Graph) -> None:
    ingest(http, "A worker renews its lease.", ontology="handbook")
    run_jobs(graph)
    source = search(http, "lease")["sources"][0]["source_id"]
    wrong, partly = {"ontology": "handbok"}, {"ontology": ["handbook", "handbok"]}
    asked = [
        http.post("/queries/sources/search", json={"query_text": "lease", **partly}),
        http.post(f"/queries/sources/{source}/related", json=wrong),
        http.post("/queries/sources/search", json={"query_text": "lease", **wrong}),
        http.post("/queries/hybrid", json={"query_text": "lease", **wrong}),
        http.post("/queries/augment", json={"text": "lease", **wrong}),
        http.post("/queries/sources/graph", json=wrong),
        http.post(f"/queries/sources/{source}/similar", json=wrong),
    ]
    for path, methods in http.get("/openapi.json").json()["paths"].items():
        known = {each["name"]: each["required"] for each in methods.get("get", {}).get("parameters", ())}
        if "ontology" in known and "{" not in path and not path.endswith("/events"):
            required = dict.fromkeys((name for name, is_required in known.items() if is_required), "lease")
            asked.append(http.get(path, params={**required, **wrong}))
    assert len(asked) > 12, "lists of jobs, documents, images, and others"
    for answer in asked:
        assert (answer.status_code, NO_HANDBOK in answer.json()["detail"]) == (404, True), answer.url
    for path in ("embedding-config", "extraction-config", "embedding-status", "concepts", "refused"):
        missing = http.get(f"/ontologies/handbok/{path}")
        assert (missing.status_code, NO_HANDBOK in missing.json()["detail"]) == (404, True), path


def test_job_is_found_by_id_prefix_with_suggestions(kg: KgClient) -> None:
    job = kg.ingest_text("Text.", ontology="notes", document="a").job_id
    assert job is not None
    assert kg.job(job[:8]).job_id == job
    wrong = job[:-1] + ("0" if job[-1] != "0" else "1")
    with pytest.raises(NotFound, match=f"did you mean '{job}'"):
        kg.job(wrong)
    with pytest.raises(NotFound, match=f"did you mean '{job}'"):
        kg.cancel_job(wrong)
    assert kg.cancel_job(job[:8]).state == "cancelled"
