"""The documents of a question set, in an ontology of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kg_api.client import KgClient
from kg_api.errors import Conflict, KgError, NotFound, Unavailable
from kg_api.evaluate.identity import describe_embedding
from kg_api.evaluate.sending import EVALUATED, SentDocument, as_sent
from kg_api.models.embedding.configuration import EmbeddingConfiguration
from kg_api.models.evaluation import QuestionSet
from kg_api.models.library.documents import DocumentSummary, Ingested
from kg_cli.documents.upload import PARALLEL_UPLOADS
from kg_cli.evaluate.choice import Choice
from kg_cli.jobs.waiting import patiently, unfinished_jobs, wait_for_jobs, wait_until_embedded
from kg_cli.terminal import console

_MAX_NAME_LENGTH = 60
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set's documents as kg has them."""

    ontology: str
    sent: Mapping[str, SentDocument]
    description: Mapping[str, Any]
    """How the ontology is embedded, for the record."""


def own_ontology(questions: QuestionSet, choice: Choice) -> str:
    """Name a set's ontology by the set, its content, and the configuration if it is not the usual one."""
    name = re.sub(r"[^\w.\-]+", "-", questions.name).strip("-.")[:_MAX_NAME_LENGTH]
    return "-".join(filter(None, ["eval", name, questions.corpus_hash[:8], choice.corpus]))


def take_in(client: KgClient, questions: QuestionSet, choice: Choice, ontology: str | None) -> Corpus:
    """Store what is not there yet, and wait until all of it is embedded.

    Args:
        client: of the service.
        questions: the set.
        choice: how the ontology is to be embedded.
        ontology: its name; unset: one of its own.

    Raises:
        Conflict: the ontology holds other documents, or is embedded otherwise.
        KgError: the service refuses a document, or stays away.
    """
    name = ontology or own_ontology(questions, choice)
    sent = {each.document: as_sent(each, choice.titles) for each in questions.documents}
    stored = {each.document: each for each in _list_stored(client, name)}
    if strangers := sorted(stored.keys() - sent.keys()):
        raise Conflict(
            f"the ontology {name!r} holds documents that are not of this set, such as {strangers[0]!r}. "
            "Omit --ontology and it gets one of its own, or add --in-place to use it as it is."
        )
    if own := sorted(each.document for each in stored.values() if not (each.uri or "").startswith(EVALUATED)):
        raise Conflict(
            f"the ontology {name!r} holds documents that no evaluation brought, such as {own[0]!r}, and they "
            "would be replaced. Omit --ontology, or add --in-place to use it as it is."
        )
    _configure(client, name, choice, exists=bool(stored))
    there = {each.document: each.uri for each in stored.values()}
    due = [each for each in sent.values() if there.get(each.document) != each.uri]
    _upload(client, name, due)
    wait_until_embedded(client, name, unfinished_jobs(client, ontology=name))
    return Corpus(name, sent, _read_embedding(client, name))


def in_place(client: KgClient, questions: QuestionSet, ontology: str) -> Corpus:
    """Take an ontology as it is; it must hold the set's documents, and may hold more.

    Raises:
        NotFound: a document of the set is not there.
        Conflict: one has another length, so that no offset can be trusted.
    """
    sent = {each.document: as_sent(each, "field") for each in questions.documents}
    stored = {each.document: each for each in _list_stored(client, ontology)}
    for each in sent.values():
        there = stored.get(each.document)
        if there is None:
            raise NotFound(
                f"the ontology {ontology!r} has no document {each.document!r}, which the set names"
            )
        if there.characters != each.length:
            raise Conflict(
                f"{each.document!r} has {each.length} characters in the set and {there.characters} in "
                f"{ontology!r}: it was changed since the set was made. Make the set again."
            )
    return Corpus(ontology, sent, _read_embedding(client, ontology))


def _list_stored(client: KgClient, ontology: str) -> Iterator[DocumentSummary]:
    if ontology in {each.ontology for each in patiently(client.ontologies).ontologies}:
        yield from list_documents(client, ontology)


def wait_for_concepts(client: KgClient, corpus: Corpus) -> Corpus:
    """Wait until all concepts are extracted and embedded; how many there are goes into the record.

    Raises:
        Conflict: there are none, so that what is measured would be another mode.
        JobFailed: a job is dead or cancelled.
    """
    name = corpus.ontology
    wait_for_jobs(client, unfinished_jobs(client, kind="concept_extraction", ontology=name))
    patiently(
        partial(client.search_concepts, "concepts", ontology=name, limit=1)
    )  # embeds those of one source
    wait_for_jobs(client, unfinished_jobs(client, kind="concept_embedding", ontology=name))
    found = patiently(partial(client.extraction_config, name))
    if not found.concepts:
        raise Conflict(
            f"the ontology {name!r} has no concepts, and this mode searches through them; set an extractor "
            f"by `kg admin concepts config --ontology {name!r} --extractor keyphrase`, or choose another mode"
        )
    told = {**found.used.model_dump(exclude={"budget"}), "found": found.concepts, "due": found.due}
    return replace(corpus, description={**corpus.description, "concepts": told})


def list_documents(client: KgClient, ontology: str) -> Iterator[DocumentSummary]:
    """All documents of an ontology, page by page."""
    offset, total = 0, 1
    while offset < total:
        page = patiently(partial(client.documents, ontology, offset=offset, limit=_PAGE))
        yield from page.documents
        offset, total = offset + _PAGE, page.total


def _configure(client: KgClient, ontology: str, choice: Choice, *, exists: bool) -> None:
    """Set how a new ontology is embedded and read; one that is there must be so already."""
    if not exists:
        if choice.embedding:
            client.set_embedding_config(ontology, **choice.embedding)
        if choice.extraction:
            client.set_extraction_config(ontology, **choice.extraction)
        return
    wanted = {**choice.embedding, **choice.extraction}
    config = client.embedding_config(ontology).config.model_dump() if choice.embedding else {}
    if choice.extraction:
        config |= client.extraction_config(ontology).used.model_dump()
    if other := [name for name, value in wanted.items() if config.get(name) != value]:
        raise Conflict(
            f"the ontology {ontology!r} is embedded otherwise ({', '.join(other)}). Omit --ontology "
            "and the set gets one of its own."
        )


def _upload(client: KgClient, ontology: str, due: Sequence[SentDocument]) -> None:
    if not due:
        return
    with console.progress("documents") as bar, ThreadPoolExecutor(PARALLEL_UPLOADS) as pool:
        task = bar.add_task("taking in", total=len(due))
        for _ in pool.map(partial(_send, client, ontology), due):  # an error cancels those that wait
            bar.advance(task)


def _send(client: KgClient, ontology: str, sent: SentDocument) -> Ingested:
    send = partial(client.ingest_text, sent.text, ontology=ontology, document=sent.document)
    try:
        return patiently(partial(send, title=sent.title, format=sent.format, uri=sent.uri))
    except Unavailable:
        raise
    except KgError as error:
        raise type(error)(f"the document {sent.document!r} of the set: {error}") from error


def _read_embedding(client: KgClient, ontology: str) -> dict[str, Any]:
    """How it is embedded, and by which model."""
    found: EmbeddingConfiguration = patiently(partial(client.embedding_config, ontology))
    return describe_embedding(ontology, found, patiently(client.embedding_spaces).spaces)
