"""Molecules: SMILES, RDKit molecules and frames, as SMILES or as the text of a table for the native module."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _tables
from ._errors import DataError, UsageError
from ._tables import Columns


def is_frame(data: Any) -> bool:
    """Whether something is a frame of pandas or polars."""
    return hasattr(data, "columns") and (hasattr(data, "to_csv") or hasattr(data, "write_csv"))


def as_frame(data: Any) -> Any:
    """A frame of what is as good as one: a table of pyarrow, or a query of polars; anything else as it is."""
    if hasattr(type(data), "collect_schema") and hasattr(type(data), "collect"):
        return data.collect()
    if hasattr(type(data), "column_names") and hasattr(type(data), "to_pylist"):
        # Whole numbers with gaps stay whole.
        return data.to_pandas(integer_object_nulls=True)
    return data


def is_molecule(data: Any) -> bool:
    """Whether something is a molecule of RDKit."""
    return hasattr(data, "GetAtoms")


@dataclass(frozen=True)
class Order:
    """The atoms of an RDKit molecule in the order of its SMILES."""

    atoms: list[int]
    #: The same without hydrogens, which a reader of SMILES counts with their neighbours.
    heavy: list[int]

    def of(self, count: int) -> list[int]:
        """The atoms that so many nodes stand for. Hydrogens that a model adds come after all others."""
        for atoms in (self.atoms, self.heavy):
            if len(atoms) == count:
                return atoms
        if count > len(self.atoms) == len(self.heavy):
            return [*self.atoms, *range(len(self.atoms), count)]
        raise DataError(
            f"{count} nodes for a molecule of {len(self.atoms)} atoms: the model takes molecules apart or adds hydrogens, "
            "and nobody knows which node is which atom; give SMILES, and results follow their order"
        )


def smiles_of(items: list[Any]) -> tuple[list[str], list[Order] | None] | None:
    """SMILES of text or of RDKit molecules, empty for what is missing; None if these are something else."""
    first = next((item for item in items if not _tables.is_missing(item)), "")
    if not (is_molecule(first) or isinstance(first, str)):
        return None
    present = [item for item in items if not _tables.is_missing(item)]
    wanted = is_molecule if is_molecule(first) else lambda item: isinstance(item, str)
    if (other := next((item for item in present if not wanted(item)), None)) is not None:
        raise UsageError(f"{type(first).__name__} and {type(other).__name__} in one list: expected molecules of one kind")
    if isinstance(first, str):
        return [item if isinstance(item, str) else "" for item in items], None
    from rdkit import Chem

    texts: list[str] = []
    orders: list[Order] = []
    for molecule in items:
        # One without atoms is what RDKit makes of an empty cell.
        if not is_molecule(molecule) or not molecule.GetNumAtoms():
            texts.append("")
            orders.append(Order([], []))
            continue
        texts.append(Chem.MolToSmiles(molecule))
        written = molecule.GetProp("_smilesAtomOutputOrder").strip("[],")
        order = [int(atom) for atom in written.split(",") if atom]
        orders.append(Order(order, [at for at in order if molecule.GetAtomWithIdx(at).GetAtomicNum() != 1]))
    return texts, orders


def to_predict(frame: Any, schema: Mapping[str, Any]) -> Any:
    """What a model reads of a frame: its column of SMILES, or a request with the text of that and of descriptors."""
    about = schema.get("molecules") or {}
    columns = list(frame.columns)
    smiles = _smiles_column(columns, about)
    if columns.count(smiles) > 1:
        raise DataError(f"{columns.count(smiles)} columns are called `{smiles}`: expected one with the molecules")
    names = [_column_called(columns, name) for name in about.get("descriptors") or []]
    if not names:
        return frame[smiles]
    return {"csv": {"name": "molecules", "text": _text(frame[[smiles, *names]])}}


def refuse_without_columns(schema: Mapping[str, Any]) -> None:
    """Fails if molecules alone are too little for a model."""
    if names := (schema.get("molecules") or {}).get("descriptors"):
        raise UsageError(f"the model reads {', '.join(names)} beside the molecules: give a frame with these columns, or a file")


def _smiles_column(columns: list[Any], about: Mapping[str, Any]) -> Any:
    """The column with the molecules: the model's, or `smiles`, or the only one."""
    for name in (about.get("column"), "smiles"):
        for column in columns:
            if name and str(column).lower() == name.lower():
                return column
    if len(columns) == 1:
        return columns[0]
    return _column_called(columns, about.get("column") or "smiles")


def _column_called(columns: list[Any], name: str) -> Any:
    for same in (lambda column: str(column) == name, lambda column: str(column).lower() == name.lower()):
        for column in filter(same, columns):
            return column
    raise DataError(f"the columns {', '.join(map(str, columns))}, expected a column called `{name}`")


def table(
    smiles: Sequence[str], target: Any, words: list[str] | None, column: str = "smiles", names: list[str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """SMILES with targets as the text of a table, and how it is read; ``words`` are the parts."""
    blocks = _tables.as_columns(target)
    width = sum(1 if isinstance(some.cells, list) else some.cells.shape[1] for some in blocks)
    if names is None:
        named = [name for some in blocks for name in some.names or []]
        names = named if len(named) == width else ["target"] if width == 1 else [f"target_{at}" for at in range(width)]
        # These columns would have a meaning of their own, which a list of targets knows nothing of.
        names = [f"{name}_target" if name.lower() in (column.lower(), "split", "id") else name for name in names]
    elif len(names) != width:
        raise UsageError(f"{width} columns of targets, the model has {len(names)}: {', '.join(names)}")
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
    read = {"targets": names, "smiles_column": column, "text": words_in}
    return {"csv": {"name": "molecules", "text": out.getvalue()}}, read


def _cells(block: Columns, row: int) -> list[Any]:
    if isinstance(block.cells, list):
        return [block.cells[row] or ""]
    return ["" if value != value else int(value) if block.whole else value for value in block.cells[row].tolist()]


def frame_table(frame: Any, words: list[str] | None = None) -> dict[str, Any]:
    """A frame as the text of a table; ``words`` are the parts of its rows."""
    if words is not None:
        if hasattr(frame, "with_columns"):
            import polars

            frame = frame.with_columns(polars.Series("split", words))
        else:
            frame = frame.assign(split=words)
    return {"csv": {"name": "molecules", "text": _text(frame)}}


def _text(frame: Any) -> str:
    if hasattr(frame, "write_csv"):
        import polars

        flat = (polars.String, polars.Boolean, polars.Categorical, polars.Enum, polars.Date, polars.Datetime, polars.Null)
        odd = [column for column in frame if not (column.dtype.is_numeric() or column.dtype in flat)]
        texts = [polars.Series(column.name, _as_text(column.to_list()), polars.String) for column in odd]
        text: str = frame.with_columns(texts).write_csv()
        return text
    odd = [at for at, kind in enumerate(frame.dtypes) if kind == object and any(map(is_molecule, frame.iloc[:, at]))]
    if odd:
        frame = frame.copy(deep=False)
        for at in odd:
            frame.isetitem(at, _as_text(frame.iloc[:, at].tolist()))
    text = frame.to_csv(index=False)
    return text


def _as_text(cells: list[Any]) -> list[str | None]:
    """Cells that a table of text has no way of writing: molecules as SMILES, others as Python prints them."""
    if any(map(is_molecule, cells)) and (found := smiles_of(cells)) is not None:
        return list(found[0])
    return [None if _tables.is_missing(cell) else str(cell) for cell in cells]


def refuse_without_targets(frame: Any, names: list[str]) -> None:
    """Fails if a frame has none of the targets; one of several that is not there is without labels."""
    if not {str(column).lower() for column in frame.columns} & {name.lower() for name in names}:
        found = ", ".join(map(str, frame.columns))
        raise DataError(f"the columns {found}, expected the targets: {', '.join(names)}")


def columns_of_words(frame: Any, names: list[str]) -> list[str]:
    """Those of some columns that hold words and no numbers, bounds or lists. A frame says itself what is missing, so a word
    such as `NA` is a class."""

    def is_word(cell: Any) -> bool:
        if not isinstance(cell, str) or cell.strip()[:1] in ("<", ">", "["):
            return False
        try:
            return not math.isfinite(float(cell))
        except ValueError:
            return True

    wanted = {name.lower() for name in names}
    columns = [column for column in frame.columns if str(column).lower() in wanted]
    cells = {str(column): [cell for cell in frame[column] if not _tables.is_missing(cell)] for column in columns}
    return [name for name, some in cells.items() if some and all(map(is_word, some))]


def stacked(frames: list[Any]) -> Any:
    """Frames one below the other."""
    if hasattr(frames[0], "write_csv"):
        import polars

        return polars.concat(frames)
    import pandas

    return pandas.concat(frames, ignore_index=True)
