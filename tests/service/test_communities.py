from __future__ import annotations

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.service.conftest import sharing
from tests.support.communities import BAKERY, HARBOUR, detect


def store_told(graph: Graph, url: str) -> None:
    with KgClient(url) as kg:
        detect(kg, graph)


shared = sharing(store_told)


def test_an_overview_and_each_community_of_it(told: KgClient) -> None:
    page = told.communities("notes")
    assert [set(each.labels) for each in page.communities] == [set(BAKERY), set(HARBOUR)]
    assert (page.total, page.grouped) == (2, 9)
    assert page.computed_at is not None
    second = told.communities("notes", offset=1, limit=1)
    assert second.communities == page.communities[1:]
    details = told.community("notes", second.communities[0].community_id, concepts=3, passages=2)
    assert [len(details.concepts), len(details.passages)] == [3, 2]
    assert details.name == second.communities[0].name
    assert {each.source.document for each in details.passages} <= {f"harbour.md/{at}.md" for at in range(8)}
    assert details.computed_at == page.computed_at


def test_job_is_joined_and_hidden_from_default_lists(told: KgClient) -> None:
    one, other = (told.detect_communities("notes").job_id for _ in range(2))
    assert one == other
    assert one in {job.job_id for job in told.jobs(kind="community_detection").jobs}
    assert one not in {job.job_id for job in told.jobs().jobs}
