"""What kg is and what its words mean, for whoever knows the address alone."""

from __future__ import annotations

import httpx
import pytest

from kg_api.web.ui.rendering import ADMINISTRATION, PLACES, PageLink
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
@pytest.mark.parametrize("place", [*PLACES, *ADMINISTRATION], ids=lambda each: each.name)
def test_a_page_is_called_as_what_leads_to_it(http: httpx.Client, place: PageLink) -> None:
    for query in ("", "?ontology=notes"):
        page = shown(http, place.href + query)
        (current,) = page.xpath("//nav[@aria-label='Pages']//a[@aria-current='page']")
        assert words([current]) == [place.name]
        assert place.name in words(page.xpath("//h1"))[0]
        assert place.name in page.xpath("//title/text()")[0]
