"""What kg is and what its words mean, for whoever knows the address alone."""

from __future__ import annotations

import httpx
import pytest

from tests.service.ui.test_pages import shown, words

WORDS = ("ontology", "passage", "document", "concept", "community", "embedding space", "proposed link", "job")


def test_every_page_leads_to_what_kg_is(http: httpx.Client) -> None:
    (to,) = shown(http, "/ui/search").xpath("//body/footer/a[.='What is this?']/@href")
    page = shown(http, to)
    terms = {each.lower() for each in words(page.xpath("//dl/dt"))}
    assert terms >= {*WORDS}
    for address in {*page.xpath("//main//a/@href")}:
        assert http.get(address).status_code == 200, address


@pytest.mark.usefixtures("ids")
def test_a_page_is_called_as_what_leads_to_it(http: httpx.Client) -> None:
    links = shown(http, "/ui/search").xpath("//nav[@aria-label='Pages']//a")
    assert len(links) == 15
    for link in links:
        for query in ("", "?ontology=notes"):
            page = shown(http, link.get("href") + query)
            (current,) = page.xpath("//nav[@aria-label='Pages']//a[@aria-current='page']")
            (name,) = words([link])
            assert words([current]) == [name]
            assert name in words(page.xpath("//h1"))[0]
            assert name in page.xpath("//title/text()")[0]
