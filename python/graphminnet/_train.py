"""Training: from data to a model, and on with a run that was interrupted."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _inputs, _molecules, _progress
from ._arguments import Number, Whole, flag, number, plain, seed_of, threads_of, whole
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
    #: The metric of what the model answered while it was trained; None where it has no value, and for nodes, edges and pairs.
    train: float | None
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
_SPLITS = ("auto", "official", "random", "stratified", "scaffold", "kmeans")
_LEVELS = ("graph", "node", "edge", "pair")
#: What is done to molecules; other keys of ``read`` are about the table.
_FORM = ("add_hydrogens", "ignore_stereo", "largest_fragment", "basic_descriptors", "morgan_counts")


def _settings(settings: Mapping[str, Any] | None, short: Mapping[str, Any]) -> list[str]:
    """``--set`` arguments of the command."""
    named = {_SHORT[name]: _word(value, name) for name, value in short.items() if value is not None}
    others = {key: _word(value, f"settings: {key}") for key, value in (settings or {}).items()}
    return [f"{key}={word}" for key, word in {**named, **others}.items()]


def _word(value: Any, name: str) -> str:
    """A value as ``--set`` takes it."""
    found = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(found, str):
        return found
    try:
        if found is not None and not isinstance(found, Mapping):
            return json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        pass
    raise UsageError(f"{name}={found!r}: expected a finite number, text, True or False, or a list of these")


@dataclass(frozen=True)
class Given:
    """The arguments that say what the data is, and how it is read and split."""

    data: Any
    target: Any = None
    valid: Any = None
    test: Any = None
    #: None where somebody else splits.
    split: Any = "auto"
    split_seed: Whole | None = None
    calibrate: bool = False
    read: Mapping[str, Any] | None = None
    level: str | None = None
    descriptors: str | Iterable[str] = ()
    basic_descriptors: bool | None = None
    morgan_counts: bool = False
    weight: str | None = None

    def request(self) -> tuple[dict[str, Any], _inputs.Source]:
        """The part of a request that is about data, and where the data comes from."""
        reading = self._reading()
        choice, parts = self._choice()
        data, valid, test = (_molecules.as_frame(some) for some in (self.data, self.valid, self.test))
        if "split_column" in reading and not (choice == "official" or (isinstance(choice, dict) and "auto" in choice)):
            which = "cross-validation" if self.split is None else f"split={self.split!r}"
            raise UsageError(f"read={{'split_column': …}} has no effect on {which}")
        column = str(reading.get("split_column", 0))
        position = int(column) if column.isdecimal() else 0
        source = _inputs.to_train(
            data, self.target, valid, test, parts, self.level, position, reading.get("edges")
        )  # fmt: skip
        if reading.get("descriptors") and "csv" in source.request and not _molecules.is_frame(data):
            raise UsageError("descriptors= names columns: give a frame or a file that has them")
        if self.weight is not None and not (_inputs.is_path(data) or _molecules.is_frame(data)):
            raise UsageError("weight= names a column: give a frame or a file that has it")
        read = {**source.read, **reading}
        calibrate = flag(self.calibrate, "calibrate")
        chance = self.split_seed is not None and isinstance(choice, dict) and "auto" in choice
        asked = {"source": source.request, "read": read, "split": choice, "needs_chance": chance, "calibrate": calibrate}
        return asked, source

    def _choice(self) -> tuple[Any, Any]:
        """How the native module splits the data, and the parts of graphs where they are named."""
        split, seed = self.split, None if self.split_seed is None else seed_of(self.split_seed, "split_seed")
        number = seed or 0
        own = self.valid is not None or self.test is not None
        if own and not (isinstance(split, str) and split == "auto"):
            raise UsageError("valid= and test= are parts already: give them or split=")
        if split is None:
            return None, None
        if isinstance(split, str) and split in ("auto", "random", "stratified"):
            return {split: {"seed": number}}, None
        if isinstance(split, str) and split == "scaffold":
            return ("scaffold" if seed is None else {"groups": {"by": "scaffold", "seed": seed}}), None
        if isinstance(split, str) and split == "kmeans":
            return {"groups": {"by": "fingerprint", "seed": number}}, None
        if seed is not None:
            which = f"split={split!r}" if isinstance(split, (str, os.PathLike)) else "parts that are named"
            raise UsageError(f"split_seed= has no effect on {which}")
        if isinstance(split, str) and split == "official":
            return split, None
        if not isinstance(split, (str, os.PathLike)):
            return "official", split
        if _inputs.is_path(self.data):
            return {"file": {"path": os.path.abspath(split)}}, None
        raise UsageError(f"split={split!r}: expected {', '.join(_SPLITS)}, or the parts of the graphs")

    def _reading(self) -> dict[str, Any]:
        """Options for reading, as the native module calls them."""
        options = dict(self.read or {})
        if isinstance(task := options.get("task"), str) and task.startswith("classes:"):
            if not (count := task.removeprefix("classes:")).isdecimal():
                raise UsageError(f"read={{'task': {task!r}}}: expected the number of classes, such as classes:3")
            options["task"] = {"multi_class": {"classes": int(count)}}
        if isinstance(options.get("split_column"), int):
            options["split_column"] = str(options["split_column"])
        for word in ("edges", "format"):
            if isinstance(options.get(word), str):
                options[word] = options[word].replace("-", "_")
        form = {name: options.pop(name) for name in _FORM if name in options}
        form |= {name: True for name in _FORM[3:] if (on := getattr(self, name)) is not None and flag(on, name)}
        if form:
            options["molecules"] = {**options.get("molecules", {}), **form}
        if self.basic_descriptors is None and "basic_descriptors" not in options.get("molecules", {}):
            options.setdefault("describe_molecules", True)
        names = [self.descriptors] if isinstance(self.descriptors, str) else list(self.descriptors)
        if self.level is not None and self.level not in _LEVELS:
            raise UsageError(f"level={self.level!r}: expected {', '.join(_LEVELS)}")
        if self.weight is not None:
            options["weight_column"] = self.weight
        return options | ({"descriptors": names} if names else {}) | ({"level": self.level} if self.level else {})


def _start(
    start: Any, new_head: bool, freeze: str | Iterable[str], start_rate: Number | None
) -> dict[str, Any] | None:
    """The model to begin with."""
    parts = freeze.split(",") if isinstance(freeze, str) and freeze else list(freeze)
    if start is None:
        if new_head or parts or start_rate is not None:
            raise UsageError("new_head=, freeze= and start_rate= are about a model to begin with: give start=")
        return None
    path = start
    if isinstance(start, Model):
        if len(start) != 1:
            raise UsageError(f"start= has {len(start)} models: choose one of model.members, and save it")
        path = start.path
        if not path.is_file() or path.read_bytes() != start.to_bytes()[0]:
            raise UsageError("start= is a model that is in no file: save it, and give the path")
    rate = 1.0 if start_rate is None else number(start_rate, "start_rate")
    return {"path": path, "new_head": flag(new_head, "new_head"), "freeze": parts, "rate": rate}


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
            names = ("epochs", "loss", "train", "valid", "test", "improved", "learning_rate", "seconds")
            epoch = Epoch(self.seed, event["epoch"] + 1, **{name: event[name] for name in names})
            for callback in self.callbacks:
                callback(epoch)

    def value(self, method: str, request: dict[str, Any], arrays: tuple[Any, ...]) -> Any:
        """Makes the call, and gives back what it says."""
        try:
            return call(method, request, arrays, None, self).value
        finally:
            self.progress.close()

    def run(self, method: str, request: dict[str, Any], arrays: tuple[Any, ...]) -> Model:
        """Makes the call, and a model of the run, also where Ctrl-C ended it."""
        try:
            path = self.value(method, request, arrays)["path"]
        except KeyboardInterrupt:
            if self.path is None or not Path(self.path, "run.toml").is_file():
                raise
            path, run = self.path, Run(self.path)
            if not any(Path(path).glob("seed-*/best.gmn")):
                raise Interrupted(run) from None
            if not run.finished:
                text = f"interrupted: this is the best model so far; graphminnet.resume({str(path)!r}) goes on"
                warnings.warn(text, stacklevel=3)
        return load(path)


def train(
    data: Any,
    target: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    split: Any = "auto",
    split_seed: Whole | None = None,
    calibrate: bool = False,
    seed: Whole | Iterable[Whole] | None = None,
    ensemble: Whole | None = None,
    start: str | os.PathLike[str] | Model | None = None,
    new_head: bool = False,
    freeze: str | Iterable[str] = (),
    start_rate: Number | None = None,
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
    resume: str | os.PathLike[str] | None = None,
    threads: Whole | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    progress: bool | None = None,
    cache: bool = True,
    report: bool = True,
) -> Model:
    """Trains a model and gives back its best epoch.

    Whatever is not given is inferred, as by the command ``graphminnet train``, and the results are the same to the bit.

    :param data: a path, a frame, SMILES, RDKit molecules, PyG data, NetworkX graphs, a mapping of arrays, or the name of a
        data set (``ogbg-molhiv``, ``tu:MUTAG``)
    :param target: columns of a file or frame, attributes of NetworkX graphs, or the targets themselves, one per graph (of
        ``data``, ``valid`` and ``test`` one after the other)
    :param valid: data of the same kind to choose the epoch by; ``test`` is only reported on
    :param split: ``auto`` (the data's own, or at random), ``official``, ``random``, ``stratified``, ``scaffold``,
        ``kmeans`` (molecules with similar fingerprints stay together), a split file, a list with the part of each graph (of
        each node, edge or pair of a single graph), or positions by part
    :param split_seed: of a split that has to do with chance, 0 without it; with ``scaffold``, groups go to the parts at
        random
    :param calibrate: set graphs of the training part aside, for :meth:`Model.predict_interval` and ``predict_set``
    :param seed: one seed, or several, whose models answer together; without it 0
    :param ensemble: train so many models, of the seeds from 0 on
    :param start: begin with the weights of a trained model, a file or run of one seed; its model is used unless ``settings``
        change it, and what has no place in it begins at random
    :param new_head: begin with a new head, also where the targets are those of the model
    :param freeze: parts that keep the weights they begin with: ``encoders``, ``layers``, ``layers.0``, …, ``head``
    :param start_rate: factor of the learning rate for what was taken over, at most 1
    :param patience: epochs without a better validation metric before training stops early
    :param settings: fields of the configuration, such as ``{"model.lap_dim": 8}``
    :param read: how a file or table is read, such as ``{"smiles_column": "mol", "on_bad_row": "skip"}``
    :param level: what a target belongs to: a ``graph``, a ``node``, an ``edge``, or a ``pair`` of nodes
    :param descriptors: columns of a file or frame of molecules whose numbers join the graphs before the head
    :param basic_descriptors: compute a dozen descriptors of every molecule (weight, rings, donors, …); without it molecules
        have them where a target belongs to a whole molecule (with ``start``, where its model has them)
    :param morgan_counts: count the surroundings of atoms (a Morgan fingerprint of 512 places)
    :param weight: column of a file or frame that says how much a row counts in the training loss, a number from 0 on
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
    if resume is not None and run_dir is not None:
        raise UsageError("resume= names the directory of the run: give resume= or run_dir=")
    given, source = Given(
        data, target, valid, test, split, split_seed, calibrate, read, level, descriptors, basic_descriptors, morgan_counts,
        weight,
    ).request()  # fmt: skip
    short = {
        "epochs": epochs, "patience": patience, "batch_size": batch_size, "learning_rate": learning_rate,
        "weight_decay": weight_decay, "hidden": hidden, "layers": layers,
    }  # fmt: skip
    request = run_request(given, name or source.name, settings, short, _seeds(seed, ensemble), threads, cache, report)
    request |= {
        "start": _start(start, new_head, freeze, start_rate),
        "run_dir": run_dir if resume is None else resume,
        "resume": resume is not None,
        "command": ["graphminnet.train"],
    }
    return _Watcher(callback, progress).run("train", request, source.arrays)


def run_request(
    given: dict[str, Any],
    name: str,
    settings: Mapping[str, Any] | None,
    short: Mapping[str, Any],
    seeds: list[int],
    threads: Whole | None,
    cache: bool,
    report: bool,
) -> dict[str, Any]:
    """What every call that trains asks for; where the run goes is added to it."""
    fields = {
        "data": given, "name": name, "set": _settings(settings, short), "seeds": seeds, "threads": threads_of(threads),
        "how": _how(cache, report),
    }  # fmt: skip
    return fields | {"start": None, "run_dir": None, "resume": True}


def _how(cache: bool, report: bool) -> dict[str, bool]:
    return {"cache": flag(cache, "cache"), "report": flag(report, "report")}


def _seeds(seed: Whole | Iterable[Whole] | None, ensemble: Whole | None) -> list[int]:
    if seed is not None and ensemble is not None:
        raise UsageError("ensemble= numbers its seeds itself: give seed= or ensemble=")
    if ensemble is not None:
        return list(range(whole(ensemble, "ensemble", 1)))
    given = plain(0 if seed is None else seed)
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping))
    return [seed_of(one, "seed") for one in (given if several else [given])]


def resume(
    run: str | os.PathLike[str],
    data: Any = None,
    target: Any = None,
    *,
    valid: Any = None,
    test: Any = None,
    split: Any = "auto",
    split_seed: Whole | None = None,
    calibrate: bool = False,
    read: Mapping[str, Any] | None = None,
    level: str | None = None,
    descriptors: str | Iterable[str] = (),
    basic_descriptors: bool | None = None,
    morgan_counts: bool = False,
    weight: str | None = None,
    threads: Whole | None = None,
    callback: Callback | Iterable[Callback] | None = None,
    progress: bool | None = None,
    cache: bool = True,
    report: bool = True,
) -> Model:
    """Goes on with a run, to the same bits as if it had never been interrupted.

    A run of a file finds its data again. Data that was given in memory is given again, with the same target, split and
    ``calibrate``; its fingerprint says whether it is the same.
    """
    request: dict[str, Any] = {
        "run_dir": run, "data": None, "threads": threads_of(threads), "how": _how(cache, report)
    }  # fmt: skip
    arrays: tuple[Any, ...] = ()
    if data is not None:
        request["data"], source = Given(
            data, target, valid, test, split, split_seed, calibrate, read, level, descriptors, basic_descriptors, morgan_counts,
            weight,
        ).request()  # fmt: skip
        arrays = source.arrays
    return _Watcher(callback, progress).run("resume", request, arrays)
