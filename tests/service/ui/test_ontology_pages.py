from pathlib import Path

import httpx
import pytest
from lxml.html import HtmlElement

from kg_api.access import keys
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.schemas.operations import NewKey
from tests.service.asking import embedded
from tests.service.ui.test_pages import shown, words
from tests.support.browsing import signed_in
from tests.support.running import Service
from tests.support.sync import documents, put, work

AT = "/ui/ontologies/notes"
HOSTILE = "<b>bold</b>"


def text_of(page: HtmlElement) -> str:
    return " ".join(words([page]))


def test_ontologies_are_listed_with_counts(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "One passage.\n\nAnother passage.")
    http.post("/documents", json={"ontology": "new", "document": "a.md", "text": "Just come."})
    waits = {"ontology": "birds", "document": "a.md", "text": "It waits.", "review": True}
    http.post("/documents", json=waits)
    page = shown(http, "/ui/ontologies")
    rows = [words(each.xpath("./*")) for each in page.xpath("//tbody/tr")]
    assert [(each[0], each[1], each[4]) for each in rows] == [("new", "1", "0 %"), ("notes", "1", "100 %")]
    assert "1 document of birds needs review" in text_of(page)
    assert page.xpath("//tbody/tr[2]/td[last()]/a/@href") == [AT]


def test_configuration_is_shown_with_the_commands_to_change_it(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "One passage.\n\nAnother passage.")
    page = text_of(shown(http, AT))
    assert "ready for semantic search" in page
    assert "Extractor: " in page
    assert "kg admin source-embeddings config --ontology notes" in page
    assert "kg admin concepts config --ontology notes" in page


def test_who_administers_one_ontology_has_its_forms(guarded: Service, graph: Graph) -> None:
    made = keys.create_key(graph, NewKey(name="chief", scope="admin", ontologies=["notes"]), "local").key
    with httpx.Client(base_url=guarded.url, headers={"Authorization": f"Bearer {made}"}) as sent:
        embedded(graph, sent, "A lease.")
    with signed_in(guarded, made) as client:
        page = shown(client, AT)
        assert page.xpath(f"//form[@action='{AT}/language']")
        assert page.xpath(f"//a[@href='{AT}/delete']")
        assert not page.xpath("//summary[text()='Administration']")


def test_language_and_synonyms_are_set(http: httpx.Client, kg: KgClient) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "Zwei Zwiebeln."})
    assert http.post(f"{AT}/language", data={"language": "de"}).status_code == 303
    assert kg.language("notes").language == "de"
    assert shown(http, AT).xpath("//select[@name='language']/option[@selected]/@value") == ["de"]
    groups = f"k8s = kubernetes\r\n\r\n{HOSTILE} = bold face\r\n"
    assert http.post(f"{AT}/synonyms", data={"groups": groups}).status_code == 303
    page = shown(http, AT)
    (text,) = page.xpath("//textarea/text()")
    assert text == f"k8s = kubernetes\n{HOSTILE} = bold face\n"
    assert page.xpath("//main//b") == []
    assert http.post(f"{AT}/synonyms", data={"groups": "alone"}).status_code == 422
    assert kg.synonyms("notes").groups == [["k8s", "kubernetes"], [HOSTILE, "bold face"]]
    assert http.post(f"{AT}/synonyms", data={"groups": ""}).status_code == 303
    assert kg.synonyms("notes").groups == []


def test_ontology_is_deleted_after_a_preview(http: httpx.Client, tmp_path: Path) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease."})
    http.post("/documents", json={"ontology": "notes", "document": "b.md", "text": "B.", "review": True})
    http.post("/folders", json={"path": str(tmp_path), "ontology": "notes"})
    page = shown(http, f"{AT}/delete")
    told = text_of(page)
    assert "1 document with 1 passage and vectors" in told
    assert "1 pending document" in told
    assert "kg stops syncing 1 folder" in told
    assert http.get("/documents").json()["total"] == 1, "nothing goes before it is confirmed"
    gone = http.post(f"{AT}/delete")
    assert (gone.status_code, gone.headers["location"]) == (303, "/ui/ontologies")
    assert http.get("/ontologies").json() == {"ontologies": [], "waiting": {}}
    assert "No ontologies yet" in text_of(shown(http, "/ui/ontologies"))
    for path in (AT, f"{AT}/delete"):
        assert http.get(path).status_code == 404


MARKUP = "<b>bold</b>"


def follow(http: httpx.Client, path: Path, **more: str) -> str:
    answer = http.post("/ui/folders", data={"path": str(path), "ontology": "notes", **more})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def test_folder_is_synced_and_shows_its_scan(http: httpx.Client, graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / f"notes {MARKUP.replace('/', '')}"
    put(folder, one="The canary sings.\n", two="The second one.\n")
    (folder / f"{MARKUP.replace('/', '')}.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "film.mp4").write_bytes(b"x")
    at = follow(http, folder, every_seconds="3600", prefix="n/", review="true")
    (followed,) = http.get("/folders").json()["folders"]
    assert (followed["every_seconds"], followed["prefix"], followed["review"]) == (3600, "n/", True)
    assert shown(http, "/ui/folders").xpath("//span[@data-poll]") != [], "it is scanned"
    work(graph)
    page = shown(http, at)
    text = " ".join(words([page]))
    assert "scanned every 1 hour" in text
    assert "2 files pending review" in text
    assert "1 file rejected" in text
    assert "1 file skipped: .mp4" in text
    assert page.xpath("//main//b | //span[@data-poll]") == []
    row = words(shown(http, "/ui/folders").xpath("//tbody/tr/*"))
    assert row[0] == str(folder)
    assert row[1:3] == ["notes", "synced"]
    assert row[-2:] == ["0", "1"]


def test_folder_is_removed_after_showing_its_documents(
    http: httpx.Client, graph: Graph, tmp_path: Path
) -> None:
    for delete, left in (("false", 2), ("true", 0)):
        put(tmp_path, one="The canary sings.\n", two="The second one.\n")
        at = follow(http, tmp_path)
        work(graph)
        page = shown(http, f"{at}/remove")
        assert "2 documents of notes came from" in " ".join(words([page]))
        assert len(documents(graph)) == 2, "nothing goes before it is confirmed"
        assert page.xpath("//input[@checked]/@value") == ["false"]
        answer = http.post(f"{at}/remove", data={"delete_documents": delete})
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/folders")
        assert len(documents(graph)) == left
        assert http.get("/folders").json() == {"folders": []}


@pytest.mark.usefixtures("graph")
def test_a_form_that_cannot_succeed_is_not_shown(writing: Service, tmp_path: Path) -> None:
    with httpx.Client(base_url=writing.url) as client:
        page = shown(client, "/ui/folders")
        refused = client.post("/ui/folders", data={"path": str(tmp_path), "ontology": "notes"})
    assert page.xpath("//main//form") == []
    assert "kg folders add PATH on the service" in " ".join(words(page.xpath("//p[@class='note']")))
    assert refused.status_code == 422
