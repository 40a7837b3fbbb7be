"""Trained models: predictions, vectors, explanations."""

from __future__ import annotations

import copy
import itertools
import os
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _html, _inputs, _tables
from ._arguments import Number, Whole, number, plain, threads_of, whole
from ._call import Reply, call
from ._errors import UsageError
from ._explanation import Explanation
from ._runs import Report, Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class Model:
    """A trained model, or several that answer together (the seeds of a run).

    Made by :func:`graphminnet.load` and :func:`graphminnet.train`. Models may be shared between threads, and pickled.
    """

    def __init__(self, reply: Reply, run: Run | None = None) -> None:
        self._handle = reply.handle
        self._about: dict[str, Any] = reply.value
        self._local = threading.local()
        #: The run that the model came from, where it is known.
        self.run = run

    # What it is

    @property
    def description(self) -> dict[str, Any]:
        """Everything about the (first) model but its weights; a copy."""
        return copy.deepcopy(self._description)

    @property
    def _description(self) -> dict[str, Any]:
        about: dict[str, Any] = self._about["members"][0]["description"]
        return about

    @property
    def path(self) -> Path:
        """The file that the (first) model came from."""
        return Path(self._about["members"][0]["path"])

    @property
    def kind(self) -> str:
        """What predictions are: ``numbers``, ``binary`` (the probability of yes) or ``classes`` (of each class)."""
        kind: str = self._about["kind"]
        return kind

    @property
    def level(self) -> str:
        """What it answers for: a ``graph``, a ``node``, an ``edge``, or a ``pair`` of nodes."""
        level: str = self._description["schema"]["level"]
        return level

    @property
    def targets(self) -> list[str]:
        """Names of the targets."""
        return list(self._description["schema"]["targets"])

    @property
    def classes(self) -> list[str]:
        """Names of the classes, where there are some; of two, the second is the one whose probability is predicted."""
        return list(self._about["classes"])

    @property
    def parameters(self) -> int:
        """Trainable parameters of the (first) model."""
        parameters: int = self._about["members"][0]["parameters"]
        return parameters

    def __len__(self) -> int:
        return len(self._about["members"])

    @property
    def members(self) -> list[Model]:
        """The models one by one."""
        names = [member["path"] for member in self._about["members"]]
        return [
            Model(call("from_bytes", [name], (data,)), self.run) for name, data in zip(names, self.to_bytes(), strict=True)
        ]

    @property
    def reasons(self) -> list[str | None]:
        """Why rows of the last :meth:`predict` or :meth:`embed` in this thread have no numbers; None where they have."""
        reasons: list[str | None] = getattr(self._local, "reasons", [])
        return reasons

    @property
    def deviations(self) -> Array | None:
        """Standard deviations of the last :meth:`predict` in this thread, in the shape of its values: how far apart several
        models were and, with the loss ``mean_variance``, how unsure each is. None of a single model of another loss."""
        return getattr(self._local, "deviations", None)

    @property
    def quantile_levels(self) -> list[float]:
        """The quantiles besides the median that the model says (loss ``quantile``), ascending; those of :attr:`quantiles`."""
        return list(self._about["quantiles"])

    @property
    def quantiles(self) -> Array | None:
        """Quantiles besides the median of the last :meth:`predict` in this thread, ``[graphs, levels]``, of several targets
        ``[graphs, targets, levels]``, one per level of :attr:`quantile_levels`. None without the loss ``quantile``."""
        return getattr(self._local, "quantiles", None)

    @property
    def history(self) -> Any:
        """The epochs of the model's run: a pandas frame where pandas is installed, else a list."""
        return self._known_run().history

    # What it says

    def _ask(self, method: str, data: Any, threads: Whole | None, **more: Any) -> tuple[Reply, _inputs.Source]:
        threads = threads_of(threads)
        source = _inputs.to_predict(data, self._description, pairs=method == "predict")
        reply = call(method, {"source": source.request, "threads": threads, **more}, source.arrays, self._handle)
        self._local.reasons = reply.value["reasons"]
        return reply, source

    def predict(self, data: Any, *, threads: Whole | None = None) -> Any:
        """What the model says about graphs, in their order, as a numpy array.

        Numbers are in the units of the data; classes are probabilities: of yes, ``[graphs]``, or of each class,
        ``[graphs, classes]``. Several targets are columns. A graph that cannot be used is NaN, and :attr:`reasons` says
        why. A model that answers per node, edge or pair gives a list with one array per graph, in the order in which the
        graph lists them, empty for a graph that cannot be used; an undirected edge that is listed once has one row.
        """
        reply, source = self._ask("predict", data, threads)
        self._keep_spread(reply, source)
        return self._shaped(reply, 0, "f8", source)

    def predict_pairs(self, graph: Any, pairs: Any, *, threads: Whole | None = None) -> Any:
        """What a model that answers for pairs of nodes says about some pairs ``[n, 2]`` of one graph, as an array with a
        row for each; of links, the probability. ``edge_label_index`` of the graph plays no role."""
        import numpy as np

        ends = np.asarray(_tables.whole_numbers(pairs, "pairs"))
        if ends.ndim != 2 or ends.shape[1] != 2:
            raise UsageError(f"pairs of shape {list(ends.shape)}: expected [n, 2], two nodes each")
        return self._pairs(graph, threads, ends)[1]

    def likeliest_pairs(self, graph: Any, count: Whole = 10, *, threads: Whole | None = None) -> tuple[Array, Array]:
        """The likeliest pairs of one graph that have no edge, best first: nodes ``[count, 2]`` and probabilities."""
        pairs, values = self._pairs(graph, threads, whole(count, "count"))
        return pairs, values

    def _pairs(self, graph: Any, threads: Whole | None, asked: Any) -> tuple[Any, Any]:
        import numpy as np

        threads = threads_of(threads)
        source = _inputs.to_predict(graph, self._description, pairs=False)
        before, about, arrays = len(source.arrays), {"likeliest": asked}, source.arrays
        if not isinstance(asked, int):
            ends = np.ascontiguousarray(asked.T, dtype=np.int64)
            about, arrays = {"these": [before, before + 1]}, (*arrays, ends[0], ends[1])
        reply = call("pairs", {"source": source.request, "threads": threads, "about": about}, arrays, self._handle)
        self._local.reasons = reply.value["reasons"]
        self._keep_spread(reply, source)
        return np.frombuffer(reply.arrays[2], "i8").reshape(-1, 2), self._shaped(reply, 0, "f8", source)

    def predict_class(self, data: Any, *, threads: Whole | None = None) -> Any:
        """The name of the class that is most probable for each graph (for each node of it), None where there is none."""
        import numpy as np

        if not self.classes:
            raise UsageError(f"the model predicts {self.kind} of {', '.join(self.targets)}: it knows no classes by name")
        reply, source = self._ask("predict", data, threads)
        if self.kind == "classes":
            chosen = np.frombuffer(reply.arrays[2], "i8")
        else:
            values = np.frombuffer(reply.arrays[0], "f8")
            values = values.reshape(-1, reply.value["columns"]) if reply.value["columns"] > 1 else values
            chosen = np.where(np.isnan(values), -1, values > 0.5)
        names = np.array([*self.classes, None], dtype=object)[chosen.astype(int)]
        return _per_graph(names, reply.value["rows"], source)

    def predict_interval(self, data: Any, *, level: Number = 0.9, calibrate: Any = None, threads: Whole | None = None) -> Any:
        """The low and high ends of intervals that hold the truth with probability ``level``: ``[graphs, 2]``, of several
        targets ``[graphs, targets, 2]``.

        They come from graphs that were set aside by ``train(calibrate=True)``, or from ``calibrate``: labelled graphs
        that the model has never seen, such as it was trained on, or a pair of graphs and targets. Graphs of another kind
        get no such promise; a warning says where answers show that.
        """
        if self.kind != "numbers":
            raise UsageError(f"the model predicts {self.kind}: predict_set gives the classes that hold the truth")
        values, reply, source = self._conformal(data, level, calibrate, threads)
        values = values.reshape(-1, reply.value["targets"], 2)
        return _per_graph(values[:, 0] if values.shape[1] == 1 else values, reply.value["rows"], source)

    def predict_set(self, data: Any, *, level: Number = 0.9, calibrate: Any = None, threads: Whole | None = None) -> list[Any]:
        """The classes of each graph that hold the true one with probability ``level``, as a tuple of names (0 and 1 where
        they have none); None for a graph that cannot be used. Of several targets, a list of tuples.

        An empty tuple says that no class is as likely as true ones usually are. ``calibrate`` is that of
        :meth:`predict_interval`.
        """
        if self.kind == "numbers":
            raise UsageError("the model predicts numbers: predict_interval gives the ends that hold the truth")
        values, reply, source = self._conformal(data, level, calibrate, threads)
        names: list[Any] = list(self.classes or (0, 1))
        sets: list[Any] = []
        for row in values.reshape(len(values), reply.value["targets"], -1):
            inside = [tuple(name for name, chosen in zip(names, target) if chosen) for target in row.tolist()]
            sets.append(None if row[0, 0] != row[0, 0] else inside if len(inside) > 1 else inside[0])
        if (rows := reply.value["rows"]) is None:
            return sets
        ends = [0, *itertools.accumulate(rows)]
        each = [sets[start:end] for start, end in zip(ends, ends[1:])]
        if source.orders is None:
            return each
        orders = [order.of(len(one)) for one, order in zip(each, source.orders)]
        return [[row for _, row in sorted(zip(order, one), key=lambda pair: pair[0])] for order, one in zip(orders, each)]

    def _conformal(self, data: Any, level: Number, calibrate: Any, threads: Whole | None) -> tuple[Any, Reply, _inputs.Source]:
        import numpy as np

        about, level, threads = self._description, number(level, "level"), threads_of(threads)
        source = _inputs.to_predict(data, about)
        known = None if calibrate is None else _inputs.labelled(calibrate, about, len(source.arrays))
        request = {
            "source": source.request, "threads": threads, "level": level, "calibrate": None if known is None else known.request
        }  # fmt: skip
        reply = call("conformal", request, source.arrays + (known.arrays if known else ()), self._handle)
        self._local.reasons = reply.value["reasons"]
        for text in reply.value["warnings"]:
            warnings.warn(text, stacklevel=3)
        return np.frombuffer(reply.arrays[0], "f8").reshape(-1, reply.value["columns"]), reply, source

    def _keep_spread(self, reply: Reply, source: _inputs.Source) -> None:
        """Keeps what was said besides the values."""
        import numpy as np

        self._local.deviations = self._shaped(reply, 1, "f8", source) if self._about["deviations"] else None
        self._local.quantiles = None
        if levels := len(self.quantile_levels):
            columns = reply.value["columns"]
            shape = (-1, columns, levels) if columns > 1 else (-1, levels)
            values = np.frombuffer(reply.arrays[3], "f8").reshape(shape)
            self._local.quantiles = _per_graph(values, reply.value["rows"], source)

    def _shaped(self, reply: Reply, at: int, kind: str, source: _inputs.Source) -> Any:
        import numpy as np

        columns = reply.value["columns"]
        values = np.frombuffer(reply.arrays[at], kind)
        if columns > 1:
            values = values.reshape(-1, columns)
        return _per_graph(values, reply.value["rows"], source)

    def embed(self, data: Any, *, level: str = "graph", threads: Whole | None = None) -> Any:
        """The vectors of graphs, ``[graphs, hidden]``, as they are pooled before the head; with ``level="node"`` a list
        with one array ``[nodes, hidden]`` per graph, as after the last layer."""
        import numpy as np

        if level not in ("graph", "node"):
            raise UsageError(f"level={level!r}: expected graph or node")
        reply, source = self._ask("embed", data, threads, level=level)
        values = np.frombuffer(reply.arrays[0], "f4").reshape(-1, reply.value["columns"])
        return _per_graph(values, reply.value["rows"], source)

    def explain(
        self, graph: Any, *, method: str = "integrated", target: Whole | str | None = None, node: Whole | None = None
    ) -> Explanation:
        """Which nodes and edges of one graph a prediction rests on.

        ``target`` is a target or class, by number or name; without it the predicted class, or the first target.
        """
        import numpy as np

        source = _inputs.to_predict(graph, self._description, pairs=False)
        target, node = plain(target), None if node is None else whole(node, "node")
        names = self.classes if self.kind == "classes" else self.targets
        if isinstance(target, str):
            if target not in names:
                raise UsageError(f"target={target!r}: expected one of {', '.join(names)}")
            target = names.index(target)
        elif target is not None:
            target = whole(target, "target")
        order = source.orders[0] if source.orders else None
        asked = node if node is None or order is None else _position(order.of(len(order.heavy)), node)
        title = graph if isinstance(graph, str) else ""
        request = {"source": source.request, "method": method, "node": asked, "output": target, "title": title}
        reply = call("explain", request, source.arrays, self._handle)
        nodes, edges = (np.frombuffer(reply.arrays[at], "f8") for at in (0, 1))
        ends = np.frombuffer(reply.arrays[2], "i8").reshape(2, -1)
        about = {key: value for key, value in reply.value.items() if key != "output"} | {"node": node}
        if order is not None:
            place = np.array(order.of(len(nodes)))
            nodes, ends = nodes[np.argsort(place)], place[ends]
        return Explanation(nodes=nodes, edges=edges, edge_index=ends, **about)

    def report(self) -> Report:
        """The page of the model's run."""
        return self._known_run().report()

    def _known_run(self) -> Run:
        if self.run is None:
            raise UsageError(f"{self.path}: a model file alone has no run; load its run directory")
        return self.run

    # Where it goes

    def to_bytes(self) -> list[bytes]:
        """The bytes of the files of all models."""
        return [bytes(array) for array in call("to_bytes", None, (), self._handle).arrays]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the model to a file, the same as the command's; several models become one file, an ensemble."""
        call("save", Path(path), (), self._handle)
        return Path(path)

    def __reduce__(self) -> tuple[Any, ...]:
        names = [member["path"] for member in self._about["members"]]
        return _from_bytes, (names, self.to_bytes(), None if self.run is None else self.run.path.absolute())

    def _rows(self) -> list[tuple[str, object]]:
        about = self._description
        chosen, metric = about["selection"], about["metric"]
        layers = _html.counted(about["model"]["layers"], "layer")
        graphs = _html.counted(about["data"]["train"], "graph")
        rows: list[tuple[str, object]] = [
            ("answers", f"{self.kind} per {self.level}: {', '.join(self.classes or self.targets)}"),
            ("network", f"{layers} of width {about['model']['hidden']}, {self.parameters} parameters"),
            ("trained on", f"{graphs} of {about['data']['name']}, epoch {chosen['epoch'] + 1}"),
            (metric, f"validation {_html.number(chosen['valid'])}, test {_html.number(chosen['test'])}"),
        ]
        return rows + [("models", len(self))] * (len(self) > 1)

    def __repr__(self) -> str:
        inner = "; ".join(f"{name}: {value}" for name, value in self._rows())
        return f"<Model {self._description['name']}: {inner}>"

    def _repr_html_(self) -> str:
        return _html.table(f"Model {self._description['name']}", self._rows())


def _per_graph(values: Any, rows: list[int] | None, source: _inputs.Source) -> Any:
    """Rows of nodes as one array per graph, in the order of the atoms where molecules have one of their own."""
    import numpy as np

    if rows is None:
        return values
    arrays = np.split(values, np.cumsum(rows)[:-1]) if rows else []
    if source.orders is None:
        return arrays
    # A molecule that cannot be used has no rows.
    return [one[np.argsort(order.of(len(one)))] if len(one) else one for one, order in zip(arrays, source.orders, strict=True)]


def _position(order: list[int], node: int) -> int:
    if node not in order:
        raise UsageError(f"node {node} was asked for: it is no atom of the molecule, or a hydrogen")
    return order.index(node)


def _from_bytes(names: list[str], files: list[bytes], run: Path | None = None) -> Model:
    known = run if run is not None and (run / "run.toml").is_file() else None
    return Model(call("from_bytes", names, tuple(files)), None if known is None else Run(known))


def load(path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Model:
    """Loads a model: a ``.gmn`` file, the folder of a seed, or a run; several of them answer together.

    >>> import graphminnet as gmn
    >>> gmn.load("no-such-model.gmn")
    Traceback (most recent call last):
    ...
    graphminnet.MissingError: cannot open no-such-model.gmn
    """
    one = isinstance(path, (str, os.PathLike))
    paths = [Path(path)] if one else [Path(some) for some in path]  # type: ignore[arg-type, union-attr]
    reply = call("load", paths)
    homes = [paths[0], *paths[0].parents[:2]] if len(paths) == 1 else []
    run = next((home for home in homes if (home / "run.toml").is_file()), None)
    return Model(reply, None if run is None else Run(run))
