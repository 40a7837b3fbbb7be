"""Whatever a user has, as a source of graphs for the native module.

============================================  =============================================
given                                         read as
============================================  =============================================
a path, or text that ends like a data file    the file or folder, in any format of the command
text, or a list of text                       SMILES
a pandas or polars frame                      a table with a column of SMILES
RDKit molecules                               their SMILES; results follow the order of their atoms
``Data``, ``Batch`` or ``Dataset`` of PyG     graphs; ``y`` is the target, masks are the parts of nodes
NetworkX graphs                               graphs; attributes are columns by name
a mapping of arrays                           ``ptr``, ``edge_index``, ``x``, ``edge_attr``, ``y``, masks
the name of a data set, to train on           that of OGB (``ogbg-molhiv``) or TU (``tu:MUTAG``), through PyG
============================================  =============================================
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _named, _pyg, _tables
from ._errors import UsageError
from ._tables import Columns, Tables

_ENDINGS = (".csv", ".tsv", ".smi", ".txt", ".sdf", ".sd", ".mol", ".jsonl", ".ndjson", ".g6", ".s6")
_PARTS = {"train": "train", "valid": "valid", "val": "valid", "validation": "valid", "test": "test"}


@dataclass
class Source:
    """Graphs for one call of the native module."""

    request: Any
    arrays: tuple[Any, ...] = ()
    #: Atoms of RDKit molecules in the order of their SMILES.
    orders: list[list[int] | None] | None = None
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


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and (hasattr(data, "to_csv") or hasattr(data, "write_csv"))


def _is_molecule(data: Any) -> bool:
    return hasattr(data, "GetAtoms")


def _is_networkx(data: Any) -> bool:
    return hasattr(data, "nodes") and hasattr(data, "edges") and hasattr(data, "is_directed")


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
    if isinstance(data, str) or _is_molecule(data) or _is_networkx(data) or _is_pyg(data):
        return [data]
    for name in ("to_list", "tolist"):
        if hasattr(data, name):
            return list(getattr(data, name)())
    if isinstance(data, Iterable):
        return list(data)
    raise UsageError(f"graphs cannot be made of {type(data).__name__}")


def _smiles(items: list[Any]) -> tuple[list[str], list[list[int] | None] | None] | None:
    """SMILES of text or of RDKit molecules; None if these are something else."""
    first = next((item for item in items if item is not None), "")
    if _is_molecule(first):
        from rdkit import Chem

        texts: list[str] = []
        orders: list[list[int] | None] = []
        for molecule in items:
            texts.append("" if molecule is None else Chem.MolToSmiles(molecule))
            order = "[]" if molecule is None else molecule.GetProp("_smilesAtomOutputOrder")
            orders.append([int(atom) for atom in order.strip("[],").split(",") if atom])
        return texts, orders
    if isinstance(first, str):
        return [item if isinstance(item, str) else "" for item in items], None
    return None


def _graphs(
    data: Any,
    target: str | list[str] | None = None,
    level: str | None = None,
    known: Mapping[str, Any] | None = None,
    column: int = 0,
) -> Tables | None:
    """Graphs of arrays, PyG or NetworkX; None if these are something else. ``column`` is that of masks with several."""
    if isinstance(data, Mapping):
        return _tables.from_arrays(data, column)
    if _is_pyg(data) and getattr(data, "ptr", None) is not None:
        return _pyg.from_pyg_batch(data, column)
    if _is_dataset(data) and (found := _pyg.from_pyg_dataset(data, column)) is not None:
        return found
    items = _items(data)
    # One of each type, because a look at every graph of many takes its time.
    kinds = {type(item): item for item in items}.values()
    if kinds and all(_is_pyg(item) for item in kinds):
        return _pyg.from_pyg(items, column)
    if kinds and all(_is_networkx(item) for item in kinds):
        return _tables.from_networkx(items, target, level, known)
    return None


def to_predict(data: Any, schema: Mapping[str, Any]) -> Source:
    """The source of graphs for a model with a schema."""
    if is_path(data):
        return Source({"path": Path(data)})
    if _is_frame(data):
        data = data[_smiles_column(list(data.columns), schema)]
    if _is_list(data):
        data = _items(data)
        if (found := _smiles(data)) is not None:
            return Source({"smiles": found[0]}, orders=found[1])
    tables = _graphs(data, known=schema)
    if tables is None:
        raise UsageError(_no_graphs(data))
    tables.targets, tables.node_parts = [], None
    request, arrays = tables.request("graphs")
    return Source(request, arrays)


def _smiles_column(columns: list[Any], schema: Mapping[str, Any]) -> Any:
    """The column with the molecules: the model's, or `smiles`, or the first."""
    wanted = [(schema.get("molecules") or {}).get("column"), "smiles"]
    for name in wanted:
        for column in columns:
            if name and str(column).lower() == name.lower():
                return column
    return columns[0]


def _no_graphs(data: Any) -> str:
    items = data if isinstance(data, list) else [data]
    kinds = sorted({type(item).__name__ for item in items}) or ["nothing"]
    return (
        f"graphs cannot be made of {', '.join(kinds)}; expected SMILES, a path, a frame, RDKit molecules, PyG data, "
        "NetworkX graphs or a mapping of arrays"
    )


def labelled(data: Any, schema: Mapping[str, Any], before: int) -> Source:
    """Labelled graphs for a model with a schema, after ``before`` arrays: such as it was trained on, or a pair of data
    and targets."""
    data, target = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    if is_path(data):
        return Source({"path": Path(data)})
    if _is_frame(data):
        return _frame(data, None, None, None, None)
    if _is_list(data):
        data = _items(data)
        if (found := _smiles(data)) is not None:
            if target is None:
                raise UsageError("SMILES alone have no targets: give a pair, the molecules and their targets")
            column = (schema.get("molecules") or {}).get("column") or "smiles"
            return _table(found[0], target, None, column, schema["targets"])
    tables = _graphs(data, schema["targets"], schema["level"], schema)
    if tables is None:
        raise UsageError(_no_graphs(data))
    if target is not None:
        tables.targets = _tables.as_columns(target)
    if not tables.targets:
        raise UsageError("the graphs have no targets: give them as `y`, or a pair of graphs and targets")
    tables.node_parts = None
    request, arrays = tables.request("graphs", before)
    return Source(request, arrays)


def to_train(
    data: Any, target: Any, valid: Any, test: Any, parts: Any, level: str | None, column: int = 0
) -> Source:
    """The source of graphs to train on: ``target`` names columns or attributes, or is the targets themselves."""
    if isinstance(data, str) and not is_path(data):
        # One molecule cannot be trained on.
        data = Path(data) if Path(data).exists() else _named.dataset(data)
    names = [target] if isinstance(target, str) else None
    if isinstance(target, (list, tuple)) and target and all(isinstance(name, str) for name in target):
        names = list(target) if is_path(data) or _is_frame(data) or len(target) != _length(data) else None
    if is_path(data):
        if valid is not None or test is not None or parts is not None:
            raise UsageError("a file names its parts itself, or is split: valid=, test= and lists are for data in memory")
        if target is not None and names is None:
            raise UsageError("target= of a file names its columns")
        name = Path(data).name.removesuffix(".gz").removesuffix(".zst")
        stem = Path(name).stem if Path(name).suffix else name
        return Source({"path": Path(data)}, name=stem, read={} if names is None else {"targets": names})
    if _is_frame(data):
        return _frame(data, target if names is None else names, valid, test, parts)
    lists = [(data, "train"), (valid, "valid"), (test, "test")]
    if valid is not None or test is not None:
        given = [(_items(some), part) for some, part in lists if some is not None]
        parts = [part for items, part in given for _ in items]
        data = [item for items, _ in given for item in items]
    if _is_list(data):
        data = _items(data)
        if (found := _smiles(data)) is not None:
            if target is None or names is not None:
                raise UsageError("SMILES alone have no targets: give them as target=, one per molecule")
            return _table(found[0], target, parts)
    by_name = names if target is None or names is not None else None
    tables = _graphs(data, by_name, level, column=column)
    if tables is None:
        raise UsageError(_no_graphs(data))
    if target is not None and names is None:
        tables.targets = _tables.as_columns(target)
    if not tables.targets:
        raise UsageError("the graphs have no targets: give them as `y`, or as target=")
    level = level or tables.level
    if parts is None and hasattr(data, "get_idx_split"):
        # The split that a data set of the Open Graph Benchmark brings along.
        parts = data.get_idx_split()
    if parts is not None and level == "node" and len(tables.nodes) == 1:
        numbers = {"train": 0, "valid": 1, "test": 2, None: -1}
        words = _parts(parts, int(tables.nodes[0]), "node")
        tables.node_parts = _tables.array([numbers[word] for word in words])
    elif parts is not None:
        tables.parts, tables.node_parts = _parts(parts, len(tables.nodes)), None
    request, arrays = tables.request("graphs")
    name = data.name if _is_dataset(data) and isinstance(getattr(data, "name", None), str) else "graphs"
    return Source(request, arrays, read={"level": level}, name=name)


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
    known: dict[Any, str | None] = {**_PARTS, **({"none": None} if what == "node" else {})}
    unknown = next((at for at, word in enumerate(words) if str(word).lower() not in known), None)
    if unknown is not None:
        raise UsageError(f"split=: {what} {unknown} is in part {words[unknown]!r}; expected train, valid or test")
    return [known[str(word).lower()] for word in words]


def _table(
    smiles: Sequence[str], target: Any, parts: Any, column: str = "smiles", names: list[str] | None = None
) -> Source:
    """SMILES with targets as a table of text."""
    blocks = _tables.as_columns(target)
    width = sum(1 if isinstance(some.cells, list) else some.cells.shape[1] for some in blocks)
    if names is None:
        named = [name for some in blocks for name in some.names or []]
        names = named if len(named) == width else ["target"] if width == 1 else [f"target_{at}" for at in range(width)]
    elif len(names) != width:
        raise UsageError(f"{width} columns of targets, the model has {len(names)}: {', '.join(names)}")
    words = _parts(parts, len(smiles)) if parts is not None else None
    rows = blocks[0].rows
    if rows != len(smiles):
        raise UsageError(f"{rows} targets for {len(smiles)} molecules")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column, *names, *(["split"] if words else [])])
    for at, text in enumerate(smiles):
        cells = [cell for some in blocks for cell in _cells(some, at)]
        writer.writerow([text, *cells, *([words[at]] if words else [])])
    # A class may be called "none": in a list, None is what is missing.
    words_in = [name for name, some in zip(names, blocks) if isinstance(some.cells, list)]
    read: dict[str, Any] = {"targets": names, "smiles_column": column, "text": words_in, "header": True}
    request = {"csv": {"name": "molecules", "text": out.getvalue()}}
    return Source(request, name="molecules", read=read)


def _cells(block: Columns, row: int) -> list[Any]:
    if isinstance(block.cells, list):
        return [block.cells[row] or ""]
    return ["" if value != value else value for value in block.cells[row].tolist()]


def _frame(frame: Any, target: Any, valid: Any, test: Any, parts: Any) -> Source:
    """A frame as the text of a table."""
    if target is not None and not (isinstance(target, list) and all(isinstance(name, str) for name in target)):
        raise UsageError("target= of a frame names its columns")
    if valid is not None or test is not None:
        given = [(some, part) for some, part in [(frame, "train"), (valid, "valid"), (test, "test")] if some is not None]
        frame = _stacked([some for some, _ in given])
        parts = [part for some, part in given for _ in range(len(some))]
    if parts is not None:
        words = _parts(parts, len(frame))
        if hasattr(frame, "with_columns"):
            import polars

            frame = frame.with_columns(polars.Series("split", words))
        else:
            frame = frame.assign(split=words)
    text = frame.write_csv() if hasattr(frame, "write_csv") else frame.to_csv(index=False)
    read: dict[str, Any] = {"header": True}
    if target is not None:
        read["targets"] = target
    return Source({"csv": {"name": "molecules", "text": text}}, name="molecules", read=read)


def _stacked(frames: list[Any]) -> Any:
    if hasattr(frames[0], "write_csv"):
        import polars

        return polars.concat(frames)
    import pandas

    return pandas.concat(frames, ignore_index=True)
