"""The pages as they come over HTTP, without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from lxml.html import HtmlElement, document_fromstring

from kg_api.access import keys
from kg_api.client import KgClient
from kg_api.discovery.communities import CommunityDetection
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.operations import NewKey
from kg_api.schemas.vocabulary import KeyScope
from kg_api.settings import CommunitySettings
from tests.service.asking import found, ingest, search
from tests.support.browsing import signed_in
from tests.support.communities import BAKERY, HARBOUR, Detecting, detect
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


def test_the_root_leads_people_to_the_search(http: httpx.Client) -> None:
    for path in ("/", "/ui"):
        answer = http.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/search")


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
def test_the_first_page_waits_for_no_counts(http: httpx.Client) -> None:
    page = shown(http, "/ui/search")
    names = page.xpath("//section[@id='results']//tbody//th//text()")
    assert names
    assert not "".join(page.xpath("//section[@id='results']//tbody//td//text()")).strip()
    (later,) = page.xpath("//p[@id='paid'][starts-with(@hx-trigger, 'load')]/@hx-get")
    counted = document_fromstring(http.get(later, headers=HTMX).text)
    assert counted.xpath("//tbody//th//text()") == names
    assert [each["documents"] for each in http.get("/ontologies").json()["ontologies"]] == [
        int(each) for each in words(counted.xpath("//tbody//td[1]"))
    ]
    assert not counted.xpath("//*[@hx-get]"), "it is asked for once"


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


def test_facet_links_apply_their_filter(http: httpx.Client, graph: Graph) -> None:
    for ontology in ("notes", "other"):
        for name in ("a", "b"):
            store_document(graph, record(f"{name}.md", [f"The dance of {name}."], ontology))
    run_jobs(graph)
    page = document_fromstring(http.get("/ui/search/facets?q=dance").text)
    links = {str(each.text): each.get("href") for each in page.xpath("//details[1]//a")}
    assert links.keys() == {"notes", "other"}
    narrowed = shown(http, links["other"])
    assert set(words(narrowed.xpath("//li[@class='hit']/p[@class='where']/a"))) == {"other"}
    (away,) = narrowed.xpath("//span[@class='condition']/a/@href")
    assert len(shown(http, away).xpath("//li[@class='hit']")) == 4


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


@pytest.mark.parametrize("author", [7, True, None, ["Ada", "Bob"]])
@pytest.mark.parametrize("date", ["2025-01-31", None, ["2024", "2025"]])
def test_metadata_is_shown_whatever_it_is(http: httpx.Client, author: Any, date: Any) -> None:
    said = {"author": author, "date": date, "": "x", "title:year": 3, "a b": "R && D"}
    body = {"ontology": "notes", "document": "a.md", "text": "A dance.\n", "metadata": said}
    assert http.post("/documents", json=body).status_code == 202, "it is allowed"
    page = shown(http, "/ui/search?q=dance&mode=text")
    (where,) = words(page.xpath("//li[@class='hit']/p[@class='where']"))
    assert "None" not in where
    assert "[" not in where
    assert shown(http, page.xpath("//li[@class='hit']/h2/a/@href")[0]) is not None
    assert http.get("/ui/search/facets?q=dance").status_code == 200


def test_document_opens_with_any_search_in_url(http: httpx.Client, graph: Graph) -> None:
    store_document(graph, record("a.md", ["One.", "Two."]))
    (found,) = http.get("/documents").json()["documents"]
    for said in (
        "at=9999",
        "at=1&hit=1&q=a&where=colour",
        "at=0&hit=9&q=zzzz&mode=text",
        "at=1&hit=1&q=One&mode=text",
    ):
        page = shown(http, f"/ui/read/{found['document_id']}?{said}")
        assert len(page.xpath("//section[starts-with(@id, 'p')]")) == 2, said
        assert page.xpath("//a[@rel='next' or @rel='prev']") == [], said
    at_source = shown(http, "/ui/read/notes/a.md%231")
    assert at_source.xpath("//section/@id")[0] == "p1"


@pytest.mark.parametrize("path", ["/ui/documents", "/ui/jobs", "/ui/concepts?ontology=notes"])
@pytest.mark.usefixtures("ids")
def test_page_beyond_the_last_links_back(http: httpx.Client, path: str) -> None:
    if path == "/ui/jobs":
        http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    joined = "&" if "?" in path else "?"
    page = shown(http, f"{path}{joined}offset=500")
    assert words(page.xpath("//p[@class='nothing']")) == [
        "This page is past the end of the list. Show the first page."
    ]
    (back,) = page.xpath("//p[@class='nothing']/a/@href")
    assert shown(http, back).xpath("//p[@class='nothing']") == []


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


@pytest.mark.usefixtures("ids")
def test_concepts_are_listed_and_found(http: httpx.Client) -> None:
    listed = words(shown(http, "/ui/concepts?ontology=notes").xpath("//ul[@class='listed']/li/a"))
    assert set(listed) == {"Bees", "waggle dance", "Karl von Frisch"}
    assert (
        words(shown(http, "/ui/concepts?q=Frisch").xpath("//ul[@class='listed']/li/a"))[0]
        == "Karl von Frisch"
    )


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


def test_selected_documents_get_and_lose_tags(http: httpx.Client) -> None:
    for name, tags in (("a", ["x"]), ("b", "y"), ("c", None)):
        body = {"ontology": "notes", "document": f"{name}.md", "text": "Bees.", "metadata": {"tags": tags}}
        assert http.post("/documents", json=body).status_code == 202
    (chosen,) = shown(http, "/ui/documents?ontology=notes").xpath("//form[@class='chosen']")
    ids = chosen.xpath(".//input[@name='documents']/@value")
    back = chosen.xpath(".//input[@name='back']/@value")[0]
    page = shown(http, f"/ui/documents/change?{httpx.QueryParams({'documents': ids[:2], 'back': back})}")
    assert words(page.xpath("//h1")) == ["Change 2 documents"]
    (form,) = page.xpath("//form[@action='/ui/documents/tags']")
    fields = dict(form.form_values()) | {"documents": ids[:2]}

    def tags_after(change: str, tags: str) -> list[Any]:
        led = http.post("/ui/documents/tags", data={**fields, "change": change, "tags": tags})
        assert led.headers["location"] == "/ui/documents?ontology=notes&done=changed"
        return [each["metadata"].get("tags") for each in http.get("/documents").json()["documents"]]

    assert tags_after("add", "x, z") == [["x", "z"], ["y", "x", "z"], None]
    assert tags_after("remove", "z,x") == [None, ["y"], None]


def test_documents_are_searchable_after_embedding(http: httpx.Client, graph: Graph) -> None:
    body = {"ontology": "notes", "document": "a.md", "text": "Bees."}
    document_id = http.post("/documents", json=body).json()["document_id"]
    asked = f"/ui/documents/searchable?ontology=notes&documents={document_id}&documents=none"
    assert http.get(asked).json() == []
    run_jobs(graph)
    assert http.get(asked).json() == [document_id]


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


def test_assets_are_packed_and_kept_for_good(http: httpx.Client) -> None:
    (script,) = [each for each in shown(http, "/ui/search").xpath("//script/@src") if "htmx" in each]
    packed, plain = http.get(script), http.get(script, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert "immutable" in packed.headers["cache-control"]


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


def test_ontology_without_communities_reports_it(http: httpx.Client) -> None:
    page = shown(http, "/ui/communities")
    assert words(page.xpath("//p[@class='nothing']"))[0].startswith("No communities")
    assert http.get("/ui/communities?ontology=notes").status_code == 404


def test_communities_page_starts_the_detection(http: httpx.Client, graph: Graph) -> None:
    at = "/ui/communities?ontology=notes"
    ingest(http, "The harbour is silted up.")
    (none,) = words(shown(http, at).xpath("//p[@class='nothing']"))
    assert "because it has no concepts" in none
    for name, labels in (("a.md", BAKERY), ("b.md", HARBOUR)):
        Detecting(graph).add(name, labels)
    page = shown(http, at)
    assert "No communities in notes yet" in words(page.xpath("//p[@class='nothing']"))[0]
    assert page.xpath("//main//a[starts-with(@href, '/ui/jobs')]") == [], "there is no job to be seen"
    (form,) = page.xpath("//form[@method='post' and contains(@action, '/detect')]")
    assert http.post(form.get("action")).headers["location"] == at
    page = shown(http, at)
    assert "Detecting communities of notes" in words(page.xpath("//p[@class='nothing']"))[0]
    (job,) = http.get("/jobs", params={"ontology": "notes", "kind": "community_detection"}).json()["jobs"]
    assert job["state"] == "queued"
    (jobs,) = page.xpath("//main//a[starts-with(@href, '/ui/jobs')]/@href")
    assert words(shown(http, jobs).xpath("//tbody/tr/th")) == ["community detection"]
    run_jobs(graph, further=[CommunityDetection(graph, CommunitySettings())])
    assert len(shown(http, at).xpath("//ul[@class='listed']/li")) == 2


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


WORDS = ("ontology", "passage", "document", "concept", "community", "embedding space", "proposed link", "job")


def test_every_page_links_to_the_about_page(http: httpx.Client) -> None:
    (to,) = shown(http, "/ui/search").xpath("//body/footer/a[.='Help']/@href")
    page = shown(http, to)
    terms = {each.lower() for each in words(page.xpath("//dl/dt"))}
    assert terms >= {*WORDS}
    for address in {*page.xpath("//main//a/@href")}:
        assert http.get(address).status_code == 200, address


@pytest.mark.usefixtures("ids")
def test_page_titles_match_their_links(http: httpx.Client) -> None:
    links = shown(http, "/ui/search").xpath("//nav[@aria-label='Pages']//a")
    assert len(links) == 13
    for link in links:
        for query in ("", "?ontology=notes"):
            page = shown(http, link.get("href") + query)
            (current,) = page.xpath("//nav[@aria-label='Pages']//a[@aria-current='page']")
            (name,) = words([link])
            assert words([current]) == [name]
            assert name in words(page.xpath("//h1"))[0]
            assert name in page.xpath("//title/text()")[0]


def test_key_is_created_displayed_once_replaced_and_revoked(http: httpx.Client, service: Service) -> None:
    fields = {"name": "ada", "scope": "write", "ontologies": "notes, other", "valid_days": "30"}
    made = http.post("/ui/keys", data=fields)
    assert made.status_code == 201
    (key,) = re.findall(r"kg_[0-9a-f]{8}_[\w-]{43}(?=<)", made.text)
    with KgClient(service.url, api_key=key) as client:
        assert client.ontologies().ontologies == []
    page = http.get("/ui/keys")
    assert key not in page.text
    row = " ".join(words(shown(http, "/ui/keys").xpath("//tbody/tr/*")))
    assert "write in notes, other" in row
    assert "active until" in row
    (rotate,) = shown(http, "/ui/keys").xpath("//form/@action[contains(., '/rotate')]")
    replaced = http.post(rotate)
    assert replaced.status_code == 201
    assert key not in replaced.text
    for revoke in shown(http, "/ui/keys").xpath("//a/@href[contains(., '/revoke')]"):
        before = shown(http, revoke)
        assert "scope write in notes, other" in " ".join(words([before]))
        assert http.post(before.xpath("//main//form/@action")[0], follow_redirects=False).status_code == 303
    assert shown(http, "/ui/keys").xpath("//a/@href[contains(., '/revoke')]") == []
    assert http.get("/ui/keys/00000000/revoke").status_code == 404


def test_invalid_key_form_is_reported(http: httpx.Client) -> None:
    wrong = ({"name": ""}, {"scope": "all"}, {"valid_days": "x"}, {"ontologies": ", ,"})
    for fields in ({"name": "ada", **each} for each in wrong):
        refused = http.post("/ui/keys", data=fields)
        assert refused.status_code == 422, fields
        assert 'class="problem"' in refused.text


def test_unknown_ontologies_of_a_key_are_reported(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease."})
    made = http.post("/ui/keys", data={"name": "ada", "ontologies": "notes, note"})
    (note,) = words(document_fromstring(made.text).xpath("//p[@class='note']"))
    assert "Ontology 'note' not found" in note
    assert "The key works for an ontology as soon as it exists." in note
    made = http.post("/ui/keys", data={"name": "bob", "ontologies": "notes"})
    assert document_fromstring(made.text).xpath("//p[@class='note']") == []


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


def test_pending_documents_are_approved_in_batches(http: httpx.Client) -> None:
    batch = [
        {"ontology": "birds", "document": f"{at:03}.md", "text": f"Bird {at}.", "review": True}
        for at in range(101)
    ]
    assert http.post("/documents/batch", json={"documents": batch}).status_code in {200, 202}
    assert decide(http, "/ui/review?offset=20", "approve", "020.md").status_code == 303
    give(http, "x.md", "Another bird.")
    before = look(http, "Approve")
    assert "101 pending documents, including:" in " ".join(words([before]))
    assert http.get("/documents").json()["total"] == 1, "nothing is decided before it is confirmed"
    portion = send_form_of(http, before)
    assert "100 documents approved" in portion.text
    assert send_form_of(http, document_fromstring(portion.text)).status_code == 303
    assert http.get("/documents").json()["total"] == 102
    give(http, "y.md", "One more.")
    before = look(http, "Reject")
    assert "1 pending document:" in " ".join(words([before]))
    assert http.get("/waiting").json()["total"] == 1
    assert send_form_of(http, before).headers["location"] == "/ui/review?ontology=birds"
    assert http.get("/waiting").json()["total"] == 0
    assert "No pending documents." in " ".join(words([shown(http, "/ui/review")]))


def test_concurrent_decision_is_reported(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "birds", "document": "a.md", "text": "A heron."})
    ingest(http, "A text.", ontology="birds")
    answer = http.post("/ui/review/approve", data={"ontology": "birds", "documents": "gone.md"})
    assert "gone.md is no longer pending" in answer.text
    assert (
        http.post("/ui/review/reject", data={"ontology": "birds", "documents": "gone.md"}).status_code == 303
    )
    assert "No pending documents in birds" in " ".join(
        words([shown(http, "/ui/review/reject?ontology=birds")])
    )
    assert http.get("/ui/review/reject").headers["location"] == "/ui/review"
    for wrong in ({}, {"documents": "a.md", "every": "true"}, {"ontology": "!!", "every": "true"}):
        refused = http.post("/ui/review/approve", data={"ontology": "birds", **wrong})
        assert refused.status_code == 422, wrong


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


def test_pending_document_is_displayed_as_text(http: httpx.Client) -> None:
    give(http, f"{HOSTILE[:25]}.md", f"# {HOSTILE}\n\nDance {HOSTILE}\n", title=HOSTILE)
    page = shown(http, "/ui/review")
    assert page.xpath("//main//script | //main//b | //main//img") == []
    assert HOSTILE in " ".join(words(page.xpath("//li//h2")))


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


def test_it_is_reached_from_hits_and_from_reading(http: httpx.Client, ids: dict[str, str]) -> None:
    assert ids
    hit = shown(http, "/ui/search?q=waggle+dance").xpath("//li[@class='hit'][1]//a[.='Related']/@href")
    page = shown(http, hit[0])
    (back,) = page.xpath("//*[@id='centre']//a[.='Open in document']/@href")
    assert hit[0] in shown(http, back).xpath("//a[.='Related']/@href")
    (whole,) = shown(http, back).xpath("//a[.='Show as graph']/@href")
    assert words(shown(http, whole).xpath("//*[@id='passages']/li/a")) == BEES


def test_unknown_passage_is_not_found(http: httpx.Client) -> None:
    assert http.get("/ui/graph/nothing.md").status_code == 404
