"""The pages of communities and of proposed links, without scripts."""

from __future__ import annotations

import httpx

from kg_api.client import KgClient
from kg_api.graph.database import Graph
from tests.service.ui.test_pages import HTMX, shown, words
from tests.support.communities import BAKERY, detect
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
