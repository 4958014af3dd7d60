"""The page of documents that wait for approval, without scripts."""

from __future__ import annotations

import httpx
from lxml.html import HtmlElement, document_fromstring

from kg_api.access import keys
from kg_api.graph.client import Graph
from kg_api.schemas.operations import NewKey
from kg_api.schemas.vocabulary import KeyScope
from tests.service.asking import found
from tests.service.ui.test_pages import HOSTILE, shown, words
from tests.support.browsing import signed_in
from tests.support.running import Service


def give(http: httpx.Client, document: str, text: str, ontology: str = "birds", **more: str) -> None:
    sent = {"ontology": ontology, "document": document, "text": text, "review": True, **more}
    assert http.post("/documents", json=sent).status_code == 200


def decide(http: httpx.Client, page: str, decision: str, document: str) -> httpx.Response:
    """Send the form of a document as a browser does."""
    at = f"//form[contains(@action, '/{decision}')][.//button[@aria-label='{decision.title()} {document}']]"
    (form,) = shown(http, page).xpath(at)
    return http.post(form.get("action"), data=dict(form.form_values()))


def look(http: httpx.Client, decision: str) -> HtmlElement:
    """Follow the link that leads to deciding on all of birds."""
    (at,) = shown(http, "/ui/review?ontology=birds").xpath(
        f"//a[@aria-label='{decision} all of birds']/@href"
    )
    return shown(http, at)


def send_form_of(http: httpx.Client, page: HtmlElement) -> httpx.Response:
    (form,) = page.xpath("//main//form")
    return http.post(form.get("action"), data=dict(form.form_values()))


def test_documents_are_approved_and_rejected(http: httpx.Client) -> None:
    stored = {"ontology": "birds", "document": "a.md", "text": "Pelicans were."}
    assert http.post("/documents", json=stored).status_code == 202
    give(http, "a.md", f"Pelicans wait. {'They wait on. ' * 40}")
    give(http, "b.md", "Herons wait.")
    give(http, "c.md", "Owls wait.", "night")
    page = shown(http, "/ui/review")
    assert words(page.xpath("//li//h2")) == ["a", "b", "c"]
    assert words(page.xpath("//blockquote"))[0].endswith("…")
    assert words(page.xpath("//blockquote"))[1] == "Herons wait."
    (before,) = page.xpath("//p[@class='why']/a/@href")
    assert "Pelicans were." in " ".join(words([shown(http, before)]))
    approved = decide(http, "/ui/review?ontology=birds", "approve", "a.md")
    assert (approved.status_code, approved.headers["location"]) == (303, "/ui/review?ontology=birds")
    assert len(found(http, "wait")) == 1
    assert decide(http, "/ui/review", "reject", "b.md").headers["location"] == "/ui/review"
    assert [each["document"] for each in http.get("/waiting").json()["documents"]] == ["c.md"]
    assert not found(http, "herons")


def test_all_of_an_ontology_are_decided_portion_by_portion(http: httpx.Client) -> None:
    batch = [
        {"ontology": "birds", "document": f"{at:03}.md", "text": f"Bird {at}.", "review": True}
        for at in range(101)
    ]
    assert http.post("/documents/batch", json={"documents": batch}).status_code in {200, 202}
    assert decide(http, "/ui/review?offset=20", "approve", "020.md").status_code == 303
    give(http, "x.md", "Another bird.")
    before = look(http, "Approve")
    assert "101 documents wait, the first of them:" in " ".join(words([before]))
    assert http.get("/documents").json()["total"] == 1, "nothing is decided before it is confirmed"
    portion = send_form_of(http, before)
    assert "100 documents approved" in portion.text
    assert send_form_of(http, document_fromstring(portion.text)).status_code == 303
    assert http.get("/documents").json()["total"] == 102
    give(http, "y.md", "One more.")
    before = look(http, "Reject")
    assert "1 document waits:" in " ".join(words([before]))
    assert http.get("/waiting").json()["total"] == 1
    assert send_form_of(http, before).headers["location"] == "/ui/review?ontology=birds"
    assert http.get("/waiting").json()["total"] == 0
    assert "No document waits for approval." in " ".join(words([shown(http, "/ui/review")]))


def test_what_was_decided_meanwhile_is_said(http: httpx.Client) -> None:
    answer = http.post("/ui/review/approve", data={"ontology": "birds", "documents": "gone.md"})
    assert "Nothing waits any more under the name gone.md" in answer.text
    assert (
        http.post("/ui/review/reject", data={"ontology": "birds", "documents": "gone.md"}).status_code == 303
    )
    assert "No document of birds waits" in " ".join(words([shown(http, "/ui/review/reject?ontology=birds")]))
    assert http.get("/ui/review/reject").headers["location"] == "/ui/review"
    for wrong in ({}, {"documents": "a.md", "every": "true"}, {"ontology": "!!", "every": "true"}):
        refused = http.post("/ui/review/approve", data={"ontology": "birds", **wrong})
        assert refused.status_code == 422, wrong


def test_whoever_may_only_read_looks_at_all_without_a_button(guarded: Service, graph: Graph) -> None:
    scopes: tuple[KeyScope, ...] = ("read", "write")
    made = {each: keys.create_key(graph, NewKey(name=each, scope=each), "local").key for each in scopes}
    with httpx.Client(base_url=guarded.url, headers={"Authorization": f"Bearer {made['write']}"}) as sent:
        give(sent, "a.md", "Herons wait.")
    for scope, buttons in (("read", []), ("write", ["Approve all"])):
        with signed_in(guarded, made[scope]) as client:
            page = shown(client, "/ui/review/approve?ontology=birds")
        assert "1 document waits:" in " ".join(words([page]))
        assert words(page.xpath("//main//button")) == buttons


def test_what_waits_is_text(http: httpx.Client) -> None:
    give(http, f"{HOSTILE[:25]}.md", f"# {HOSTILE}\n\nDance {HOSTILE}\n", title=HOSTILE)
    page = shown(http, "/ui/review")
    assert page.xpath("//main//script | //main//b | //main//img") == []
    assert HOSTILE in " ".join(words(page.xpath("//li//h2")))
