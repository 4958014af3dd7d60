"""The pages as they come over HTTP, without scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from lxml.html import HtmlElement, document_fromstring

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from tests.service.asking import search
from tests.support.embedding import run_jobs
from tests.support.records import record

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
def test_a_page_runs_scripts_of_ours_alone(http: httpx.Client, path: str) -> None:
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
    answer = http.get("/ui", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/search")


@pytest.mark.usefixtures("ids")
def test_hits_are_those_of_rest_with_their_words_marked(http: httpx.Client) -> None:
    page = shown(http, "/ui/search?q=waggle+dance")
    texts = [each["full_text"].strip() for each in search(http, "waggle dance")["sources"]]
    assert words(page.xpath("//li[@class='hit']/blockquote")) == texts
    marked = words(page.xpath("//li[@class='hit'][1]//mark"))
    assert marked == ["waggle dance"]
    assert "1st by words" in words(page.xpath("//p[@class='why']"))[0]
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
def test_htmx_gets_the_hits_alone(http: httpx.Client) -> None:
    whole, part = http.get("/ui/search?q=bees").text, http.get("/ui/search?q=bees", headers=HTMX).text
    assert "<html" in whole
    assert "<html" not in part
    (section,) = document_fromstring(whole).xpath("//section[@id='results']")
    hits = [words(each.xpath(".//li")) for each in (section, document_fromstring(part))]
    assert hits[0] == hits[1] != []


@pytest.mark.usefixtures("ids")
def test_nothing_near_is_said(http: httpx.Client) -> None:
    page = shown(http, "/ui/search?q=zzzz&mode=text")
    assert words(page.xpath("//p[@class='nothing']"))[0].startswith("Nothing was found.")


def test_further_hits_go_on_where_the_first_ended(http: httpx.Client, graph: Graph) -> None:
    store_document(graph, record("many.md", [f"The dance number {at} of many." for at in range(14)]))
    run_jobs(graph)
    first = shown(http, "/ui/search?q=dance&mode=text")
    (further,) = first.xpath("//p[@class='more']/a/@href")
    second = shown(http, further)
    seen = [words(page.xpath("//li[@class='hit']/blockquote")) for page in (first, second)]
    assert [len(each) for each in seen] == [10, 4]
    assert len({*seen[0], *seen[1]}) == 14
    assert second.xpath("//ol/@start") == ["11"]


def test_facets_lead_to_what_they_say(http: httpx.Client, graph: Graph) -> None:
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


def test_a_document_is_read_whatever_its_address_says_of_a_search(http: httpx.Client, graph: Graph) -> None:
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
def test_behind_the_end_of_a_list_is_no_empty_list(http: httpx.Client, path: str) -> None:
    if path == "/ui/jobs":
        http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    joined = "&" if "?" in path else "?"
    page = shown(http, f"{path}{joined}offset=500")
    assert words(page.xpath("//p[@class='nothing']")) == [
        "The list is shorter than that: from its beginning."
    ]
    (back,) = page.xpath("//p[@class='nothing']/a/@href")
    assert shown(http, back).xpath("//p[@class='nothing']") == []


@pytest.mark.usefixtures("ids")
def test_a_hit_is_read_in_its_place_with_the_hits_around_it(http: httpx.Client) -> None:
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


def test_a_long_document_goes_on(http: httpx.Client, graph: Graph) -> None:
    store_document(graph, record("long.md", [f"Paragraph {at} of a long document." for at in range(250)]))
    (found,) = http.get("/documents?ontology=notes").json()["documents"]
    page = shown(http, f"/ui/read/{found['document_id']}")
    (further,) = page.xpath("//p[@class='more']/a/@href")
    rest = document_fromstring(http.get(further, headers=HTMX).text)
    numbers = [
        str(each)[1:] for part in (page, rest) for each in part.xpath("//section/@id") if str(each)[0] == "p"
    ]
    assert numbers == [str(at) for at in range(250)]


def test_a_concept_has_its_quotes_and_the_ways_to_others(http: httpx.Client, ids: dict[str, str]) -> None:
    page = shown(http, f"/ui/concepts/{ids['Karl von Frisch']}?to=waggle+dance")
    assert words(page.xpath("//figure/blockquote")) == ["Karl von Frisch"]
    assert words(page.xpath("//ul[@class='listed']/li"))[0].startswith("saw waggle dance")
    assert words(page.xpath("//ol[@class='listed']/li")) == ["Karl von Frisch saw → waggle dance"]
    nowhere = shown(http, f"/ui/concepts/{ids['Karl von Frisch']}?to=zzzz")
    assert "no concept fits 'zzzz'" in words(nowhere.xpath("//p[@class='note']"))[0]
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


def test_a_document_is_added_shown_and_deleted_without_a_script(http: httpx.Client) -> None:
    file = {"file": ("hive.md", b"# Hive\n\nBees live in a hive.\n", "text/markdown")}
    added = http.post("/ui/documents", files=file, data={"ontology": "notes"}, follow_redirects=False)
    assert (added.status_code, added.headers["location"]) == (303, "/ui/documents?ontology=notes")
    listed = shown(http, added.headers["location"])
    (ask,) = listed.xpath("//table//a[starts-with(., 'Delete')]/@href")
    assert "1 passage" in words(shown(http, ask).xpath("//main/p"))[0]
    assert http.get("/documents").json()["total"] == 1, "nothing goes before it is confirmed"
    assert http.post(ask, follow_redirects=False).status_code == 303
    assert http.get("/documents").json()["total"] == 0


def test_jobs_are_shown_and_cancelled(http: httpx.Client) -> None:
    http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": "A lease.\n"})
    page = shown(http, "/ui/jobs")
    assert words(page.xpath("//tbody/tr/th")) == ["source embedding"]
    (cancel,) = page.xpath("//form[contains(@action, '/cancel')]/@action")
    assert http.post(cancel, follow_redirects=False).status_code == 303
    assert "cancelled" in words(shown(http, "/ui/jobs").xpath("//tbody/tr/td[2]"))[0]


def test_texts_never_become_markup(http: httpx.Client) -> None:
    """HARDENING 89: what documents, names and questions hold is shown as it is."""
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
        ("/ui/nowhere", 404, "there is nothing at"),
        ("/ui/read/no-such-document", 404, "no-such-document"),
        ("/ui/search?q=a&where=colour", 422, "where"),
        ("/ui/search?q=a&mode=magic", 422, "mode"),
        ("/ui/search?q=a&ontology=!!", 422, "ontology"),
        ("/ui/concepts/ffffffffffffffffffffffffffffffff", 404, "concept"),
        ("/ui/assets/0000/page.css", 404, "load the page anew"),
    ],
)
def test_what_is_wrong_is_a_page_that_says_so(http: httpx.Client, path: str, status: int, said: str) -> None:
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
