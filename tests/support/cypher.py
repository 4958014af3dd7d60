import re
from pathlib import Path
from typing import Any, LiteralString, cast

import neo4j

from kg_api.graph.statements import FIRST_IMAGE_INDEX, build_statement, read_area
from tests.support.schema import PROPERTIES, RELATIONSHIP_PROPERTIES, RELATIONSHIPS

ROOT = Path(__file__).parents[2]
STATEMENTS = {
    name: build_statement(name)
    for path in sorted(ROOT.glob("cypher/*.cypher"))
    for name in read_area(path.stem)
}
"""Read the text of each statement as it is sent to the server, by name."""


def rows(driver: neo4j.Driver, text: str, **parameters: Any) -> list[dict[str, Any]]:
    with driver.session() as session:
        return session.run(cast("LiteralString", text), parameters).data()


def make_tokens(driver: neo4j.Driver) -> None:
    """Create and delete a node for each label, with its properties.

    Neo4j plans a statement with an unknown name again when the name exists.
    """
    for label, names in PROPERTIES.items():
        rows(driver, f"CREATE (n:{label}) SET n += $map DELETE n", map=dict.fromkeys(names, "token"))
    for kind in RELATIONSHIPS:
        values = dict.fromkeys(RELATIONSHIP_PROPERTIES.get(kind, ()), "token")
        rows(driver, f"CREATE (a)-[r:{kind}]->(b) SET r += $map DELETE r, a, b", map=values)


def make_image_index(driver: neo4j.Driver) -> None:
    """Create the index for the first image space, because it is used in some statements."""
    config = {"vector.dimensions": 64, "vector.similarity_function": "cosine"}
    made = STATEMENTS["spaces/create_image_index"]
    rows(driver, made, name=FIRST_IMAGE_INDEX, options={"indexConfig": config})


def summary_of(driver: neo4j.Driver, text: str, values: dict[str, Any]) -> neo4j.ResultSummary:
    with driver.session() as session:
        return session.run(cast("LiteralString", text), values).consume()


def statuses_of(summary: neo4j.ResultSummary) -> set[str]:
    return {status.gql_status for status in summary.gql_status_objects}


def statuses(driver: neo4j.Driver, text: str, values: dict[str, Any]) -> set[str]:
    return statuses_of(summary_of(driver, text, values))


def explain(text: str) -> str:
    return re.sub(r"^((?://.*\n)*)(CYPHER 25\n)?", r"\1\2EXPLAIN ", text, count=1)


def parameters_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\$(\w+)", re.sub(r"//.*", "", text)))


def explained_with(text: str) -> dict[str, Any]:
    return dict.fromkeys(parameters_of(text)) | {"limit": 1, "candidates": 1, "offset": 0}
