"""Whatever a user has, as a source of graphs for the native module.

============================================  =============================================
given                                         read as
============================================  =============================================
a path, or text that ends like a data file    the file or folder, in any format of the command
text, or a list of text                       SMILES
a frame of pandas or polars, a pyarrow table  a table with a column of SMILES
RDKit molecules                               their SMILES; results follow the order of their atoms
``Data``, ``Batch`` or ``Dataset`` of PyG     graphs; ``y`` is the target, masks are the parts of nodes
NetworkX graphs                               graphs; attributes are columns by name
a mapping of arrays                           ``ptr``, ``edge_index``, ``x``, ``edge_attr``, ``y``, masks, ``edge_label_index``
the name of a data set, to train on           that of OGB (``ogbg-molhiv``) or TU (``tu:MUTAG``), through PyG
============================================  =============================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _molecules, _named, _networkx, _pyg, _tables
from ._arguments import plain
from ._errors import UsageError
from ._molecules import Order, as_frame, is_frame, is_molecule, smiles_of
from ._tables import Tables

_ENDINGS = (
    ".csv", ".tsv", ".smi", ".txt", ".sdf", ".sd", ".mol", ".jsonl", ".ndjson", ".g6", ".s6", ".parquet", ".pq", ".xlsx"
)  # fmt: skip
_PARTS = {"train": "train", "valid": "valid", "val": "valid", "validation": "valid", "test": "test"}


@dataclass
class Source:
    """Graphs for one call of the native module."""

    request: Any
    arrays: tuple[Any, ...] = ()
    #: Atoms of RDKit molecules in the order of their SMILES.
    orders: list[Order] | None = None
    #: Options for reading that follow from the data.
    read: dict[str, Any] = field(default_factory=dict)
    #: Name of the data.
    name: str = "graphs"


def is_path(data: Any) -> bool:
    """Whether something is a file or folder: a path, or text that ends like a data file."""
    if isinstance(data, os.PathLike):
        return True
    plain = data.lower().removesuffix(".gz").removesuffix(".zst") if isinstance(data, str) else ""
    return plain.endswith(_ENDINGS)


def _is_dataset(data: Any) -> bool:
    """Whether something is a data set of PyTorch Geometric, which has the fields of all its graphs as well."""
    return hasattr(data, "indices") and hasattr(data, "get") and hasattr(data, "len")


def _is_pyg(data: Any) -> bool:
    # In this order: whoever asks a data set for a field puts all of its graphs together again.
    return not isinstance(data, Mapping) and not _is_dataset(data) and hasattr(data, "edge_index")


def _is_list(data: Any) -> bool:
    """Whether something is a list, or a single graph that stands for a list of one, of a kind that may be SMILES."""
    return not (isinstance(data, Mapping) or _is_dataset(data) or _is_pyg(data))


def _items(data: Any) -> list[Any]:
    """A list of graphs, whether one or many were given."""
    data = plain(data)
    if hasattr(type(data), "readline"):
        raise UsageError("graphs cannot be made of an open file: give its path")
    if isinstance(data, str) or is_molecule(data) or _networkx.is_graph(data) or _is_pyg(data):
        return _unbatched([data])
    for name in ("to_list", "tolist", "to_pylist"):
        if hasattr(data, name):
            return list(getattr(data, name)())
    if isinstance(data, Iterable):
        return _unbatched(list(data))
    raise UsageError(f"graphs cannot be made of {type(data).__name__}")


def _unbatched(items: list[Any]) -> list[Any]:
    """The graphs one by one where some come as batches, such as those of a loader; a batch is not one large graph."""

    def is_batch(item: Any) -> bool:
        return _is_pyg(item) and getattr(item, "ptr", None) is not None

    # One of each type, because a look at every graph of many takes its time.
    if not any(is_batch(item) for item in {type(item): item for item in items}.values()):
        return items
    if (stuck := next((item for item in items if is_batch(item) and not hasattr(item, "to_data_list")), None)) is not None:
        raise UsageError(f"a batch ({type(stuck).__name__} with `ptr`) in a list of graphs: give it alone, or its graphs")
    return [one for item in items for one in (item.to_data_list() if is_batch(item) else [item])]


def _graphs(
    data: Any,
    target: list[str] | None = None,
    level: str | None = None,
    known: Mapping[str, Any] | None = None,
    column: int = 0,
    both_ways: bool = False,
    labels: bool = True,
) -> Tables | None:
    """Graphs of arrays, PyG or NetworkX; None if these are something else.

    ``column`` is that of masks with several, ``both_ways`` says that the reader adds the other direction of each edge.
    """
    tables = None
    if isinstance(data, Mapping):
        tables = _tables.from_arrays(data, column, labels)
    elif _is_pyg(data) and getattr(data, "ptr", None) is not None:
        tables = _pyg.from_pyg_batch(data, column, labels)
    elif _is_dataset(data) and level in (None, "graph", "node"):
        tables = _pyg.from_pyg_dataset(data, column, labels)
    if tables is None:
        items = _items(data)
        # One of each type, because a look at every graph of many takes its time.
        kinds = {type(item): item for item in items}.values()
        if kinds and all(_networkx.is_graph(item) for item in kinds):
            return _networkx.from_networkx(items, target or [], level, known, both_ways)
        if kinds and all(_is_pyg(item) for item in kinds):
            tables = _pyg.from_pyg(items, level, column, labels)
    if both_ways and tables is not None:
        tables.refuse_both_ways()
    return tables


def to_predict(data: Any, about: Mapping[str, Any], pairs: bool = True) -> Source:
    """The source of graphs for a model with a description; without ``pairs`` those of the graphs are not needed."""
    schema, data = about["schema"], as_frame(data)
    if is_path(data):
        return Source({"path": Path(data)})
    if is_frame(data):
        data = _molecules.to_predict(data, schema)
        if isinstance(data, dict):
            return Source(data)
    if _is_list(data):
        data = _items(data)
        if (found := smiles_of(data)) is not None:
            _molecules.refuse_without_columns(schema)
            return Source({"smiles": found[0]}, orders=found[1])
    both_ways = about["edges"] == "both_ways"
    tables = _graphs(data, level=schema["level"], known=schema, both_ways=both_ways, labels=False)
    if tables is None:
        raise UsageError(_no_graphs(data))
    if pairs and schema["level"] == "pair" and tables.pair_index is None:
        raise UsageError("the graphs have no `edge_label_index`: predict_pairs asks about any pairs of nodes")
    tables.fit(schema)
    request, arrays = tables.request("graphs")
    return Source(request, arrays)


def _no_graphs(data: Any) -> str:
    items = data if isinstance(data, list) else [data]
    kinds = sorted({type(item).__name__ for item in items}) or ["nothing"]
    return (
        f"graphs cannot be made of {', '.join(kinds)}; expected SMILES, a path, a frame, RDKit molecules, PyG data, "
        "NetworkX graphs or a mapping of arrays"
    )


def labelled(data: Any, about: Mapping[str, Any], before: int) -> Source:
    """Labelled graphs for a model with a description, after ``before`` arrays: such as it was trained on, or a pair of data
    and targets."""
    schema = about["schema"]
    data, target = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    data = as_frame(data)
    if is_path(data):
        return Source({"path": Path(data)})
    if is_frame(data):
        _molecules.refuse_without_targets(data, schema["targets"])
        return Source(_molecules.frame_table(data))
    if _is_list(data):
        data = _items(data)
        if (found := smiles_of(data)) is not None:
            _molecules.refuse_without_columns(schema)
            if target is None:
                raise UsageError("SMILES alone have no targets: give a pair, the molecules and their targets")
            column = (schema.get("molecules") or {}).get("column") or "smiles"
            return Source(_molecules.table(found[0], target, None, column, schema["targets"])[0])
    both_ways = about["edges"] == "both_ways"
    named = schema["targets"] if target is None else None
    tables = _graphs(data, named, schema["level"], schema, both_ways=both_ways)
    if tables is None:
        raise UsageError(_no_graphs(data))
    _labels_of(tables, schema["level"], target)
    tables.fit(schema)
    tables.row_parts = None
    request, arrays = tables.request("graphs", before)
    return Source(request, arrays)


def _labels_of(tables: Tables, level: str | None, target: Any) -> str:
    """Makes the targets those that were given, or those of the graphs; says what they belong to."""
    if target is not None:
        tables.targets = tables.pair_targets = _tables.as_columns(target)
    level = tables.at_level(level)
    if not tables.targets:
        field = "edge_label" if level == "pair" else "y"
        raise UsageError(f"the graphs have no targets: give them as `{field}`, or beside the graphs")
    return level


def to_train(
    data: Any,
    target: Any,
    valid: Any,
    test: Any,
    parts: Any,
    level: str | None,
    column: int = 0,
    edges: str | None = None,
) -> Source:
    """The source of graphs to train on: ``target`` names columns or attributes, or is the targets themselves."""
    if isinstance(data, str) and not is_path(data):
        # One molecule cannot be trained on.
        data = Path(data) if Path(data).exists() else _named.dataset(data)
    if isinstance(data, Iterator):
        data = list(data)
    names = _columns_of(data, target) if is_frame(data) else [target] if isinstance(target, str) else None
    if isinstance(target, (list, tuple)) and target and all(isinstance(name, str) for name in target):
        names = list(target) if is_path(data) or is_frame(data) or len(target) != _length(data) else None
    if is_path(data):
        return _file(data, target, names, [valid, test, parts])
    together = [(data, "train"), (valid, "valid"), (test, "test")]
    if valid is not None or test is not None:
        if any(isinstance(some, Mapping) for some, _ in together):
            raise UsageError("valid= and test= are for lists of graphs: the parts of a mapping of arrays are named by split=")
        given = [(some if is_frame(some) else _items(some), part) for some, part in together if some is not None]
        parts = [part for items, part in given for _ in range(len(items))]
        all_items = [items for items, _ in given]
        data = _molecules.stacked(all_items) if is_frame(data) else [item for items in all_items for item in items]
    if is_frame(data):
        if target is not None and names is None:
            raise UsageError("target= of a frame names its columns")
        words = None if parts is None else _parts(parts, len(data))
        read = {} if names is None else {"targets": names, "text": _molecules.columns_of_words(data, names)}
        return Source(_molecules.frame_table(data, words), name="molecules", read=read)
    if _is_list(data):
        data = _items(data)
        if (found := smiles_of(data)) is not None:
            if target is None or isinstance(target, str):
                raise UsageError("SMILES alone have no targets: give them as target=, one per molecule")
            words = None if parts is None else _parts(parts, len(data))
            request, read = _molecules.table(found[0], target, words)
            return Source(request, name="molecules", read=read)
    if edges is None and level == "edge" and _undirected(data):
        # One label for each edge, and one prediction.
        edges = "both_ways"
    tables = _graphs(data, names, level, column=column, both_ways=edges == "both_ways")
    if tables is None:
        raise UsageError(_no_graphs(data))
    level = _labels_of(tables, level, target if names is None else None)
    if parts is None and hasattr(data, "get_idx_split"):
        # The split that a data set of the Open Graph Benchmark brings along.
        parts = data.get_idx_split()
    if parts is not None and level != "graph" and len(tables.nodes) == 1:
        numbers = {"train": 0, "valid": 1, "test": 2, None: -1}
        words = _parts(parts, tables.rows(level), level)
        tables.row_parts = _tables.array([numbers[word] for word in words])
    elif parts is not None:
        tables.parts, tables.row_parts = _parts(parts, len(tables.nodes)), None
    request, arrays = tables.request("graphs")
    name = data.name if _is_dataset(data) and isinstance(getattr(data, "name", None), str) else "graphs"
    return Source(request, arrays, read={"level": level, "edges": edges}, name=name)


def _columns_of(frame: Any, target: Any) -> list[str] | None:
    """The columns that a target names, which need not be text in a frame; None if it names none."""
    target = plain(target)
    several = isinstance(target, Iterable) and not isinstance(target, (str, Mapping)) and not is_frame(target)
    names = [] if target is None else list(target) if several else [target]
    known = set(map(str, frame.columns))
    are_names = names and all(isinstance(name, str) or str(name) in known for name in names)
    return [str(name) for name in names] if are_names else None


def _file(path: Any, target: Any, names: list[str] | None, others: list[Any]) -> Source:
    if any(other is not None for other in others):
        raise UsageError("a file names its parts itself, or is split: valid=, test= and lists are for data in memory")
    if target is not None and names is None:
        raise UsageError("target= of a file names its columns")
    name = Path(path).name.removesuffix(".gz").removesuffix(".zst")
    stem = Path(name).stem if Path(name).suffix else name
    return Source({"path": Path(path)}, name=stem, read={} if names is None else {"targets": names})


def _undirected(data: Any) -> bool:
    """Whether these are undirected graphs of NetworkX; directed ones beside them are refused."""
    if not _is_list(data):
        return False
    kinds = {graph.is_directed() for graph in _items(data) if _networkx.is_graph(graph)}
    if len(kinds) == 2:
        raise UsageError("directed and undirected graphs: targets of edges need graphs of one kind")
    return kinds == {False}


def _length(data: Any) -> int:
    try:
        return len(data)
    except TypeError:
        return 1


def _parts(parts: Any, count: int, what: str = "graph") -> list[Any]:
    """The part of each graph or node: from a list of words, or from positions by part. A node may be in none."""
    if isinstance(parts, Mapping):
        words: list[Any] = [None] * count
        for name, positions in parts.items():
            for at in _tables.array(positions).tolist():
                if not 0 <= at < count:
                    raise UsageError(f"split=: part {name!r} has {what} {at}, there are {count}, counted from 0")
                if words[at] is not None:
                    raise UsageError(f"split=: {what} {at} is in the parts {words[at]!r} and {name!r}")
                words[at] = name
    else:
        words = list(parts)
    if len(words) != count:
        raise UsageError(f"split= names the parts of {len(words)} {what}s, there are {count}")
    known: dict[Any, str | None] = {**_PARTS, **({} if what == "graph" else {"none": None})}
    unknown = next((at for at, word in enumerate(words) if str(word).lower() not in known), None)
    if unknown is not None:
        raise UsageError(f"split=: {what} {unknown} is in part {words[unknown]!r}; expected train, valid or test")
    return [known[str(word).lower()] for word in words]
