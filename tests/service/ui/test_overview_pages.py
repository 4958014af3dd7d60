"""The pages of communities and of proposed links, without scripts."""

from __future__ import annotations

import httpx

from kg_api.client import KgClient
from kg_api.discovery.communities import CommunityDetection
from kg_api.graph.client import Graph
from kg_api.settings import CommunitySettings
from tests.service.asking import ingest
from tests.service.ui.test_pages import HTMX, shown, words
from tests.support.communities import BAKERY, HARBOUR, Detecting, detect
from tests.support.embedding import run_jobs
from tests.support.proposals import propose


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


def test_where_there_are_no_communities_that_is_said(http: httpx.Client) -> None:
    page = shown(http, "/ui/communities")
    assert words(page.xpath("//p[@class='nothing']"))[0].startswith("There are no communities")
    assert http.get("/ui/communities?ontology=notes").status_code == 404


def test_where_none_are_detected_the_page_says_why_and_has_it_done(http: httpx.Client, graph: Graph) -> None:
    at = "/ui/communities?ontology=notes"
    ingest(http, "The harbour is silted up.")
    (none,) = words(shown(http, at).xpath("//p[@class='nothing']"))
    assert "none have been found in it yet" in none
    for name, labels in (("a.md", BAKERY), ("b.md", HARBOUR)):
        Detecting(graph).add(name, labels)
    page = shown(http, at)
    assert "at this moment nobody detects them" in words(page.xpath("//p[@class='nothing']"))[0]
    assert page.xpath("//main//a[starts-with(@href, '/ui/jobs')]") == [], "there is no job to be seen"
    (form,) = page.xpath("//form[@method='post' and contains(@action, '/detect')]")
    assert http.post(form.get("action")).headers["location"] == at
    page = shown(http, at)
    assert "a worker has been asked to detect them" in words(page.xpath("//p[@class='nothing']"))[0]
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
    assert ">open<" in part.text
    assert http.post(accept.replace("accept", "reject"), follow_redirects=False).status_code == 303
    assert kg.proposal(proposed.proposal_id).state == "rejected"
