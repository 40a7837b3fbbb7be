"""Graphs as tables of all their nodes and edges: from arrays (``_pyg`` and ``_networkx`` make them of other things).

Objects are told apart by what they have, not by their classes. Everything becomes one layout: how many nodes and edges
each graph has, the ends of the edges counted within each graph, and blocks of columns with one row per node or edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._errors import DataError, UsageError
from ._html import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass
class Columns:
    """Columns that belong together: an array of numbers ``[rows, width]``, or a list of text with width 1."""

    cells: Array | list[str | None]
    names: list[str] | None = None
    #: Whether all numbers were whole ones, though gaps among them make floating-point numbers of them.
    whole: bool = False

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
    #: Pairs of nodes that are asked about: how many each graph has, their ends ``[2, pairs]``, and their targets.
    pairs: Array | None = None
    pair_index: Array | None = None
    pair_targets: list[Columns] = field(default_factory=list)
    parts: list[str] | None = None
    #: The number of the part of every node, edge or pair (0 trains, 1 validates, 2 tests, -1 is in none), where these are
    #: split.
    row_parts: Array | None = None

    def at_level(self, level: str | None) -> str:
        """Makes the targets those of a level, and says which: without one, that of the targets that there are."""
        if level == "pair" and self.pair_index is None:
            raise UsageError("level='pair' needs `edge_label_index`, the pairs of nodes that are asked about")
        if level is None:
            rows = self.targets[0].rows if self.targets else len(self.nodes)
            of_nodes = rows != len(self.nodes) and rows == int(self.nodes.sum())
            level = "pair" if self.pair_index is not None else "node" if of_nodes else "graph"
        if level == "pair":
            self.targets = self.pair_targets
        if level in ("edge", "pair"):
            # Masks are those of nodes.
            self.row_parts = None
        return level

    def rows(self, level: str) -> int:
        """How many rows of targets there are at a level."""
        counts = {"node": self.nodes, "edge": self.edges, "pair": self.pairs}.get(level)
        return len(self.nodes) if counts is None else int(counts.sum())

    def refuse_both_ways(self) -> None:
        """Fails if both directions of edges are listed, where a reader adds the other direction of each."""
        import numpy as np

        first = np.repeat(np.cumsum(self.nodes) - self.nodes, self.edges)
        source, target = (ends + first for ends in self.edge_index)
        size = max(int(self.nodes.sum()), 1)
        own = source != target
        twice = np.isin(source[own] * size + target[own], target[own] * size + source[own])
        if twice.any():
            at = int(np.flatnonzero(own)[np.flatnonzero(twice)[0]])
            raise DataError(
                f"edge {at} of `edge_index` is listed in both directions, and edges are read both ways: list each once, or "
                "read them as they are given"
            )

    def fit(self, schema: Mapping[str, Any]) -> None:
        """Makes the columns those of a model: none too many where they have no names, and numbers where it has numbers."""
        for columns, what, field in ((self.node_columns, "node", "x"), (self.edge_columns, "edge", "edge_attr")):
            known = schema[f"{what}_columns"]
            width = sum(1 if isinstance(some.cells, list) else some.cells.shape[1] for some in columns)
            if width > len(known) and any(some.names is None for some in columns):
                raise DataError(f"`{field}` has {counted(width, 'column')} without names, the model reads {len(known)}")
            kinds = {column["name"]: column["kind"] for column in known}
            numeric = {name for name, kind in kinds.items() if kind == "number" or not kind["category"]["names"]}
            at = 0
            for some in columns:
                name = some.names[0] if some.names else known[at]["name"] if at < len(known) else None
                at += 1 if isinstance(some.cells, list) else some.cells.shape[1]
                if isinstance(some.cells, list) and name in numeric:
                    # What is no number is the fault of its graph alone.
                    some.cells = array([_number(cell) for cell in some.cells]).reshape(-1, 1)

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
            # Larger ones have no place among 64-bit integers with a sign.
            fits = some.cells.dtype != np.uint64 or not some.cells.size or some.cells.max() < 2**63
            integers = some.cells.dtype.kind in "iub" and fits
            kind, number = ("integers", np.int64) if integers else ("numbers", np.float64)
            return {"width": some.cells.shape[1], "names": some.names, "cells": {kind: put(some.cells, number)}}

        request: dict[str, Any] = {
            "name": name,
            "nodes": put(self.nodes, np.int64),
            "edges": put(self.edges, np.int64),
            "edge_index": [put(self.edge_index[0], np.int64), put(self.edge_index[1], np.int64)],
            "node_columns": columns(self.node_columns),
            "edge_columns": columns(self.edge_columns),
            "pairs": None,
            "targets": columns(self.targets),
            "parts": self.parts,
            "node_parts": None if self.row_parts is None else put(self.row_parts, np.int64),
        }
        if self.pairs is not None and self.pair_index is not None:
            index = [put(ends, np.int64) for ends in self.pair_index]
            request["pairs"] = {"counts": put(self.pairs, np.int64), "index": index}
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
    if hasattr(values, "tocoo"):
        raise DataError(f"a sparse array ({type(values).__name__}): expected an ordinary one; give its toarray()")
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        # What is masked is missing.
        return np.array(values.tolist(), dtype=object)
    return np.asarray(values)


def _number(cell: str | None) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        return float("nan")


def whole_numbers(values: Any, what: str) -> Array:
    """An array of integers."""
    import numpy as np

    found = array(values)
    if found.dtype.kind not in "iuf":
        raise DataError(f"`{what}` holds {found.dtype}: expected whole numbers")
    if found.dtype.kind == "f" and (wrong := found[~np.isfinite(found) | (found != np.trunc(found))]).size:
        raise DataError(f"`{what}` holds {wrong[0]}: expected whole numbers")
    ends = [found.min(), found.max()] if found.size else []
    if (wrong := next((end for end in ends if not -(2**63) <= end < 2**63), None)) is not None:
        raise DataError(f"`{what}` holds {wrong}: expected whole numbers of 64 bits")
    return found.astype(np.int64, copy=False)


def concatenated(parts: Sequence[Any], axis: int = 0) -> Array:
    """Arrays or tensors one after the other; tensors in one piece, because each conversion takes its time."""
    import numpy as np

    if hasattr(parts[0], "detach"):
        import torch

        return array(torch.cat(list(parts), dim=axis))
    return np.concatenate([array(part) for part in parts], axis=axis)


def as_columns(values: Any, names: list[str] | None = None) -> list[Columns]:
    """A one- or two-dimensional array (or frame) of numbers or text as blocks of columns."""
    import numpy as np

    if isinstance(values, (Iterator, ValuesView)):
        values = list(values)
    if hasattr(values, "columns") and names is None:
        # Numbers in a row are what a frame calls columns without names.
        if list(values.columns) != list(range(len(values.columns))):
            names = [str(name) for name in values.columns]
        values = values.to_numpy()
    elif names is None and isinstance(getattr(values, "name", None), str) and values.name and hasattr(values, "to_numpy"):
        names = [values.name]
    listed = getattr(values, "to_list", None) or getattr(values, "to_pylist", None)
    if listed is not None and not isinstance(getattr(values, "dtype", None), np.dtype):
        # Among other things, whole numbers with gaps, which numpy would make floating-point numbers of.
        values = np.array(listed(), dtype=object)
    table = array(values)
    if table.ndim not in (1, 2):
        raise DataError(f"an array of shape {list(table.shape)}: expected one value or one row for each")
    table = table.reshape(-1, 1) if table.ndim == 1 else table
    if table.dtype.kind in "iufb":
        return [Columns(table, names)]
    if table.dtype.kind not in "OUT":
        kind = "complex numbers" if table.dtype.kind == "c" else f"cells of type {table.dtype}"
        raise DataError(f"{kind}: expected real numbers, or text")
    return [column_of(table[:, at].tolist(), None if names is None else [names[at]]) for at in range(table.shape[1])]


def is_missing(cell: Any) -> bool:
    """Whether a cell has no value: None, NaN, or pandas' own."""
    return cell is None or (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NAType", "NaTType")


def column_of(cells: list[Any], names: list[str] | None) -> Columns:
    """A column of Python's own values: numbers where all of them are, else text."""
    import numpy as np

    present = [cell for cell in cells if not is_missing(cell)]
    numbers = (bool, int, float, np.number, np.bool_)
    if all(isinstance(cell, numbers) for cell in present):
        whole = not any(isinstance(cell, (float, np.floating)) for cell in present)
        kind = np.int64 if whole and len(present) == len(cells) else np.float64
        values = [np.nan if is_missing(cell) else cell for cell in cells]
        return Columns(np.array(values, dtype=kind).reshape(-1, 1), names, whole)
    if (other := next((cell for cell in present if not isinstance(cell, (str, *numbers))), None)) is not None:
        where = f"`{names[0]}` holds" if names else "a cell holds"
        raise DataError(f"{where} {type(other).__name__}: expected a number or text")
    return Columns([None if is_missing(cell) else str(cell) for cell in cells], names)


def from_arrays(arrays: Mapping[str, Any], column: int = 0, labels: bool = True) -> Tables:
    """From plain arrays: ``edge_index`` [2, edges]; ``ptr`` [graphs + 1] and edges numbered over all graphs, as in a
    batch of PyTorch Geometric, or a single graph; ``x``, ``edge_attr``, ``y``, masks; pairs of nodes that are asked about
    as ``edge_label_index`` [2, pairs] and ``edge_label``. Without ``labels`` targets and masks are not looked at."""
    import numpy as np

    known = {"ptr", "edge_index", "x", "edge_attr", "y", "num_nodes", "edge_label_index", "edge_label", *MASKS}
    if unknown := sorted(set(arrays) - known):
        raise UsageError(f"arrays {', '.join(unknown)}: the known ones are {', '.join(sorted(known))}")
    unused = set() if labels else {"y", "edge_label", *MASKS}
    arrays = {name: value for name, value in arrays.items() if value is not None and name not in unused}
    if "edge_index" not in arrays:
        raise UsageError("a graph of arrays needs `edge_index`")
    index = edge_index_of(arrays["edge_index"])
    if "ptr" in arrays:
        ptr = whole_numbers(arrays["ptr"], "ptr")
        if ptr.ndim != 1 or not len(ptr) or ptr[0] != 0:
            raise DataError(f"`ptr` of shape {list(ptr.shape)}: expected the first node of each graph, from 0, and the end")
    else:
        count = len(arrays["x"]) if "x" in arrays else num_nodes(arrays.get("num_nodes"))
        ptr = np.array([0, count])
    ends, counts, order = _by_graph(index, ptr, "edge")
    tables = Tables(np.diff(ptr), counts, ends)
    if "x" in arrays:
        tables.node_columns = as_columns(arrays["x"])
    if "edge_attr" in arrays:
        tables.edge_columns = _ordered(as_columns(arrays["edge_attr"]), order)
    if "y" in arrays:
        tables.targets = as_columns(arrays["y"])
    if "edge_label_index" in arrays:
        index = edge_index_of(arrays["edge_label_index"], "edge_label_index")
        tables.pair_index, tables.pairs, order = _by_graph(index, ptr, "pair")
        if "edge_label" in arrays:
            tables.pair_targets = _ordered(pair_columns(arrays["edge_label"]), order)
    tables.row_parts = parts_of_nodes(arrays, int(tables.nodes.sum()), column)
    return tables


def _by_graph(ends: Array, ptr: Array, what: str) -> tuple[Array, Array, Array | None]:
    """Edges or pairs numbered over all graphs: their ends counted within each graph, how many each has, and the order that
    puts those of a graph together, where they are not."""
    import numpy as np

    nodes = np.diff(ptr)
    if len(nodes) and nodes.min() < 0:
        raise UsageError("a graph cannot have a negative number of nodes or edges")
    if ends.shape[1] and (ends[0].min() < 0 or ends[0].max() >= ptr[-1]):
        at = int(np.flatnonzero((ends[0] < 0) | (ends[0] >= ptr[-1]))[0])
        raise DataError(f"{what} {at}: `{int(ends[0][at])}` is no node: there are {int(ptr[-1])}, counted from 0")
    graph = np.repeat(np.arange(len(nodes)), nodes)[ends[0]]
    order = np.argsort(graph, kind="stable") if np.any(np.diff(graph) < 0) else None
    if order is not None:
        graph, ends = graph[order], ends[:, order]
    return ends - ptr[graph], np.bincount(graph, minlength=len(nodes)), order


def _ordered(columns: list[Columns], order: Array | None) -> list[Columns]:
    return columns if order is None else [some.taken(order) for some in columns]


def pair_columns(values: Any) -> list[Columns]:
    """Targets of pairs; 0 and 1 say whether there is a link, whatever their type."""
    import numpy as np

    found = array(values)
    if found.dtype.kind == "f" and found.size and np.isin(found, (0, 1)).all():
        values = found.astype(np.int64)
    return as_columns(values)


def num_nodes(count: Any) -> int:
    """A number of nodes that somebody gave."""
    if count is None:
        raise UsageError("a graph without node features needs `num_nodes`: it is never guessed from the edges")
    found = whole_numbers(count, "num_nodes").reshape(-1)
    if len(found) != 1 or found[0] < 0:
        raise DataError(f"`num_nodes` holds {found.tolist()}: expected a number of nodes")
    return int(found[0])


def edge_index_of(values: Any, name: str = "edge_index") -> Array:
    """Ends of edges or pairs, ``[2, …]``."""
    ends = whole_numbers(values, name)
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise DataError(f"`{name}` has shape {list(ends.shape)}, expected [2, {'edges' if name == 'edge_index' else 'pairs'}]")
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
