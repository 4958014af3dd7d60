from collections.abc import Iterator
from dataclasses import fields

import httpx
import pytest

from tests.support.browsing import signed_in, token_in
from tests.support.routes import FILTERED, PAGES, admits_some
from tests.support.running import Service
from tests.support.two_libraries import NOWHERE, OTHER, OWN, SECRET, Libraries

OF_EVERYTHING = (
    *("/ui", "/ui/", "/ui/search", "/ui/search?q=common+ferry", "/ui/search?q=common+ferry&mode=text"),
    *("/ui/search?q=common+ferry&mode=graph", "/ui/search?q=common+ferry&judging=1"),
    *("/ui/search?q=boat&kind=image", "/ui/search/facets", "/ui/search/overview"),
    *("/ui/search/facets?q=common+ferry", "/ui/ask", "/ui/ask?q=common+ferry", "/ui/read/{own_document}"),
    *("/ui/read/{own_document}?q=common+ferry&hit=1&at=0", "/ui/read/same.md", "/ui/communities"),
    *("/ui/concepts", "/ui/concepts?q=ferry", "/ui/concepts/{own_concept}?to=tide", "/ui/documents"),
    "/ui/documents/change?documents={own_document}",
    f"/ui/documents/searchable?ontology={OWN}&documents={{own_document}}",
    "/ui/evaluations",
    "/ui/evaluations/one/{own_evaluation}",
    "/ui/evaluations/compare?name={own_evaluation}&name={own_evaluation}",
    "/ui/graph/{own_source}",
    "/ui/graph/{own_image}",
    "/ui/graph/{own_document}",
    "/ui/help",
    "/ui/jobs",
    "/ui/ontologies",
    "/ui/map",
    "/ui/map?colour=date",
    "/ui/map/passages?ids={own_source}",
    "/ui/preview/{own_document}?q=ferry",
    "/ui/proposals",
    "/ui/review",
    "/ui/review/approve",
    "/ui/review/reject",
)
"""Pages that should look the same with a key for some ontologies and with a key for all."""


CHANGED = {
    "POST /ui/ask": "/ui/ask",
    "POST /ui/documents": "/ui/documents",
    "POST /ui/documents/change": "/ui/documents/change",
    "POST /ui/documents/delete": "/ui/documents/delete",
    "POST /ui/documents/tags": "/ui/documents/tags",
    "POST /ui/jobs/{job_id}/cancel": "/ui/jobs/{job}/cancel",
    "POST /ui/jobs/{job_id}/retry": "/ui/jobs/{job}/retry",
    "POST /ui/judgements": "/ui/judgements?q=ferry",
    "POST /ui/proposals/{proposal_id}/{decision}": "/ui/proposals/{proposal}/accept",
    "POST /ui/review/approve": "/ui/review/approve",
    "POST /ui/review/reject": "/ui/review/reject",
}
"""Changes that use the id from another ontology, and routes for forms."""
WAITING = {"ontology": OTHER, "documents": f"{SECRET} waits.md"}
OF_DOCUMENTS = {
    "/ui/documents/change": {"document": "{document}", "title": "Owl"},
    "/ui/documents/delete": {"documents": "{document}"},
    "/ui/documents/tags": {"documents": "{document}", "change": "add", "tags": "owl"},
}
FORMS = {
    "/ui/documents": {"ontology": OTHER},
    "/ui/ask": {"ontology": OTHER, "q": "ferry"},
    "/ui/judgements?q=ferry": {"of": OTHER, "source_id": f"{OTHER}/same.md#0", "relevance": "1"},
    "/ui/review/approve": WAITING,
    "/ui/review/reject": WAITING,
}
"""Form data to send to routes that have no ontology in the URL."""


@pytest.fixture
def page(guarded: Service, libraries: Libraries) -> Iterator[httpx.Client]:
    with signed_in(guarded, libraries.keys["own"]) as client:
        yield client


def test_pages_show_only_visible_ontologies(
    page: httpx.Client, everything: httpx.Client, libraries: Libraries
) -> None:
    ids = {f"own_{each.name}": getattr(libraries.own, each.name) for each in fields(libraries.own)}
    for path in (each.format(**ids) for each in OF_EVERYTHING):
        answer = page.get(path, follow_redirects=True)
        assert answer.status_code == 200, (path, answer.text)
        assert SECRET not in answer.text.lower(), path
        assert libraries.other.document not in answer.text, path
        if "q=common" in path or path == "/ui/search":
            assert SECRET in everything.get(path).text.lower() or "read" in path, "it is worth asking"


OF_ONE = (
    *("/ui/search?q=ferry&ontology=", "/ui/search?ontology=", "/ui/search/facets?ontology="),
    *("/ui/ask?ontology=", "/ui/documents?ontology=", "/ui/documents/searchable?documents=x&ontology="),
    *("/ui/concepts?ontology=", "/ui/concepts?q=ferry&ontology=", "/ui/map?ontology="),
    *("/ui/map?colour=date&ontology=", "/ui/communities?ontology=", "/ui/jobs?ontology="),
    *("/ui/proposals?ontology=", "/ui/review?ontology=", "/ui/evaluations?ontology="),
)


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
def test_page_of_a_hidden_ontology_is_denied(page: httpx.Client, named: str) -> None:
    for path in OF_ONE:
        answer = page.get(path + named)
        assert answer.status_code == 403, path
        assert f"cannot see &#39;{named}&#39;" in answer.text, path


def test_documents_of_others_are_nowhere(page: httpx.Client, libraries: Libraries) -> None:
    other = libraries.other
    for called in (other.document, other.document[:8], other.source, f"{OTHER}/same.md", f"{SECRET} one.md"):
        assert page.get(f"/ui/read/{called}").status_code in {403, 404}, called
        assert page.get(f"/ui/preview/{called}").status_code in {403, 404}, called
        assert page.get(f"/ui/graph/{called}").status_code in {403, 404}, called
    assert "No passages here" in page.get(f"/ui/map/passages?ids={other.source}").text
    assert page.get(f"/images/{other.image}").status_code == 404
    assert page.get(f"/documents/{other.pdf}/pages/1.png").status_code == 404
    assert page.get(f"/images/{libraries.own.image}").status_code == 200
    assert page.get(f"/documents/{libraries.own.pdf}/pages/1.png").status_code == 200
    assert page.get("/documents").json()["documents"][0]["ontology"] == OWN


@pytest.mark.parametrize("path", CHANGED.values())
def test_nothing_of_others_is_changed(page: httpx.Client, libraries: Libraries, path: str) -> None:
    token = {"X-CSRF-Token": token_in(page.get("/ui/search"))}
    file = {"file": ("a.md", b"A ferry.")} if path == "/ui/documents" else None
    form, of_documents = FORMS.get(path), OF_DOCUMENTS.get(path, {})
    ids = {each.name: getattr(libraries.other, each.name) for each in fields(libraries.other)}
    answers = [
        page.post(
            path.format(**given),
            files=file,
            data=form or {name: value.format(**given) for name, value in of_documents.items()},
            headers=token,
        )
        for given in (ids, dict.fromkeys(ids, "f" * 32))
    ]
    refused = 403 if form else 404
    assert [each.status_code for each in answers] == [refused] * 2, answers[0].text


def test_concepts_and_communities_of_others_are_nowhere(page: httpx.Client, libraries: Libraries) -> None:
    own, other = libraries.own, libraries.other
    assert page.get(f"/ui/concepts/{other.concept}").status_code == 404
    assert page.get(f"/ui/documents/change?documents={other.document}").status_code == 404
    assert page.get(f"/ui/evaluations/one/{other.evaluation}").status_code == 404
    both = f"name={own.evaluation}&name={other.evaluation}"
    assert page.get(f"/ui/evaluations/compare?{both}").status_code == 404
    assert page.get(f"/ui/communities/{OTHER}/{other.community}").status_code == 403
    assert page.get(f"/ui/communities/{OWN}/{other.community}").status_code == 404
    assert page.get(f"/ui/communities/{OWN}/{own.community}").status_code == 200


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
def test_hidden_ontology_configuration_is_neither_shown_nor_changed(
    page: httpx.Client, everything: httpx.Client, named: str
) -> None:
    token = {"X-CSRF-Token": token_in(page.get("/ui/search"))}
    before = everything.get("/ontologies").json()
    for below in ("", "/delete"):
        assert page.get(f"/ui/ontologies/{named}{below}").status_code == 403
    for below in ("delete", "language", "synonyms"):
        assert page.post(f"/ui/ontologies/{named}/{below}", headers=token).status_code == 403
    assert everything.get("/ontologies").json() == before
    for below in ("", "/delete"):
        own = page.get(f"/ui/ontologies/{OWN}{below}")
        assert own.status_code == 200
        assert SECRET not in own.text


def test_pages_for_all_of_kg_are_denied(page: httpx.Client) -> None:
    tried = {f"GET {each.partition('?')[0]}" for each in OF_EVERYTHING}
    tried = {each.replace("{own_", "{").replace("}", "_id}") for each in tried}
    tried = {each.replace("{evaluation_id}", "{name}") for each in tried}
    of_some = {each for each in FILTERED if " /ui" in each} - {"POST /ui/logout"}
    assert tried | CHANGED.keys() >= of_some, "add them to OF_EVERYTHING, or to CHANGED"
    for route in PAGES:
        if admits_some(route):
            continue
        method, path = route.split(" ")
        answer = page.request(method, path.replace("{", "no-").replace("}", ""))
        assert answer.status_code == 403, route
        assert "concerns all of kg" in answer.text or method != "GET"
