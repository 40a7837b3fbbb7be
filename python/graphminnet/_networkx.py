"""Graphs of NetworkX, which is not imported: every attribute of a node or edge is a column of its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import DataError, UsageError
from ._tables import Columns, Tables, column_of


def is_graph(data: Any) -> bool:
    """Whether something is a graph of NetworkX."""
    return hasattr(data, "nodes") and hasattr(data, "edges") and hasattr(data, "is_directed")


def from_networkx(
    graphs: Sequence[Any], named: list[str], level: str | None, known: Mapping[str, Any] | None, both_ways: bool
) -> Tables:
    """Graphs with the attributes ``named`` as targets.

    An edge of an undirected graph stands for both directions: it is listed twice, or once where the reader lists it
    again (``both_ways``), as it must where targets belong to edges. ``known`` is the schema of a model, which says which
    attributes are needed; without it all of them are.
    """
    import numpy as np

    node_rows: list[Mapping[Any, Any]] = []
    edge_rows: list[Mapping[Any, Any]] = []
    nodes: list[int] = []
    edges: list[int] = []
    sources: list[int] = []
    targets: list[int] = []
    for graph in graphs:
        position = {node: at for at, node in enumerate(graph.nodes)}
        node_rows += [data for _, data in graph.nodes(data=True)]
        before = len(sources)
        once = both_ways or graph.is_directed()
        for source, end, data in graph.edges(data=True):
            for one, other in [(source, end)] if once or source == end else [(source, end), (end, source)]:
                sources.append(position[one])
                targets.append(position[other])
                edge_rows.append(data)
        nodes.append(len(position))
        edges.append(len(sources) - before)
    tables = Tables(np.array(nodes), np.array(edges), np.array([sources, targets], dtype=np.int64).reshape(2, -1))
    tables.node_columns = _columns(node_rows, "node", set(named) if level == "node" else set(), known)
    tables.edge_columns = _columns(edge_rows, "edge", set(named) if level == "edge" else set(), known)
    if named:
        rows = {"node": node_rows, "edge": edge_rows}.get(level or "graph") or [graph.graph for graph in graphs]
        for name in named:
            if all(row.get(name) is None for row in rows):
                raise UsageError(f"no {level or 'graph'} has an attribute `{name}`")
        tables.targets = [column_of([row.get(name) for row in rows], [name]) for name in named]
    return tables


def _columns(rows: list[Mapping[Any, Any]], what: str, without: set[str], known: Mapping[str, Any] | None) -> list[Columns]:
    # An attribute of another type than text has its text as a name.
    attributes = {str(name): name for row in rows for name in row}
    if known is not None:
        names = [column["name"] for column in known[f"{what}_columns"]]
    else:
        names = [name for name in attributes if name not in without]
    blocks = []
    for name in names:
        cells = [row.get(attributes.get(name)) for row in rows]
        missing = [at for at, cell in enumerate(cells) if cell is None]
        if missing and len(missing) == len(cells):
            raise DataError(f"no {what} has an attribute `{name}`, which the model needs")
        if missing:
            raise DataError(f"{what} {missing[0]} of all graphs has no attribute `{name}`; others have it")
        blocks.append(column_of(cells, [name]))
    return blocks
