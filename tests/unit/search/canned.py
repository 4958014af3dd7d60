from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kg_api.graph.client import Graph, Lookup, Row
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.spaces.open_spaces import PROBE_TEXT
from tests.support.embedders import small_embedder
from tests.unit.search.found import place

SMALL, LARGE = small_embedder(), DeterministicEmbedder(dimensions=512)
SPACES = {"default": SMALL, "large": LARGE}


class CannedGraph(Graph):
    def __init__(self, **states: tuple[str, float]) -> None:
        self.states: dict[str, tuple[str, float]] = {
            "source_words": ("ONLINE", 100.0),
            "passage_embedding": ("ONLINE", 100.0),
            "passage_embedding_large": ("ONLINE", 100.0),
            **states,
        }
        self.further: str | None = None
        self.gone: set[str] = set()
        self.unfinished: list[Row] = []
        self.asked: list[tuple[str, Row]] = []
        self.passages = self.ontologies_more = 0

    def read(self, name: str, space: str = "default", /, **parameters: Any) -> list[Row]:
        self.asked.append((name, {**parameters, "in": space}))
        return getattr(self, name.replace("/", "_"))()

    search = read

    def look_up(self, lookups: Sequence[Lookup]) -> list[list[Row]]:
        return [self.read(each.name, each.space, **each.parameters)[0]["found"] for each in lookups]

    def documents_identify(self) -> list[Row]:
        asked = self.asked[-1][1]["document_ids"]
        return [{"document_id": each, "ontology": "o0", "document": "d"} for each in asked]  # all are there

    def indexes_states(self) -> list[Row]:
        rows = ((name, *state) for name, state in self.states.items())
        return [{"name": n, "type": "x", "state": s, "percent": p, "options": {}} for n, s, p in rows]

    def search_count_passages(self) -> list[Row]:
        return [{"passages": self.passages}]

    def search_by_vector(self) -> list[Row]:
        row = ["by vector", "notes", "d", 0.9]
        return [{"found": {"passages": [row], "parents": []}}]

    search_by_vector_in_ontologies = search_by_vector
    search_by_vector_in_documents = search_by_vector

    def search_by_text(self) -> list[Row]:
        row = ["by text", "notes", "d", 3.0, 0.4, True]
        return [{"found": {"looked": 1, "passages": [row], "chunks": []}}]

    def search_known_words(self) -> list[Row]:
        return [{"found": [each["word"] for each in self.asked[-1][1]["queries"]]}]

    def similar_by_ids(self) -> list[Row]:
        there = (each for each in self.asked[-1][1]["source_ids"] if each not in self.gone)
        return [{"found": [place(each).model_dump() for each in there]}]

    def ontologies_configuration(self) -> list[Row]:
        unset = {"chunking": None, "embed_on_ingest": None}
        spaces = [self.further if n == 5 else None for n in range(6)]
        return [{"ontology": f"o{n}", "space": space, **unset} for n, space in enumerate(spaces)]

    def ontologies_count(self) -> list[Row]:
        return [{"ontologies": len(self.ontologies_configuration()) + self.ontologies_more}]

    def ontologies_synonyms(self) -> list[Row]:
        return []

    def spaces_list(self) -> list[Row]:
        rows = [{**asdict(model.identity), "slug": slug} for slug, model in SPACES.items()]
        about = {"state": "active", "created_at": None, "related": 0.65, "unrelated": 0.38}
        return [
            {
                "space": {**row, **about, "probe": SPACES[row["slug"]].embed_query(PROBE_TEXT)},
                "ontologies": [],
            }
            for row in rows
        ]

    def spaces_all(self) -> list[Row]:
        return self.spaces_list()

    def jobs_unfinished(self) -> list[Row]:
        return [{"forced": False, **row} for row in self.unfinished]

    def spaces_find(self) -> list[Row]:
        return self.spaces_list()[:1]

    def times(self, name: str) -> int:
        return [each for each, _ in self.asked].count(name)


POPULATING = ("POPULATING", 40.0)
