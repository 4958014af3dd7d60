"""The pages as they come over HTTP, without scripts."""

import json
import re
from collections.abc import Sequence
from urllib.parse import urlencode

import httpx
import pytest
from lxml.html import HtmlElement, document_fromstring

from kg_api.access import keys
from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.operations import NewKey
from kg_api.schemas.vocabulary import KeyScope
from tests.service.asking import found, search
from tests.support.browsing import signed_in
from tests.support.communities import BAKERY, detect
from tests.support.concept_graph import BEES
from tests.support.embedding import run_jobs
from tests.support.proposals import propose
from tests.support.records import record
from tests.support.running import Service

HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> {{ 7*7 }} &lt;b&gt; \"'`"
PAGES = ("/ui/search", "/ui/search?q=dance", "/ui/documents", "/ui/concepts", "/ui/jobs")


def shown(http: httpx.Client, path: str, **headers: str) -> HtmlElement:
    answer = http.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return document_fromstring(answer.text)


def words(of: Sequence[HtmlElement]) -> list[str]:
    return [" ".join(str(each.text_content()).split()) for each in of]


@pytest.mark.usefixtures("ids")
@pytest.mark.parametrize("path", PAGES)
def test_page_runs_only_its_own_scripts(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
    assert "unsafe" not in policy
    page = document_fromstring(answer.text)
    assert page.xpath("//script[not(@src)] | //style | //@style | //@*[starts-with(name(), 'on')]") == []
    for address in page.xpath("//script/@src | //link/@href"):
        assert http.get(address).status_code == 200
    assert page.xpath("//title/text()")[0].endswith(" · kg")
    assert len(page.xpath("//h1")) == len(page.xpath("//main")) == 1


@pytest.mark.usefixtures("ids")
def test_hits_equal_rest_results_with_marks(http: httpx.Client) -> None:
    page = shown(http, "/ui/search?q=waggle+dance")
    texts = [each["full_text"].strip() for each in search(http, "waggle dance")["sources"]]
    assert words(page.xpath("//li[@class='hit']/blockquote")) == texts
    marked = words(page.xpath("//li[@class='hit'][1]//mark"))
    assert marked == ["waggle dance"]
    assert "keyword rank 1" in words(page.xpath("//p[@class='why']"))[0]
    assert "waggle dance" in words(page.xpath("//li[@class='hit']//a[@class='chip']"))


@pytest.mark.usefixtures("ids")
def test_htmx_receives_only_the_hits(http: httpx.Client) -> None:
    whole, part = http.get("/ui/search?q=bees").text, http.get("/ui/search?q=bees", headers=HTMX).text
    assert "<html" in whole
    assert "<html" not in part
    (section,) = document_fromstring(whole).xpath("//section[@id='results']")
    hits = [words(each.xpath(".//li")) for each in (section, document_fromstring(part))]
    assert hits[0] == hits[1] != []


def test_next_page_continues_after_the_first(http: httpx.Client, graph: Graph) -> None:
    store_document(graph, record("many.md", [f"The dance number {at} of many." for at in range(14)]))
    run_jobs(graph)
    first = shown(http, "/ui/search?q=dance&mode=text")
    (further,) = first.xpath("//p[@class='more']/a/@href")
    second = shown(http, further)
    seen = [words(page.xpath("//li[@class='hit']/blockquote")) for page in (first, second)]
    assert [len(each) for each in seen] == [10, 4]
    assert len({*seen[0], *seen[1]}) == 14
    assert second.xpath("//ol/@start") == ["11"]


def test_facets_count_the_documents_of_the_question(http: httpx.Client) -> None:
    for name, author, date, text in (
        ("a.md", "Ada", "2024-05-01", "A dance."),
        ("b.md", "Ada", "2025-01-31", "The dance."),
        ("c.md", "Bob", "2025-02-01", "No dance."),
        ("d.md", "Cyd", "2020-02-01", "An owl."),
    ):
        said = {"author": author, "date": date, "session": name}
        body = {"ontology": "notes", "document": name, "text": text, "metadata": said}
        assert http.post("/documents", json=body).status_code == 202

    def counted(address: str) -> dict[str, dict[str, tuple[int, str]]]:
        page = document_fromstring(http.get(f"/ui/search/facets?{address.partition('?')[2]}").text)
        found: dict[str, dict[str, tuple[int, str]]] = {}
        for each in page.xpath("//details"):
            (name,) = words(each.xpath("./summary"))
            values = each.xpath(".//li[a]")
            found[name] = {
                words(one.xpath("a"))[0]: (int(words(one.xpath("span"))[0]), one.xpath("a/@href")[0])
                for one in values
            }
        return found

    facets = counted("?q=dance&mode=text")
    assert facets.keys() == {"author", "date (year)"}, "others narrow nothing"
    assert {value: number for value, (number, _) in facets["author"].items()} == {"Ada": 2, "Bob": 1}
    assert [*facets["date (year)"]] == ["2025", "2024"]
    year = facets["date (year)"]["2025"][1]
    assert set(words(shown(http, year).xpath("//li[@class='hit']/blockquote"))) == {"The dance.", "No dance."}
    one = counted(facets["author"]["Ada"][1])
    assert {value: number for value, (number, _) in one["author"].items()} == {"Ada": 2, "Bob": 1}
    both = one["author"]["Bob"][1]
    assert len(shown(http, both).xpath("//li[@class='hit']")) == 3


@pytest.mark.usefixtures("ids")
def test_hit_opens_within_its_document(http: httpx.Client) -> None:
    hits = shown(http, "/ui/search?q=waggle+dance").xpath("//li[@class='hit']/h2/a/@href")
    page = shown(http, hits[1])
    (hit,) = page.xpath("//section[contains(@class, 'hit')]")
    assert hit.get("id") == hits[1].rpartition("#")[2]
    assert words(page.xpath("//section//p")) == ["Bees dance.", *words(page.xpath("//section//p"))[1:]]
    assert len(page.xpath("//section[starts-with(@id, 'p')]")) == 4
    assert page.xpath("//a[@rel='prev']/@href") == [hits[0]]
    assert page.xpath("//a[@rel='next']/@href") == [hits[2]]
    cited = page.xpath("//section[@id='p0']//button/@data-copy")[0]
    assert re.fullmatch(r"[0-9a-f]+#0-\d+", cited)


def test_long_document_loads_further_passages(http: httpx.Client, graph: Graph) -> None:
    store_document(graph, record("long.md", [f"Paragraph {at} of a long document." for at in range(250)]))
    (found,) = http.get("/documents?ontology=notes").json()["documents"]
    page = shown(http, f"/ui/read/{found['document_id']}")
    (further,) = page.xpath("//p[@class='more']/a/@href")
    rest = document_fromstring(http.get(further, headers=HTMX).text)
    numbers = [
        str(each)[1:] for part in (page, rest) for each in part.xpath("//section/@id") if str(each)[0] == "p"
    ]
    assert numbers == [str(at) for at in range(250)]


def test_concept_shows_quotes_and_related_concepts(http: httpx.Client, ids: dict[str, str]) -> None:
    page = shown(http, f"/ui/concepts/{ids['Karl von Frisch']}?to=waggle+dance")
    assert words(page.xpath("//figure/blockquote")) == ["Karl von Frisch"]
    assert words(page.xpath("//ul[@class='listed']/li"))[0].startswith("saw waggle dance")
    assert words(page.xpath("//ol[@class='listed']/li")) == ["Karl von Frisch saw → waggle dance"]
    nowhere = shown(http, f"/ui/concepts/{ids['Karl von Frisch']}?to=zzzz")
    assert "no concept matches 'zzzz'" in words(nowhere.xpath("//p[@class='note']"))[0]
    place = page.xpath("//figcaption/a[1]/@href")[0]
    assert place.endswith("#p2")
    assert shown(http, place).xpath("//section[@id='p2']/@class") == ["passage hit"]


def test_document_is_added_and_deleted_without_scripts(http: httpx.Client) -> None:
    file = {"file": ("hive.md", b"# Hive\n\nBees live in a hive.\n", "text/markdown")}
    added = http.post("/ui/documents", files=file, data={"ontology": "notes"}, follow_redirects=False)
    assert (added.status_code, added.headers["location"]) == (303, "/ui/documents?ontology=notes")
    listed = shown(http, added.headers["location"])
    (ask,) = listed.xpath("//table//a[starts-with(., 'Change')]/@href")
    form = shown(http, ask).xpath("//form[button[@class='danger']]")[0]
    assert "1 document with 1 passage" in words([form])[0]
    assert http.get("/documents").json()["total"] == 1, "nothing goes before it is confirmed"
    gone = http.post(form.get("action"), data=dict(form.form_values()), follow_redirects=False)
    assert gone.headers["location"] == "/ui/documents?ontology=notes&done=deleted"
    assert http.get("/documents").json()["total"] == 0


def test_title_and_metadata_of_a_document_are_edited(http: httpx.Client) -> None:
    body = {"ontology": "notes", "document": "a.md", "text": "Bees.", "metadata": {"year": 2024, "old": "x"}}
    assert http.post("/documents", json=body).status_code == 202
    (before,) = http.get("/documents").json()["documents"]
    page = shown(http, f"/ui/documents/change?documents={before['document_id']}")
    (form,) = page.xpath("//form[@class='fields']")
    fields = [(name, "" if value == "x" else value) for name, value in form.form_values() if name != "title"]
    edited = urlencode([*fields[:-2], ("title", "Hive"), ("key", "author"), ("value", "Ada")])
    led = http.post(
        form.get("action"), content=edited, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert led.headers["location"] == "/ui/documents?done=changed"
    (after,) = http.get("/documents").json()["documents"]
    assert after["title"] == "Hive"
    assert after["metadata"] == {"year": 2024, "author": "Ada"}


def test_jobs_are_shown_and_cancelled(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    page = shown(http, "/ui/jobs")
    assert words(page.xpath("//tbody/tr/th")) == ["passage embedding"]
    (cancel,) = page.xpath("//form[contains(@action, '/cancel')]/@action")
    assert http.post(cancel, follow_redirects=False).status_code == 303
    assert "cancelled" in words(shown(http, "/ui/jobs").xpath("//tbody/tr/td[2]"))[0]


def test_texts_never_become_markup(http: httpx.Client) -> None:
    """HARDENING 89: text of documents, names, and questions is escaped."""
    file = {"file": (f"{HOSTILE[:25]}.md", f"# {HOSTILE}\n\nDance {HOSTILE}\n".encode(), "text/markdown")}
    data = {"ontology": "notes", "title": HOSTILE, "metadata": '{"author": "<b>me</b>"}'}
    assert http.post("/documents", files=file, data=data).status_code == 202
    (found,) = http.get("/documents").json()["documents"]
    question = httpx.QueryParams({"q": f"dance {HOSTILE}", "where": "author=<b>me</b>"})
    for path in (f"/ui/search?{question}", f"/ui/read/{found['document_id']}", "/ui/documents"):
        page = shown(http, path)
        assert page.xpath("//main//script | //main//b | //img[@onerror] | //img[@src='x']") == [], path
        assert HOSTILE in " ".join(words([page]))


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/ui/nowhere", 404, "No page at"),
        ("/ui/read/no-such-document", 404, "no-such-document"),
        ("/ui/search?q=a&where=colour", 422, "'colour' is not a condition"),
        ("/ui/search?q=a&mode=magic", 422, "mode"),
        ("/ui/search?q=a&ontology=!!", 422, "ontology"),
        ("/ui/concepts/ffffffffffffffffffffffffffffffff", 404, "concept"),
        ("/ui/assets/0000/page.css", 404, "Reload the page"),
    ],
)
def test_error_is_a_page(http: httpx.Client, path: str, status: int, said: str) -> None:
    answer = http.get(path)
    assert answer.status_code == status
    assert "x-request-id" in answer.headers
    page = document_fromstring(answer.text)
    assert said in words(page.xpath("//div[@class='problem']"))[0]
    part = http.get(path, headers=HTMX)
    assert (part.status_code, "<html" in part.text) == (status, False)


def test_an_ontology_is_seen_part_by_part(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    detect(kg, graph)
    page = shown(http, "/ui/communities?ontology=notes")
    links = page.xpath("//ul[@class='listed']/li/a/@href")
    assert len(links) == 2
    one = shown(http, links[0])
    assert set(words(one.xpath("//p[@class='chips']/a"))) == set(BAKERY)
    assert len(one.xpath("//figure")) == 10
    (back,) = one.xpath("//main/p[@class='where']/a/@href")
    assert shown(http, back).xpath("//ul[@class='listed']/li/a/@href") == links


def test_links_are_accepted_rejected_and_opened_again(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    propose(kg, graph)
    (proposed,) = kg.proposals("notes", kind="source").proposals
    page = shown(http, "/ui/proposals?ontology=notes")
    (accept,) = page.xpath(f"//form[contains(@action, '{proposed.proposal_id}/accept')]/@action")
    assert http.post(accept, follow_redirects=False).status_code == 303
    assert kg.proposal(proposed.proposal_id).state == "accepted"
    (undo,) = shown(http, "/ui/proposals?state=accepted").xpath("//form/@action[contains(., '/undo')]")
    part = http.post(undo, headers=HTMX)
    assert "<html" not in part.text
    assert ">Open<" in part.text
    assert http.post(accept.replace("accept", "reject"), follow_redirects=False).status_code == 303
    assert kg.proposal(proposed.proposal_id).state == "rejected"


def give(http: httpx.Client, document: str, text: str, ontology: str = "birds", **more: str) -> None:
    sent = {"ontology": ontology, "document": document, "text": text, "review": True, **more}
    assert http.post("/documents", json=sent).status_code == 200


def decide(http: httpx.Client, page: str, decision: str, document: str) -> httpx.Response:
    """Send the form of a document as a browser does."""
    at = f"//form[contains(@action, '/{decision}')][.//button[@aria-label='{decision.title()} {document}']]"
    (form,) = shown(http, page).xpath(at)
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


def test_reader_sees_pages_without_buttons(guarded: Service, graph: Graph) -> None:
    scopes: tuple[KeyScope, ...] = ("read", "write")
    made = {each: keys.create_key(graph, NewKey(name=each, scope=each), "local").key for each in scopes}
    with httpx.Client(base_url=guarded.url, headers={"Authorization": f"Bearer {made['write']}"}) as sent:
        give(sent, "a.md", "Herons wait.")
    for scope, buttons in (("read", []), ("write", ["Approve all"])):
        with signed_in(guarded, made[scope]) as client:
            page = shown(client, "/ui/review/approve?ontology=birds")
        assert "1 pending document:" in " ".join(words([page]))
        assert words(page.xpath("//main//button")) == buttons


SOURCES = [each.source_id for each in record("bees.md", BEES).sources]


def drawn_on(http: httpx.Client, path: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Read the kind of each node and the edges that a page hands to its script."""
    (text,) = shown(http, path).xpath("//@data-graph")
    drawn = json.loads(text)
    edges = [(each["source"], each["target"], each["kind"]) for each in drawn["edges"]]
    return {each["id"]: each["kind"] for each in drawn["nodes"]}, edges


def test_passage_graph_shows_neighbours_and_concepts(http: httpx.Client, ids: dict[str, str]) -> None:
    page = shown(http, f"/ui/graph/{SOURCES[1]}")
    assert words(page.xpath("//*[@id='beside']/li")) == BEES
    assert page.xpath("//a[@class='chip']/@href") == [f"/ui/concepts/{ids['waggle dance']}"]
    kinds, edges = drawn_on(http, f"/ui/graph/{SOURCES[1]}")
    assert kinds[SOURCES[1]] == "passage centre"
    assert {key for key, kind in kinds.items() if kind == "passage"} == {*SOURCES} - {SOURCES[1]}
    assert (SOURCES[1], ids["waggle dance"], "names") in edges
    assert (SOURCES[2], ids["waggle dance"], "names") in edges
    assert (SOURCES[0], SOURCES[1], "next") in edges
    assert {end for each in edges for end in each[:2]} <= kinds.keys()


def test_accepted_link_is_drawn_and_labelled(http: httpx.Client, kg: KgClient, graph: Graph) -> None:
    propose(kg, graph)
    (proposed,) = kg.proposals("notes", kind="source").proposals
    first, second = (each.source.source_id for each in proposed.ends)
    kg.accept_proposal(proposed.proposal_id)
    page = shown(http, f"/ui/graph/{first}")
    (line,) = page.xpath(f"//*[@id='elsewhere']/li[a/@href='/ui/graph/{second}']")
    assert "accepted link" in words([line])[0]
    assert (first, second, "linked") in drawn_on(http, f"/ui/graph/{first}")[1]
