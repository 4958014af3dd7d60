"""Looking at the database behind the product's back."""

from __future__ import annotations

from typing import Any, LiteralString, cast

import neo4j


def rows(driver: neo4j.Driver, text: str, **parameters: Any) -> list[dict[str, Any]]:
    """Run a statement that a test put together; give all its rows."""
    with driver.session() as session:
        return session.run(cast("LiteralString", text), parameters).data()


def statuses(driver: neo4j.Driver, text: str, values: dict[str, Any]) -> set[str]:
    """Run a statement; give the GQL statuses the server told."""
    with driver.session() as session:
        summary = session.run(cast("LiteralString", text), values).consume()
    return {status.gql_status for status in summary.gql_status_objects}
