"""How much of what is similar is text that many documents repeat, such as a licence.

    python -m benchmarks.repeated_text ../shared/data/python_peps/rst

Takes in every fourth PEP and reads the graph of its sources, and what is similar to some of
its documents, with repeated text compared too. Prints how many of the first edges have such text at an end,
and of how many documents the nearest pair is such.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.stack import machine, stack
from kg_api.client import KgClient
from kg_api.schemas.similarity import MAX_NODES, RepeatedText, SourceGraph

ONTOLOGY = "peps"
EVERY = 4
EDGES = 200
DOCUMENTS = 30


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    chosen = parser.parse_args()
    with stack() as running, tempfile.TemporaryDirectory() as folder:
        for path in sorted(chosen.folder.glob("*.rst"))[::EVERY]:
            (Path(folder) / path.name).symlink_to(path.resolve())
        running.kg("ingest", folder, "--ontology", ONTOLOGY, "--wait")
        running.rest()
        with running.client() as client:
            told = {**machine(), **_edges(client), **_nearest(client)}
    print(json.dumps(told, indent=1))


def _edges(kg: KgClient) -> dict[str, Any]:
    """Of the first edges, how many lead from or to text that is set apart by default."""
    apart = _set_apart(_graph(kg, repeated=False).repeated)
    edges = _graph(kg, repeated=True).edges[:EDGES]
    found = sum(1 for edge in edges if {edge.a, edge.b} & apart)
    return {"set_apart": len(apart), "edges": len(edges), "edges_of_repeated": found}


def _set_apart(repeated: Sequence[RepeatedText]) -> set[str]:
    """The sources of texts that many documents repeat."""
    return {each for one in repeated for each in one.source_ids}


def _graph(kg: KgClient, *, repeated: bool) -> SourceGraph:
    return kg.source_graph(ontology=ONTOLOGY, max_nodes=MAX_NODES, repeated=repeated)


def _nearest(kg: KgClient) -> dict[str, Any]:
    """Of some documents, how many have a nearest pair that is such text."""
    documents = kg.documents(ontology=ONTOLOGY, limit=DOCUMENTS).documents
    found = sum(_is_nearest_repeated(kg, each.document_id) for each in documents)
    return {"documents": len(documents), "nearest_is_repeated": found}


def _is_nearest_repeated(kg: KgClient, document_id: str) -> bool:
    apart = _set_apart(kg.similar_documents(document_id, repeated=False).repeated)
    alike = kg.similar_documents(document_id, repeated=True, pairs=1).documents
    nearest = max((each.pairs[0] for each in alike), key=lambda pair: pair.similarity, default=None)
    return nearest is not None and nearest.own.source_id in apart


if __name__ == "__main__":
    main()
