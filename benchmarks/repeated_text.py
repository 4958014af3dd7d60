"""How much of what is similar is text that many documents repeat, such as a licence.

    python -m benchmarks.repeated_text ../shared/data/python_peps/rst

Takes in every fourth PEP and reads the graph of its sources, with repeated text compared too. Prints how many
of the first edges have such text at an end.
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
            told = {**machine(), **_edges(client)}
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


if __name__ == "__main__":
    main()
