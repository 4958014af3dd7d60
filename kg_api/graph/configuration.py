"""How each ontology is embedded, as it is stored on the ontology."""

from __future__ import annotations

import json
from typing import Any

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.models.chunking import Chunking
from kg_api.models.configuration import EmbeddingConfig
from kg_api.models.spaces import FIRST_SLUG


def read_configurations(graph: Graph, name: str | None = None) -> dict[str, EmbeddingConfig]:
    """By ontology, in the order of their names; that of one name only, if given."""
    return _by_name(graph.read("ontologies/configuration", name=name))


def read_configuration(tx: Transaction, name: str) -> EmbeddingConfig:
    """Of one ontology, within a transaction; the default when there is no such ontology."""
    return _by_name(tx.run("ontologies/configuration", name=name)).get(name, EmbeddingConfig())


def write_configuration(graph: Graph, name: str, config: EmbeddingConfig) -> None:
    """Set how an ontology is embedded; it is made when it is not there."""
    chunking = config.chunking.model_dump(exclude_none=True)
    graph.write(
        "ontologies/configure",
        name=name,
        space=config.space,
        chunking=json.dumps(chunking, sort_keys=True),
        embed_on_ingest=config.embed_on_ingest,
    )


def _by_name(rows: list[Row]) -> dict[str, EmbeddingConfig]:
    return {row["ontology"]: _config(row) for row in rows}


def _config(row: Row) -> EmbeddingConfig:
    chunking: dict[str, Any] = json.loads(row["chunking"]) if row["chunking"] else Chunking().model_dump()
    on_ingest = row["embed_on_ingest"] is not False
    return EmbeddingConfig(**chunking, space=row["space"] or FIRST_SLUG, embed_on_ingest=on_ingest)
