"""Both clients against the running service: the same calls, the same answers, the same errors."""

from __future__ import annotations

import asyncio

import pytest

from kg_api.client import AsyncKgClient, KgClient
from kg_api.errors import Conflict, InvalidInput, NotFound, UnreadableDocument
from kg_api.graph.client import Graph
from tests.support.embedding import run_jobs
from tests.support.running import Service


async def whole_road(url: str, graph: Graph) -> None:
    """Use every method of the asynchronous client once."""
    async with AsyncKgClient(url) as kg:
        assert (await kg.health()).status == "ok"
        assert (await kg.readiness()).ready
        stored = await kg.ingest_text("green apples\n\nand a jar", ontology="notes", document="a.txt")
        upload = await kg.ingest_bytes(b"blue plums", ontology="notes", document="b.txt", metadata={"n": 1})
        await asyncio.to_thread(run_jobs, graph)
        job = await kg.job(stored.job_id or "")
        assert (job.done, (await kg.jobs(ontology="notes")).total) == (2, 1)
        assert [each.job_id async for each in kg.follow_job(job.job_id)] == [job.job_id]
        assert (await kg.queue()).queued == 0
        with pytest.raises(Conflict, match="completed"):
            await kg.cancel_job(job.job_id)
        with pytest.raises(Conflict, match="completed"):
            await kg.retry_job(job.job_id)
        both = await asyncio.gather(kg.search_sources("apples"), kg.search_sources("plums", mode="text"))
        assert [answer.sources[0].document for answer in both] == ["a.txt", "b.txt"]
        source = both[0].sources[0].source_id
        assert (await kg.source(source)).document == "a.txt"
        assert (await kg.source_context(source, window_size=1)).sources[0].source_id == source
        assert [each.sources for each in (await kg.ontologies()).ontologies] == [2]
        assert [each.document for each in (await kg.documents("notes", limit=1)).documents] == ["a.txt"]
        assert (await kg.document(upload.document_id)).metadata == {"n": 1}
        assert (await kg.embedding_status("notes")).embedded == 2
        assert (await kg.delete_document(upload.document_id)).documents == 1
        assert (await kg.delete_ontology("notes")).documents == 1
        with pytest.raises(NotFound):
            await kg.document(upload.document_id)


@pytest.mark.usefixtures("kg")
def test_the_asynchronous_client_goes_the_whole_road(service: Service, graph: Graph) -> None:
    asyncio.run(whole_road(service.url, graph))


def test_errors_of_the_service_are_raised_with_its_message(kg: KgClient) -> None:
    with pytest.raises(NotFound, match="no ontology 'none'"):
        kg.embedding_status("none")
    with pytest.raises(UnreadableDocument, match="PDF"):
        kg.ingest_bytes(b"%PDF-1.7", ontology="notes", document="a.pdf")
    with pytest.raises(Conflict, match="other"):
        kg.search_sources(query_vector=[1.0] * 256, space="other", mode="vector")
    with pytest.raises(InvalidInput, match="256"):
        kg.search_sources(query_vector=[1.0] * 3, space="default", mode="vector")
    with pytest.raises(InvalidInput, match="state"):
        kg.jobs(state="owned")
    with pytest.raises(NotFound, match="there is nothing at "):
        kg.delete_ontology("a/../b")
