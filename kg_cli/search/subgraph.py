"""Constructive queries: steps that build a subgraph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kg_cli.terminal.answers import emit
from kg_cli.terminal.connect import open_client
from kg_cli.terminal.options import JsonOption, OnlyOntologiesOption, given


def subgraph(
    file: Annotated[
        Path, typer.Argument(help="The query as JSON; - reads standard input.", allow_dash=True)
    ] = Path("-"),
    *,
    ontology: OnlyOntologiesOption = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of queries, such as for an agent.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a subgraph by the steps of a query: seed, expand, filter, rank, limit.

    Example: kg subgraph query.json --ontology notes
        kg subgraph --schema
    """
    from kg_api.models.constructive.query import ConstructiveQuery
    from kg_api.models.problems import valid
    from kg_cli.search.views.subgraph import print_subgraph
    from kg_cli.terminal.console import print_json
    from kg_cli.terminal.inputs import read_object

    if schema:
        print_json(ConstructiveQuery.model_json_schema())
        return
    query = valid(ConstructiveQuery, {**read_object(file), **given(ontology=ontology or None)})
    with open_client() as client:
        answer = client.constructive_query(
            query.steps,
            ontology=query.ontology,
            documents=query.documents,
            where=query.where,
            seconds=query.seconds,
        )
    emit(answer, print_subgraph, as_json=as_json)
