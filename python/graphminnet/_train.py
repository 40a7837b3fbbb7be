"""Training: from data to a model, and on with a run that was interrupted."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _inputs, _progress
from ._call import call
from ._errors import Interrupted, UsageError
from ._model import Model, load
from ._runs import Run


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after every epoch."""

    #: The seed.
    seed: int
    #: The epoch, from 1.
    epoch: int
    #: Epochs of the schedule.
    epochs: int
    #: Mean training loss.
    loss: float
    #: The metric of the validation part; None where it has no value.
    valid: float | None
    #: The metric of the test part; None where it has no value.
    test: float | None
    #: Whether the validation metric is the best so far.
    improved: bool
    #: Learning rate.
    learning_rate: float
    #: Wall-clock seconds, evaluation included.
    seconds: float


Callback = Callable[[Epoch], object]

_SHORT = {
    "epochs": "train.epochs",
    "patience": "train.patience",
    "batch_size": "train.batch_size",
    "learning_rate": "train.learning_rate",
    "weight_decay": "train.weight_decay",
    "hidden": "model.hidden",
    "layers": "model.layers",
}
_SPLITS = ("auto", "official", "random", "stratified", "scaffold")


def _settings(settings: Mapping[str, Any] | None, short: Mapping[str, Any]) -> list[str]:
    """``--set`` arguments of the command."""
    named = {_SHORT[name]: value for name, value in short.items() if value is not None}
    return [f"{key}={_word(value)}" for key, value in {**named, **(settings or {})}.items()]


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value.item() if hasattr(value, "item") else value)


def _data(
    data: Any,
    target: Any,
    valid: Any,
    test: Any,
    split: Any,
    seed: int,
    calibrate: bool,
    read: Mapping[str, Any] | None,
    level: str | None,
) -> tuple[dict[str, Any], _inputs.Source]:
    """The part of a request that is about data, and where the data comes from."""
    reading = _reading(read, level)
    column = str(reading.get("split_column", 0))
    choice, parts = split, None
    if isinstance(split, str) and split in _SPLITS:
        choice = {split: {"seed": seed}} if split in ("auto", "random", "stratified") else split
    elif not isinstance(split, (str, os.PathLike)):
        choice, parts = "official", split
    elif _inputs.is_path(data):
        choice = {"file": {"path": os.path.abspath(split)}}
    else:
        raise UsageError(f"split={split!r}: expected {', '.join(_SPLITS)}, or the parts of the graphs")
    source = _inputs.to_train(data, target, valid, test, parts, level, int(column) if column.isdecimal() else 0)
    request = {"source": source.request, "read": {**source.read, **reading}, "split": choice, "calibrate": calibrate}
    return request, source


class _Watcher:
    """Takes what a run says, shows it, and calls back."""

    def __init__(self, callback: Callback | Iterable[Callback] | None, progress: bool | None) -> None:
        callbacks = [] if callback is None else [callback] if callable(callback) else list(callback)
        self.callbacks: list[Callback] = callbacks
        self.progress = _progress.chosen(progress)
        self.path: str | None = None
        self.seed = 0

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] == "run":
            self.path = event["path"]
        elif event["event"] == "seed":
            self.seed = event["seed"]
        self.progress(event)
        if event["event"] == "epoch" and self.callbacks:
            names = ("epochs", "loss", "valid", "test", "improved", "learning_rate", "seconds")
            epoch = Epoch(self.seed, event["epoch"] + 1, **{name: event[name] for name in names})
            for callback in self.callbacks:
                callback(epoch)

    def run(self, method: str, request: dict[str, Any], arrays: tuple[Any, ...]) -> Model:
        """Makes the call, and a model of the run, also where Ctrl-C ended it."""
        try:
            path = call(method, request, arrays, None, self).value["path"]
        except KeyboardInterrupt:
            if self.path is None or not Path(self.path, "run.toml").is_file():
                raise
            path, run = self.path, Run(self.path)
            if not any(Path(path).glob("seed-*/best.gmn")):
                raise Interrupted(run) from None
            if not run.finished:
                text = f"interrupted: this is the best model so far; graphminnet.resume({str(path)!r}) goes on"
                warnings.warn(text, stacklevel=4)
        finally:
            self.progress.close()
        return load(path)


def train(
    data: Any,
    target: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    split: Any = "auto",
    split_seed: int = 0,
    calibrate: bool = False,
    seed: int | Iterable[int] | None = None,
    ensemble: int | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    weight_decay: float | None = None,
    hidden: int | None = None,
    layers: int | None = None,
    settings: Mapping[str, Any] | None = None,
    read: Mapping[str, Any] | None = None,
    level: str | None = None,
    name: str | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    progress: bool | None = None,
    cache: bool = True,
    report: bool = True,
) -> Model:
    """Trains a model and gives back its best epoch.

    Whatever is not given is inferred, as by the command ``graphminnet train``, and the results are the same to the bit.

    :param data: a path, a frame, SMILES, RDKit molecules, PyG data, NetworkX graphs, a mapping of arrays, or the name of a
        data set (``ogbg-molhiv``, ``tu:MUTAG``)
    :param target: columns of a file or frame, attributes of NetworkX graphs, or the targets themselves, one per graph
    :param valid: data of the same kind to choose the epoch by; ``test`` is only reported on
    :param split: ``auto`` (the data's own, or at random), ``official``, ``random``, ``stratified``, ``scaffold``, a split
        file, a list with the part of each graph (of each node of a single graph), or positions by part
    :param calibrate: set graphs of the training part aside, for :meth:`Model.predict_interval` and ``predict_set``
    :param seed: one seed, or several, whose models answer together; without it 0
    :param ensemble: train so many models, of the seeds from 0 on
    :param patience: epochs without a better validation metric before training stops early
    :param settings: fields of the configuration, such as ``{"model.lap_dim": 8}``
    :param read: how a file or table is read, such as ``{"smiles_column": "mol", "on_bad_row": "skip"}``
    :param level: whether targets belong to a ``graph`` or a ``node``
    :param run_dir: directory of the run; without it ``runs/NAME-TIME``
    :param resume: go on with the run in this directory if there is one, and start it there if there is none
    :param threads: results do not depend on it
    :param callback: called with an :class:`Epoch` after each; an exception saves the state and ends the training
    :param progress: True for lines where there is neither a terminal nor a notebook, False for silence
    :param cache: keep what is computed for the graphs for later runs
    :param report: write ``report.html``

    Ctrl-C saves the state and returns the best model so far, whose ``run`` can be resumed; before the first epoch it
    raises :class:`Interrupted`.
    """
    if seed is not None and ensemble is not None:
        raise UsageError("ensemble= numbers its seeds itself: give seed= or ensemble=")
    if resume is not None and run_dir is not None:
        raise UsageError("resume= names the directory of the run: give resume= or run_dir=")
    given, source = _data(data, target, valid, test, split, split_seed, calibrate, read, level)
    short = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "hidden": hidden, "layers": layers,
    }  # fmt: skip
    request = {
        "data": given,
        "name": name or source.name,
        "set": _settings(settings, short),
        "seeds": _seeds(seed, ensemble),
        "run_dir": run_dir if resume is None else resume,
        "resume": resume is not None,
        "threads": threads,
        "cache": cache,
        "report": report,
        "command": ["graphminnet.train"],
    }
    return _Watcher(callback, progress).run("train", request, source.arrays)


def _seeds(seed: int | Iterable[int] | None, ensemble: int | None) -> list[int]:
    if ensemble is not None:
        if ensemble < 1:
            raise UsageError(f"ensemble={ensemble}: at least one model is needed")
        return list(range(ensemble))
    return [int(one) for one in seed] if isinstance(seed, Iterable) else [int(seed or 0)]


def _reading(read: Mapping[str, Any] | None, level: str | None) -> dict[str, Any]:
    options = dict(read or {})
    if isinstance(task := options.get("task"), str) and task.startswith("classes:"):
        options["task"] = {"multi_class": {"classes": int(task.removeprefix("classes:"))}}
    if isinstance(options.get("split_column"), int):
        options["split_column"] = str(options["split_column"])
    return options | ({"level": level} if level else {})


def resume(
    run: str | os.PathLike[str],
    data: Any = None,
    target: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    split: Any = "auto",
    split_seed: int = 0,
    calibrate: bool = False,
    read: Mapping[str, Any] | None = None,
    level: str | None = None,
    threads: int | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    progress: bool | None = None,
    cache: bool = True,
    report: bool = True,
) -> Model:
    """Goes on with a run, to the same bits as if it had never been interrupted.

    A run of a file finds its data again. Data that was given in memory is given again, with the same target, split and
    ``calibrate``; its fingerprint says whether it is the same.
    """
    request: dict[str, Any] = {"run_dir": run, "data": None, "threads": threads, "cache": cache, "report": report}
    arrays: tuple[Any, ...] = ()
    if data is not None:
        request["data"], source = _data(data, target, valid, test, split, split_seed, calibrate, read, level)
        arrays = source.arrays
    return _Watcher(callback, progress).run("resume", request, arrays)
