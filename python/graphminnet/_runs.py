"""Runs: directories in which models were trained."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _html
from ._call import call


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """Rows as a pandas frame where pandas is installed, else as they are."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


class Report:
    """The page of a run; a notebook shows it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file, which needs nothing else."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"<Report of {len(self.html)} characters; save(path) writes it>"

    def _repr_html_(self) -> str:
        return _html.page(self.html)


class Run:
    """A run directory, of this package or of the command ``graphminnet train``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._describe()

    def _describe(self) -> dict[str, Any]:
        value: dict[str, Any] = call("run", self.path).value
        return value

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def config(self) -> dict[str, Any]:
        """The content of ``run.toml``: data, model and protocol."""
        file: dict[str, Any] = self._describe()["file"]
        return file

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        seeds: list[int] = self.config["seeds"]
        return seeds

    @property
    def finished(self) -> bool:
        """Whether all seeds are done; otherwise ``graphminnet.resume(run)`` goes on."""
        return not self._describe()["unfinished"]

    @property
    def summary(self) -> dict[str, Any] | None:
        """The results of the seeds that are done."""
        summary: dict[str, Any] | None = self._describe()["summary"]
        return summary

    @property
    def epochs(self) -> list[dict[str, Any]]:
        """One row per seed and epoch (from 1): losses, metrics, learning rate, seconds."""
        rows: dict[tuple[int, int], dict[str, Any]] = {}
        about = self._describe()
        metric = about["file"]["train"]["metric"]
        for seed, records in about["epochs"].items():
            for record in records:
                key = (int(seed), record["epoch"])
                row = rows.setdefault(key, {"seed": key[0], "epoch": key[1]})
                part = record["split"]
                row[f"{part}_loss"] = record["loss"]
                # Where rows are nodes, edges or pairs, training has no metric.
                if part != "train" or metric in record:
                    row[f"{part}_{metric}"] = record.get(metric)
                if part == "train":
                    row |= {name: record[name] for name in ("learning_rate", "seconds")}
        return [rows[key] for key in sorted(rows)]

    @property
    def history(self) -> Any:
        """:attr:`epochs` as a pandas frame where pandas is installed, else as a list."""
        return frame_of(self.epochs)

    def report(self) -> Report:
        """The run as a page: results, curves, predictions, the worst ones drawn, a model card."""
        return Report(call("report", self.path).value)

    def _rows(self) -> list[tuple[str, object]]:
        about = self._describe()
        file, summary = about["file"], about["summary"] or {}
        score = {part: (summary.get(part) or {}).get("mean") for part in ("valid", "test")}
        metric = file["train"]["metric"]
        epochs = {int(seed): max((row["epoch"] for row in rows), default=0) for seed, rows in about["epochs"].items()}
        return [
            ("directory", self.path),
            ("state", "finished" if not about["unfinished"] else "can be resumed"),
            ("epochs", f"{', '.join(str(done) for done in epochs.values())} of {file['train']['epochs']}"),
            (f"validation {metric}", _html.number(score["valid"])),
            (f"test {metric}", _html.number(score["test"])),
        ]

    def __repr__(self) -> str:
        inner = ", ".join(f"{name} {value}" for name, value in self._rows()[1:])
        return f"<Run {str(self.path)!r}: {inner}>"

    def _repr_html_(self) -> str:
        return _html.table(f"Run of {self.config['name']}", self._rows())
