"""An import that is interrupted, and what is changed while it is exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import DatabaseUnavailable
from kg_api.graph.concepts.extraction_config import read_extraction
from kg_api.graph.database import Graph, Transaction
from kg_api.graph.fulltext.language import read_language
from kg_api.graph.fulltext.synonyms import read_synonyms
from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.graph.proposals.configuration import read_proposals
from kg_api.models.concepts.extraction_config import ExtractionConfig
from kg_api.models.embedding.configuration import EmbeddingConfig
from kg_api.models.proposals.configuration import ProposalConfig
from kg_api.spaces.plans import read_embedding_state
from tests.support.kg import Kg
from tests.support.moving import Mover


@pytest.fixture
def kg(graph: Graph) -> Kg:
    return Kg(graph)


@pytest.mark.parametrize(
    "statement",
    ["ontologies/set_language", "ontologies/set_synonyms", "proposals/configure", "extraction/configure"],
)
def test_an_ontology_is_made_with_all_its_configuration_or_not_at_all(
    graph: Graph, kg: Kg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    kg.configure.set("notes", EmbeddingConfig(strategy="count", chunk_size=30), dry_run=False)
    mover = Mover(kg, tmp_path)
    wanted = mover.configuration().model_copy(
        update={
            "ontology": "moved",
            "language": "de",
            "synonyms": [["lease", "contract"]],
            "extraction": ExtractionConfig(per_source=3),
            "proposals": ProposalConfig(enabled=True),
        }
    )
    run = Transaction.run

    def breaking(tx: Transaction, name: Any, space: str = "default", /, **parameters: Any) -> Any:
        if name == statement:
            raise DatabaseUnavailable
        return run(tx, name, space, **parameters)

    monkeypatch.setattr(Transaction, "run", breaking)
    with pytest.raises(DatabaseUnavailable):
        mover.open(wanted)
    monkeypatch.undo()
    assert "moved" not in names_of_ontologies(graph)
    assert mover.open(wanted).created
    assert read_embedding_state(graph, "moved").target.config.strategy == "count"
    language = read_language(graph, "moved")
    assert (language.language, language.complete) == ("de", True)
    assert read_synonyms(graph, "moved") == [["lease", "contract"]]
    assert read_extraction(graph, "moved").config.per_source == 3
    assert read_proposals(graph, "moved").config.enabled
