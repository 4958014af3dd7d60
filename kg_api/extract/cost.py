"""What extraction will take, before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.extract.asking import answer_tokens, batches, key_of, passages_of, question
from kg_api.graph.cache import read_contexts
from kg_api.graph.database import Graph
from kg_api.graph.naming.reach import reach
from kg_api.graph.spaces.due import SourceText, about_documents, sources_of_document
from kg_api.llm.money import price_of, tokens_of
from kg_api.models.concepts.extraction_config import ExtractionCost, UsedExtraction
from kg_api.sections import LlmSettings

SAMPLED_DOCUMENTS = 20
SAMPLED_SOURCES = 400


@dataclass
class _Counted:
    sources: int = 0
    remembered: int = 0
    requests: int = 0
    read: int = 0
    written: int = 0


def extraction_cost(
    graph: Graph, ontology: str, config: UsedExtraction, settings: LlmSettings, due: int
) -> ExtractionCost:
    """Count what reading the sources that are due takes, from a sample of the ontology's documents."""
    if config.extractor != "llm" or not due:
        return ExtractionCost(sources=due)
    row = graph.read("ontologies/sample", ontology=ontology, limit=SAMPLED_DOCUMENTS)[0]
    counted, sampled = _Counted(), 0
    for document_id in row["sample"]:
        _count(graph, document_id, config.per_source, settings, counted)
        sampled += 1
        if counted.sources >= SAMPLED_SOURCES:
            break
    factor = due / counted.sources if counted.sources else 0.0
    read, written = math.ceil(counted.read * factor), math.ceil(counted.written * factor)
    price = price_of(settings, read, written)
    return ExtractionCost(
        sources=due,
        requests=math.ceil(counted.requests * factor),
        tokens_read=read,
        tokens_written=written,
        price=None if price is None else round(price, 6),
        notes=_notes(
            sampled, row["documents"], math.ceil(counted.remembered * factor), priced=price is not None
        ),
    )


def _count(graph: Graph, document_id: str, per_source: int, settings: LlmSettings, counted: _Counted) -> None:
    document = sources_of_document(graph, document_id)
    about = about_documents(graph, [document_id]).get(document_id)
    sources: Sequence[SourceText] = document[:SAMPLED_SOURCES]
    if about is None:
        return
    passages = passages_of(sources, document)
    keys = {key_of(settings.model or "", per_source, about, each): each for each in passages}
    known = read_contexts(graph, list(keys)) if reach() is None else {}  # others may have had the same text
    missing = [each for key, each in keys.items() if key not in known]
    questions = [question(about, batch, per_source) for batch in batches(missing)]
    counted.sources += len(sources)
    counted.remembered += len(sources) - len(missing)
    counted.requests += len(questions)
    counted.read += sum(tokens_of(each.instruction) + tokens_of(each.data) for each in questions)
    counted.written += answer_tokens(missing, per_source)


def _notes(sampled: int, documents: int, remembered: int, *, priced: bool) -> list[str]:
    notes = ["what the language model will write is a guess by the length of the texts"]
    if sampled < documents:
        notes.append(f"estimated from {sampled} of {documents} documents")
    if remembered:
        notes.append(f"about {remembered} sources were read before: their answers are kept and cost nothing")
    if not priced:
        notes.append("the model's price is not known; set KG_LLM__PRICE_INPUT and KG_LLM__PRICE_OUTPUT")
    return notes
