"""Graphs as tables of all their nodes and edges: from arrays and NetworkX (those of PyTorch Geometric are in ``_pyg``).

Objects are told apart by what they have, not by their classes. Everything becomes one layout: how many nodes and edges
each graph has, the ends of the edges counted within each graph, and blocks of columns with one row per node or edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass
class Columns:
    """Columns that belong together: an array of numbers ``[rows, width]``, or a list of text with width 1."""

    cells: Array | list[str | None]
    names: list[str] | None = None

    @property
    def rows(self) -> int:
        return len(self.cells)

    def taken(self, rows: Array) -> Columns:
        """Some of the rows, in another order."""
        if isinstance(self.cells, list):
            return Columns([self.cells[row] for row in rows], self.names)
        return Columns(self.cells[rows], self.names)


@dataclass
class Tables:
    """Graphs one after the other."""

    nodes: Array
    edges: Array
    edge_index: Array
    node_columns: list[Columns] = field(default_factory=list)
    edge_columns: list[Columns] = field(default_factory=list)
    targets: list[Columns] = field(default_factory=list)
    parts: list[str] | None = None
    #: The number of every node's part (0 trains, 1 validates, 2 tests, -1 is in none), where nodes are split.
    node_parts: Array | None = None

    @property
    def level(self) -> str:
        """Whether the rows of the targets belong to graphs or to nodes."""
        if self.targets and self.targets[0].rows != len(self.nodes) and self.targets[0].rows == int(self.nodes.sum()):
            return "node"
        return "graph"

    def request(self, name: str, before: int = 0) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """The JSON of the native module, and the arrays that it speaks of; ``before`` arrays come before them."""
        import numpy as np

        arrays: list[Any] = []

        def put(values: Array, kind: Any) -> int:
            arrays.append(np.ascontiguousarray(values, dtype=kind))
            return before + len(arrays) - 1

        def columns(all_columns: list[Columns]) -> list[dict[str, Any]]:
            return [block(some) for some in all_columns]

        def block(some: Columns) -> dict[str, Any]:
            if isinstance(some.cells, list):
                return {"width": 1, "names": some.names, "cells": {"text": some.cells}}
            integers = some.cells.dtype.kind in "iub"
            kind, number = ("integers", np.int64) if integers else ("numbers", np.float64)
            return {"width": some.cells.shape[1], "names": some.names, "cells": {kind: put(some.cells, number)}}

        request = {
            "name": name,
            "nodes": put(self.nodes, np.int64),
            "edges": put(self.edges, np.int64),
            "edge_index": [put(self.edge_index[0], np.int64), put(self.edge_index[1], np.int64)],
            "node_columns": columns(self.node_columns),
            "edge_columns": columns(self.edge_columns),
            "targets": columns(self.targets),
            "parts": self.parts,
            "node_parts": None if self.node_parts is None else put(self.node_parts, np.int64),
        }
        return {"tables": request}, tuple(arrays)


def array(values: Any) -> Array:
    """A numpy array of a tensor or of anything like an array."""
    import numpy as np

    if hasattr(values, "detach"):
        try:
            values = values.detach().cpu().numpy()
        except (TypeError, RuntimeError) as error:
            # Sparse ones, and numbers of kinds that numpy does not know.
            raise DataError(f"a tensor of {values.dtype} ({values.layout}) is no array of numpy: {error}") from error
    return np.asarray(values)


def whole_numbers(values: Any, what: str) -> Array:
    """An array of integers."""
    import numpy as np

    found = array(values)
    if found.dtype.kind not in "iubf":
        raise DataError(f"`{what}` holds {found.dtype}: expected whole numbers")
    if found.dtype.kind == "f" and (wrong := found[~np.isfinite(found) | (found != np.trunc(found))]).size:
        raise DataError(f"`{what}` holds {wrong[0]}: expected whole numbers")
    return found.astype(np.int64, copy=False)


def concatenated(parts: Sequence[Any], axis: int = 0) -> Array:
    """Arrays or tensors one after the other; tensors in one piece, because each conversion takes its time."""
    import numpy as np

    if hasattr(parts[0], "detach"):
        import torch

        return array(torch.cat(list(parts), dim=axis))
    return np.concatenate([np.asarray(part) for part in parts], axis=axis)


def as_columns(values: Any, names: list[str] | None = None) -> list[Columns]:
    """A one- or two-dimensional array (or frame) of numbers or text as blocks of columns."""
    if hasattr(values, "columns") and names is None:
        names = [str(name) for name in values.columns]
        values = values.to_numpy()
    elif names is None and isinstance(getattr(values, "name", None), str) and hasattr(values, "to_numpy"):
        names = [values.name]
        values = values.to_numpy()
    table = array(values)
    table = table.reshape(len(table), -1) if table.ndim != 2 else table
    if table.dtype.kind in "iufb":
        return [Columns(table, names)]
    if table.dtype.kind == "c":
        raise DataError("complex numbers: expected real ones, or text")
    return [_column(table[:, at].tolist(), None if names is None else [names[at]]) for at in range(table.shape[1])]


def _column(cells: list[Any], names: list[str] | None) -> Columns:
    """A column of Python's own values: numbers where all of them are, else text."""
    import numpy as np

    def is_missing(cell: Any) -> bool:
        return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ == "NAType"

    present = [cell for cell in cells if not is_missing(cell)]
    if all(isinstance(cell, (bool, int, float, np.number, np.bool_)) for cell in present):
        whole = len(present) == len(cells) and not any(isinstance(cell, (float, np.floating)) for cell in present)
        values = [np.nan if is_missing(cell) else cell for cell in cells]
        return Columns(np.array(values, dtype=np.int64 if whole else np.float64).reshape(-1, 1), names)
    return Columns([None if is_missing(cell) else str(cell) for cell in cells], names)


def from_arrays(arrays: Mapping[str, Any], column: int = 0) -> Tables:
    """From plain arrays: ``edge_index`` [2, edges]; ``ptr`` [graphs + 1] and edges numbered over all graphs, as in a
    batch of PyTorch Geometric, or a single graph; ``x``, ``edge_attr``, ``y``, masks."""
    import numpy as np

    known = {"ptr", "edge_index", "x", "edge_attr", "y", "num_nodes", *MASKS}
    if unknown := sorted(set(arrays) - known):
        raise UsageError(f"arrays {', '.join(unknown)}: the known ones are {', '.join(sorted(known))}")
    if "edge_index" not in arrays:
        raise UsageError("a graph of arrays needs `edge_index`")
    ends = edge_index_of(arrays["edge_index"])
    if "ptr" in arrays:
        ptr = whole_numbers(arrays["ptr"], "ptr")
    else:
        ptr = np.array([0, len(arrays["x"]) if "x" in arrays else num_nodes(arrays.get("num_nodes"))])
    graph = np.searchsorted(ptr, ends[0], side="right") - 1
    if len(graph) and (graph.min() < 0 or graph.max() >= len(ptr) - 1):
        at = int(np.flatnonzero((graph < 0) | (graph >= len(ptr) - 1))[0])
        raise DataError(f"edge {at}: `{int(ends[0][at])}` is no node: there are {int(ptr[-1])}, counted from 0")
    order = np.argsort(graph, kind="stable") if np.any(np.diff(graph) < 0) else None
    if order is not None:
        graph, ends = graph[order], ends[:, order]
    tables = Tables(np.diff(ptr), np.bincount(graph, minlength=len(ptr) - 1), ends - ptr[graph])
    if arrays.get("x") is not None:
        tables.node_columns = as_columns(arrays["x"])
    if arrays.get("edge_attr") is not None:
        tables.edge_columns = as_columns(arrays["edge_attr"])
        if order is not None:
            tables.edge_columns = [some.taken(order) for some in tables.edge_columns]
    if arrays.get("y") is not None:
        tables.targets = as_columns(arrays["y"])
    tables.node_parts = parts_of_nodes(arrays, int(tables.nodes.sum()), column)
    return tables


def num_nodes(count: Any) -> int:
    if count is None:
        raise UsageError("a graph without node features needs `num_nodes`: it is never guessed from the edges")
    return int(count)


def edge_index_of(values: Any) -> Array:
    ends = whole_numbers(values, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise DataError(f"`edge_index` has shape {list(ends.shape)}, expected [2, edges]")
    return ends


#: Masks of nodes, and the number of the part that each is for.
MASKS = {"train_mask": 0, "val_mask": 1, "valid_mask": 1, "test_mask": 2}


def parts_of_nodes(masks: Mapping[str, Any], nodes: int, column: int) -> Array | None:
    """The number of every node's part by the masks of the parts, -1 for none; of masks with several columns, one is used."""
    import numpy as np

    parts = None
    for name in (name for name in MASKS if masks.get(name) is not None):
        mask = array(masks[name])
        if mask.ndim == 2:
            if not 0 <= column < mask.shape[1]:
                raise DataError(f"`{name}` has {mask.shape[1]} columns, one per split: there is no column {column}")
            mask = mask[:, column]
        if mask.shape != (nodes,):
            raise DataError(f"`{name}` has shape {list(mask.shape)}, expected [{nodes}], one entry for each node")
        if mask.dtype.kind != "b" and not np.isin(mask, (0, 1)).all():
            raise DataError(f"`{name}` holds {mask[~np.isin(mask, (0, 1))][0]}: expected true or false for each node")
        chosen, parts = mask.astype(bool), np.full(nodes, -1) if parts is None else parts
        if len(twice := np.flatnonzero(chosen & (parts >= 0))):
            raise DataError(f"`{name}`: node {twice[0]} is in two parts, expected one part for each node")
        parts[chosen] = MASKS[name]
    return parts


def from_networkx(
    graphs: Sequence[Any], target: str | list[str] | None, level: str | None, known: Mapping[str, Any] | None
) -> Tables:
    """From NetworkX graphs: every attribute of a node or edge is a column of its name.

    An edge of an undirected graph stands for both directions. ``known`` is the schema of a model, which says which
    attributes are needed; without it they are those of the first node and edge.
    """
    import numpy as np

    named = [target] if isinstance(target, str) else list(target or [])
    node_rows: list[Mapping[str, Any]] = []
    edge_rows: list[Mapping[str, Any]] = []
    nodes: list[int] = []
    edges: list[int] = []
    sources: list[int] = []
    targets: list[int] = []
    for graph in graphs:
        position = {node: at for at, node in enumerate(graph.nodes)}
        node_rows += [data for _, data in graph.nodes(data=True)]
        before = len(sources)
        for source, end, data in graph.edges(data=True):
            ways = [(source, end)] if graph.is_directed() or source == end else [(source, end), (end, source)]
            for one, other in ways:
                sources.append(position[one])
                targets.append(position[other])
                edge_rows.append(data)
        nodes.append(len(position))
        edges.append(len(sources) - before)

    def columns(rows: list[Mapping[str, Any]], what: str, without: set[str]) -> list[Columns]:
        if known is not None:
            names = [column["name"] for column in known[f"{what}_columns"]]
        else:
            names = [str(name) for name in (rows[0] if rows else {}) if str(name) not in without]
        blocks = []
        for name in names:
            cells = [row.get(name) for row in rows]
            if None in cells and not all(cell is None for cell in cells):
                at = cells.index(None)
                raise DataError(f"{what} {at} of all graphs has no attribute `{name}`; others have it")
            if cells and cells[0] is None:
                raise DataError(f"no {what} has an attribute `{name}`, which the model needs")
            blocks.append(_column(cells, [name]))
        return blocks

    tables = Tables(np.array(nodes), np.array(edges), np.array([sources, targets], dtype=np.int64).reshape(2, -1))
    tables.node_columns = columns(node_rows, "node", set(named))
    tables.edge_columns = columns(edge_rows, "edge", set())
    if named:
        rows = node_rows if level == "node" else [graph.graph for graph in graphs]
        for name in named:
            if all(row.get(name) is None for row in rows):
                raise UsageError(f"no {level or 'graph'} has an attribute `{name}`")
        tables.targets = [_column([row.get(name) for row in rows], [name]) for name in named]
    return tables
