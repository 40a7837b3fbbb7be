"""Graphs of PyTorch Geometric, which is not imported: objects are told by what they have, not by their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._errors import DataError
from ._tables import MASKS, Tables, array, as_columns, concatenated, edge_index_of, from_arrays, num_nodes, parts_of_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def from_pyg(graphs: Sequence[Any], column: int = 0) -> Tables:
    """From a list of ``Data``, or of anything with ``edge_index`` and perhaps ``x``, ``edge_attr``, ``y`` and masks."""
    import numpy as np

    given = _Fields(graphs)
    ends = given.of_all("edge_index")
    shapes = [some.shape for some in ends]
    wrong = next((at for at, shape in enumerate(shapes) if len(shape) != 2 or shape[0] != 2), None)
    if wrong is not None:
        raise DataError(f"graph {wrong}: `edge_index` has shape {list(shapes[wrong])}, expected [2, edges]")
    features = given.of_all("x")
    if features:
        nodes = [some.shape[0] for some in features]
    else:
        nodes = [num_nodes(getattr(graph, "num_nodes", None)) for graph in graphs]
    tables = Tables(np.array(nodes), np.array([shape[1] for shape in shapes]), edge_index_of(concatenated(ends, axis=1)))
    if features:
        tables.node_columns = as_columns(_together(features, "x"))
    if attributes := given.of_all("edge_attr"):
        tables.edge_columns = as_columns(_together(attributes, "edge_attr"))
    labels = given.of("y")
    if all(label is not None for label in labels):
        tables.targets = as_columns(_labels(labels, nodes))
    masks = {name: _together(found, name) for name in MASKS if (found := given.of_all(name))}
    tables.node_parts = parts_of_nodes(masks, int(tables.nodes.sum()), column)
    return tables


def _together(values: list[Any], what: str) -> Array:
    """The rows of all graphs, which must have the same columns."""
    shapes = [value.shape for value in values]
    wrong = next((at for at, shape in enumerate(shapes) if shape[1:] != shapes[0][1:] or not len(shape)), None)
    if wrong is not None:
        first, other = (list(shapes[at]) for at in (0, wrong))
        raise DataError(f"graph {wrong}: `{what}` has shape {other}, in graph 0 it has {first}")
    return concatenated(values)


class _Fields:
    """The fields of many graphs. Those of PyG are taken from the dictionary behind them: each look at an attribute takes
    its time, and so does each copy of the dictionary."""

    def __init__(self, graphs: Sequence[Any]) -> None:
        self.graphs = graphs
        try:
            self.dictionaries: list[Any] | None = [graph._store._mapping for graph in graphs]
        except AttributeError:
            self.dictionaries = None

    def of(self, name: str) -> list[Any]:
        """A field of every graph, None where there is none."""
        if self.dictionaries is not None:
            return [fields.get(name) for fields in self.dictionaries]
        return [getattr(graph, name, None) for graph in self.graphs]

    def of_all(self, name: str) -> list[Any]:
        """A field that all graphs have, or nothing if none has it."""
        values = self.of(name)
        missing = next((at for at, value in enumerate(values) if value is None), None)
        if missing is None:
            has_shapes = all(hasattr(kind, "shape") for kind in {type(value) for value in values})
            return values if has_shapes else [array(value) for value in values]
        if all(value is None for value in values):
            return []
        raise DataError(f"graph {missing}: `{name}` is missing; other graphs have it")


def _labels(labels: list[Any], nodes: list[int]) -> Array:
    """One row per graph, or per node where there are as many."""
    import numpy as np

    shapes = [getattr(label, "shape", ()) for label in labels]
    lengths = [shape[0] if shape else 1 for shape in shapes]
    if shapes[0] and len({shape[1:] for shape in shapes}) == 1 and (max(lengths) == 1 or lengths == nodes):
        table = concatenated(labels)
        return table.reshape(len(table), -1)
    tables = [array(label) for label in labels]
    if all(length == 1 for length in lengths):
        return np.concatenate([table.reshape(1, -1) for table in tables])
    if lengths == nodes:
        return np.concatenate([table.reshape(len(table), -1) for table in tables])
    if all(table.ndim == 1 and length == lengths[0] for table, length in zip(tables, lengths)):
        return np.stack(tables)
    raise DataError("`y` has neither one row per graph nor one per node")


def from_pyg_batch(batch: Any, column: int = 0) -> Tables:
    """From a ``Batch``: its arrays as they are."""
    names = ("ptr", "edge_index", "x", "edge_attr", "y", *MASKS)
    return from_arrays({name: value for name in names if (value := getattr(batch, name, None)) is not None}, column)


def from_pyg_dataset(dataset: Any, column: int = 0) -> Tables | None:
    """From the collated storage of an ``InMemoryDataset``, where all of it is used; None where it is not that simple."""
    import numpy as np

    slices, stored = getattr(dataset, "slices", None), getattr(dataset, "_data", None)
    if not slices or stored is None or getattr(dataset, "_indices", None) is not None:
        return None
    if getattr(dataset, "transform", None) is not None or "edge_index" not in slices or len(dataset) == 1:
        return None
    if "x" in slices:
        nodes = np.diff(array(slices["x"]))
    elif isinstance(stored.num_nodes, list):
        nodes = np.array(stored.num_nodes)
    else:
        return None
    tables = Tables(nodes, np.diff(array(slices["edge_index"])), edge_index_of(stored.edge_index))
    if "x" in slices:
        tables.node_columns = as_columns(stored.x)
    if "edge_attr" in slices:
        tables.edge_columns = as_columns(stored.edge_attr)
    if "y" in slices:
        rows, labels = np.diff(array(slices["y"])), array(stored.y)
        if not (np.all(rows == 1) or np.array_equal(rows, nodes)):
            return None
        tables.targets = as_columns(labels)
    masks = {name: getattr(stored, name) for name in MASKS if name in slices}
    tables.node_parts = parts_of_nodes(masks, int(nodes.sum()), column)
    return tables
