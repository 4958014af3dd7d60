"""A question set made from an ontology's documents."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from rich.markup import escape

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.errors import InvalidInput, LlmFailed, NotFound
from kg_api.evaluate.sets.quotes import sample_quotes
from kg_api.evaluate.sets.writing import write_set
from kg_api.models.evaluation import SetDocument, SetQuery
from kg_api.models.library.parsing import Format
from kg_api.parse.documents import parse
from kg_api.parse.sentences import sentence_borders
from kg_api.settings import load_settings
from kg_cli.evaluate.corpus import list_documents
from kg_cli.jobs.waiting import patiently
from kg_cli.terminal import console

QUOTES = "sentences of the documents themselves: they favour full text, and say nothing about other words"
GENERATED = "questions written by a language model for sentences of the documents"
_AROUND = 1500
"""Characters on either side of a sentence that a language model sees."""
_PROSE = {"paragraph", "list_item"}


def make(
    client: KgClient, ontology: str, folder: Path, count: int, seed: int, *, llm: bool
) -> dict[str, Any]:
    """Make a set and write it.

    Args:
        client: of the service.
        ontology: whose documents.
        folder: where the set goes; new or empty.
        count: how many questions, at most.
        seed: the same one chooses the same sentences.
        llm: have a language model ask for them in its own words.

    Returns:
        What was made, as it is also written to about.json.

    Raises:
        NotFound: there is no such ontology, or nothing in it.
        InvalidInput: no sentence can be a question.
        KgError: the service or the language model stays away.
    """
    documents = _documents(client, ontology)
    with console.progress("documents") as bar:
        sentences = (_sentences(each) for each in bar.track(documents, description="reading"))
        queries = sample_quotes(documents, sentences, count, seed)
    if not queries:
        raise InvalidInput(f"no sentence of {ontology!r} is long enough to be a question")
    asked = _ask_queries(documents, queries) if llm else queries
    about = {
        "ontology": ontology,
        "questions": len(asked),
        "kind": GENERATED if llm else QUOTES,
        "left_out": len(queries) - len(asked),
        "documents": len(documents),
        "seed": seed,
        "kg": __version__,
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_set(folder, documents, asked, about)
    return about


def _documents(client: KgClient, ontology: str) -> list[SetDocument]:
    with console.progress("documents") as bar:
        listed = list(list_documents(client, ontology))
        if not listed:
            raise NotFound(f"there is no document in an ontology {ontology!r}; see: kg ontologies")
        fetching = bar.track(listed, description="fetching")
        found = (patiently(partial(client.document, each.document_id)) for each in fetching)
        return [SetDocument(one.document, one.text, one.title, cast("Format", one.format)) for one in found]


def _sentences(document: SetDocument) -> list[tuple[int, int]]:
    """The sentences of prose; headings, code and tables ask nothing."""
    blocks = parse(document.text, document.document, document.format).blocks
    return [
        span
        for block in blocks
        if block.kind in _PROSE
        for span in pairwise(
            [block.start, *sentence_borders(document.text, block.start, block.end), block.end]
        )
    ]


def _ask_queries(documents: Sequence[SetDocument], queries: Sequence[SetQuery]) -> list[SetQuery]:
    """The same places, asked for by a language model; where it fails the question is left out and told."""
    from kg_api.llm.ask_back import ask_back
    from kg_api.llm.chat import open_chat

    texts = {each.document: each.text for each in documents}
    asked = list[SetQuery]()
    with closing(open_chat(load_settings())) as chat, console.progress("questions") as bar:
        for query in bar.track(queries, description="asking the language model"):
            span = query.references[0]
            passage = texts[span.document][max(0, span.start - _AROUND) : span.end + _AROUND]
            try:
                asked.append(replace(query, text=ask_back(chat.ask, passage, query.text)))
            except LlmFailed as error:
                console.say(escape(f"left out: {query.query_id}: {error}"))
    if not asked:
        raise LlmFailed("the language model gives no question at all; choose another by KG_LLM__MODEL")
    return asked
