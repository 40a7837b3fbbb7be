"""Cross-validation: one training on several splits of the same data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _html
from ._arguments import Number, Whole, seed_of, whole
from ._errors import Interrupted, UsageError
from ._runs import Run, frame_of
from ._train import Callback, Given, _seeds, _Watcher, run_request


class CrossValidation:
    """What cross-validation comes down to; a notebook shows it as a table."""

    def __init__(self, path: str | os.PathLike[str], result: Mapping[str, Any]) -> None:
        #: The directory of the runs, one for every split.
        self.path = Path(path)
        self._result = result

    @property
    def metric(self) -> str:
        """The metric."""
        metric: str = self._result["metric"]
        return metric

    @property
    def mean(self) -> float:
        """Its mean on the test parts over all trainings, every seed of every split; NaN where it has no value."""
        return self._over("test", "mean")

    @property
    def std(self) -> float:
        """The standard deviation of the same (of the population, ddof = 0)."""
        return self._over("test", "population_std")

    def _over(self, part: str, what: str) -> float:
        return float((self._result[part] or {}).get(what, float("nan")))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per split: its name, the metric of validation and test (means over the seeds), that of the seeds
        together where there are several, seconds."""
        metric = self.metric
        rows = []
        for found in self._result["rounds"]:
            row = {"split": found["name"]}
            row |= {f"{part}_{metric}": (found[part] or {}).get("mean") for part in ("valid", "test")}
            if self._result["ensemble"] is not None:
                row[f"ensemble_{metric}"] = found["ensemble"]
            rows.append(row | {"seconds": found["seconds"]})
        return rows

    @property
    def table(self) -> Any:
        """:attr:`rows` as a pandas frame where pandas is installed, else as a list."""
        return frame_of(self.rows)

    @property
    def runs(self) -> list[Run]:
        """The runs, one for every split."""
        return [Run(self.path / found["name"]) for found in self._result["rounds"]]

    def __repr__(self) -> str:
        splits = _html.counted(len(self._result["rounds"]), "split")
        return f"<CrossValidation of {splits}: test {self.metric} {self.mean:.4f} ± {self.std:.4f}>"

    def _repr_html_(self) -> str:
        names = [f"{part}_{self.metric}" for part in ("valid", "test")]
        each = [(row["split"], ", ".join(_html.number(row[name]) for name in names)) for row in self.rows]
        whole = f"{self.mean:.4f} ± {self.std:.4f}"
        return _html.table(f"{self.metric} of validation and test", [*each, ("test, all", whole)])


def cross_validate(
    data: Any,
    target: Any = None,
    *,
    folds: Whole | None = None,
    replicates: Whole | None = None,
    split: str = "random",
    split_seed: Whole = 0,
    seed: Whole | Iterable[Whole] | None = None,
    epochs: Whole | None = None,
    patience: Whole | None = None,
    batch_size: Whole | None = None,
    learning_rate: Number | None = None,
    weight_decay: Number | None = None,
    hidden: Whole | None = None,
    layers: Whole | None = None,
    settings: Mapping[str, Any] | None = None,
    read: Mapping[str, Any] | None = None,
    level: str | None = None,
    descriptors: str | Iterable[str] = (),
    basic_descriptors: bool | None = None,
    morgan_counts: bool = False,
    weight: str | None = None,
    name: str | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    threads: Whole | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    progress: bool | None = None,
    cache: bool = True,
    report: bool = True,
) -> CrossValidation:
    """Trains on several splits of the same data, each a run, and says what comes out on average, as the command
    ``graphminnet cross-validate`` does.

    :param folds: so many rounds, 5 without it; every graph is tested once, by a model that was trained without it
    :param replicates: so many splits of 80/10/10 instead of folds, with seeds from ``split_seed`` on
    :param split: ``random``, ``stratified``, ``scaffold`` or ``kmeans``
    :param run_dir: directory of the runs; what is there already is gone on with

    The other arguments are those of :func:`train`. Ctrl-C raises :class:`Interrupted`; the same call with the same
    ``run_dir`` goes on.
    """
    if folds is not None and replicates is not None:
        raise UsageError("folds= or replicates=: give one of them")
    if replicates is not None:
        rounds = {"replicates": whole(replicates, "replicates", 1, 1000)}
    else:
        # One tests, one validates, the others train.
        rounds = {"folds": whole(5 if folds is None else folds, "folds", 3, 1000)}
    given, source = Given(
        data, target, split=None, read=read, level=level, descriptors=descriptors, basic_descriptors=basic_descriptors,
        morgan_counts=morgan_counts, weight=weight,
    ).request()  # fmt: skip
    short = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "hidden": hidden, "layers": layers,
    }  # fmt: skip
    train = run_request(given, name or source.name, settings, short, _seeds(seed, None), threads, cache, report)
    train |= {"run_dir": run_dir, "command": ["graphminnet.cross_validate"]}
    request = {"train": train, "rounds": rounds, "by": split, "seed": seed_of(split_seed, "split_seed")}
    watcher = _Watcher(callback, progress)
    try:
        value = watcher.value("cross_validate", request, source.arrays)
    except KeyboardInterrupt:
        if watcher.path is None:
            raise
        folder = str(Path(watcher.path).parent)
        raise Interrupted(text=f"interrupted; the same call with run_dir={folder!r} goes on") from None
    return CrossValidation(value["path"], value["result"])
