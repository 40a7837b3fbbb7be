"""Graphs of PyTorch Geometric, which is not imported: objects are told by what they have, not by their classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._errors import DataError
from ._html import counted
from ._tables import (
    MASKS, Tables, array, as_columns, concatenated, edge_index_of, from_arrays, num_nodes, pair_columns, parts_of_nodes
)  # fmt: skip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def from_pyg(graphs: Sequence[Any], level: str | None = None, column: int = 0, labels: bool = True) -> Tables:
    """From a list of ``Data``, or of anything with ``edge_index`` and perhaps ``x``, ``edge_attr``, ``y``, masks,
    ``edge_label_index`` and ``edge_label``; without ``labels`` targets and masks are not looked at."""
    import numpy as np

    given = _Fields(graphs)
    ends, edges = given.ends("edge_index")
    if not ends.size and not edges:
        raise DataError("graph 0: `edge_index` is missing")
    features = given.of_all("x")
    nodes = _sizes(features, "x") if features else [_num_nodes(graph) for graph in graphs]
    tables = Tables(np.array(nodes), np.array(edges), ends)
    if features:
        tables.node_columns = as_columns(_together(features, "x"))
    if attributes := given.of_all("edge_attr"):
        tables.edge_columns = as_columns(_together(attributes, "edge_attr", edges))
    pairs, counts = given.ends("edge_label_index") if level in (None, "pair") else (None, [])
    if counts:
        tables.pair_index, tables.pairs = pairs, np.array(counts)
    if not labels:
        return tables
    if counts:
        if found := given.of_all("edge_label"):
            tables.pair_targets = pair_columns(_together(found, "edge_label", counts))
    else:
        values = given.of("y")
        if all(value is not None for value in values):
            tables.targets = as_columns(_labels(values, nodes, edges, level))
    masks = {name: _together(found, name, nodes) for name in MASKS if (found := given.of_all(name))}
    tables.row_parts = parts_of_nodes(masks, int(tables.nodes.sum()), column)
    return tables


def _num_nodes(graph: Any) -> int:
    with warnings.catch_warnings():
        # What PyTorch Geometric says when it guesses from the edges.
        warnings.simplefilter("error", UserWarning)
        try:
            return num_nodes(getattr(graph, "num_nodes", None))
        except UserWarning:
            return num_nodes(None)


def _sizes(values: list[Any], what: str, axis: int = 0) -> list[int]:
    """How long each is along an axis."""
    try:
        if hasattr(values[0], "detach"):
            return [value.size(axis) for value in values]
        return [value.shape[axis] for value in values]
    except IndexError:
        wrong = next(at for at, value in enumerate(values) if len(value.shape) <= axis)
        raise DataError(f"graph {wrong}: `{what}` has shape {list(values[wrong].shape)}") from None


def _together(values: list[Any], what: str, rows: list[int] | None = None, axis: int = 0) -> Array:
    """The rows of all graphs, which must have the same columns and as many rows as there should be."""
    if rows is not None and (sizes := _sizes(values, what)) != rows:
        at = next(at for at, (found, wanted) in enumerate(zip(sizes, rows)) if found != wanted)
        raise DataError(f"graph {at}: `{what}` has {counted(sizes[at], 'row')}, expected {rows[at]}")
    try:
        return concatenated(values, axis)
    except (RuntimeError, ValueError) as error:
        shapes = [list(value.shape) for value in values]
        wrong = next((at for at, shape in enumerate(shapes) if len(shape) != len(shapes[0])), None)
        if wrong is None:
            others = [[size for at, size in enumerate(shape) if at != axis] for shape in shapes]
            wrong = next((at for at, other in enumerate(others) if other != others[0]), None)
        if wrong is None:
            raise DataError(f"`{what}` of all graphs cannot be put together: {error}") from error
        raise DataError(f"graph {wrong}: `{what}` has shape {shapes[wrong]}, in graph 0 it has {shapes[0]}") from error


class _Fields:
    """The fields of many graphs. Those of PyG are taken from the dictionary behind them: each look at an attribute takes
    its time, and so does each copy of the dictionary."""

    def __init__(self, graphs: Sequence[Any]) -> None:
        self.graphs = graphs
        try:
            self.dictionaries: list[Any] | None = [graph._store._mapping for graph in graphs]
            self.names: set[str] = set().union(*self.dictionaries)
        except AttributeError:
            self.dictionaries = None

    def of(self, name: str) -> list[Any]:
        """A field of every graph, None where there is none."""
        if self.dictionaries is None:
            return [getattr(graph, name, None) for graph in self.graphs]
        if name not in self.names:
            return [None] * len(self.graphs)
        return [fields.get(name) for fields in self.dictionaries]

    def of_all(self, name: str) -> list[Any]:
        """A field that all graphs have, or nothing if none has it."""
        if self.dictionaries is not None and name not in self.names:
            return []
        values = self.of(name)
        kinds = {type(value) for value in values}
        if type(None) not in kinds:
            return values if len(kinds) == 1 and hasattr(values[0], "shape") else [array(value) for value in values]
        if len(kinds) == 1:
            return []
        missing = next(at for at, value in enumerate(values) if value is None)
        raise DataError(f"graph {missing}: `{name}` is missing; other graphs have it")

    def ends(self, name: str) -> tuple[Any, list[int]]:
        """The ends of all edges or pairs ``[2, …]``, and how many each graph has; nothing if none has any."""
        import numpy as np

        values = self.of_all(name)
        if not values:
            return np.zeros((2, 0), dtype=np.int64), []
        # Shapes are looked at one by one only where something is wrong: it takes its time.
        try:
            return edge_index_of(_together(values, name, axis=1), name), _sizes(values, name, 1)
        except DataError:
            rest = "edges" if name == "edge_index" else "pairs"
            for at, value in enumerate(values):
                if len(value.shape) != 2 or value.shape[0] != 2:
                    raise DataError(f"graph {at}: `{name}` has shape {list(value.shape)}, expected [2, {rest}]") from None
            raise


def _labels(labels: list[Any], nodes: list[int], edges: list[int], level: str | None) -> Array:
    """One row per graph, or per node or edge where the level says so or, without one, where there are as many as nodes."""
    import numpy as np

    if len({type(label) for label in labels}) == 1 and hasattr(labels[0], "shape") and len(labels[0].shape):
        try:
            sizes = _sizes(labels, "y")
            of_rows = sizes == {"node": nodes, "edge": edges, None: nodes}.get(level)
            if of_rows or (level in (None, "graph") and max(sizes) == min(sizes) == 1):
                table = _together(labels, "y")
                return table.reshape(len(table), -1)
        except DataError:
            pass
    tables = [array(label) for label in labels]
    lengths = [len(table) if table.ndim else 1 for table in tables]
    if level in ("node", "edge"):
        expected = nodes if level == "node" else edges
        wrong = next((at for at, length in enumerate(lengths) if length != expected[at]), None)
        if wrong is not None:
            raise DataError(f"graph {wrong}: `y` has {counted(lengths[wrong], 'row')}, expected {expected[wrong]}, one per {level}")
        return np.concatenate([table.reshape(len(table), -1) for table in tables])
    if all(length == 1 for length in lengths):
        return np.concatenate([table.reshape(1, -1) for table in tables])
    if lengths == nodes and level is None:
        return np.concatenate([table.reshape(len(table), -1) for table in tables])
    if all(table.ndim == 1 and length == lengths[0] for table, length in zip(tables, lengths)):
        return np.stack(tables)
    raise DataError("`y` has neither one row per graph nor one per node")


def from_pyg_batch(batch: Any, column: int = 0, labels: bool = True) -> Tables:
    """From a ``Batch``: its arrays as they are."""
    names = ("ptr", "edge_index", "x", "edge_attr", "y", "edge_label_index", "edge_label", *MASKS)
    return from_arrays({name: getattr(batch, name, None) for name in names}, column, labels)


def from_pyg_dataset(dataset: Any, column: int = 0, labels: bool = True) -> Tables | None:
    """From the collated storage of an ``InMemoryDataset``, where all of it is used; None where it is not that simple."""
    import numpy as np

    slices, stored = getattr(dataset, "slices", None), getattr(dataset, "_data", None)
    if not slices or stored is None or getattr(dataset, "_indices", None) is not None:
        return None
    if getattr(dataset, "transform", None) is not None or "edge_index" not in slices or len(dataset) == 1:
        return None
    if "edge_label_index" in slices:
        return None
    if "x" in slices:
        nodes = np.diff(array(slices["x"]))
    elif isinstance(stored.num_nodes, list):
        nodes = np.array(stored.num_nodes)
    else:
        return None
    edges = np.diff(array(slices["edge_index"]))
    tables = Tables(nodes, edges, edge_index_of(stored.edge_index))
    if "x" in slices:
        tables.node_columns = as_columns(stored.x)
    if "edge_attr" in slices:
        if not np.array_equal(np.diff(array(slices["edge_attr"])), edges):
            return None
        tables.edge_columns = as_columns(stored.edge_attr)
    if not labels:
        return tables
    if "y" in slices:
        rows, found = np.diff(array(slices["y"])), array(stored.y)
        if found.ndim == 0 or not (np.all(rows == 1) or np.array_equal(rows, nodes)):
            return None
        tables.targets = as_columns(found.reshape(len(found), -1))
    masks = {name: getattr(stored, name) for name in MASKS if name in slices}
    tables.row_parts = parts_of_nodes(masks, int(nodes.sum()), column)
    return tables
