"""Estimators for scikit-learn: ``fit``, ``predict``, ``predict_proba``, ``score``, ``clone``, ``GridSearchCV``, pickles.

``X`` is a list of SMILES, RDKit molecules, PyG data or NetworkX graphs, a column of a frame, or a frame with one column of
SMILES; anything that can be indexed, so that scikit-learn can take parts of it.

>>> from graphminnet.sklearn import GraphMinNetRegressor
>>> smiles = ["C" * n + "O" for n in range(1, 41)]
>>> regressor = GraphMinNetRegressor(epochs=2, hidden=32, layers=1).fit(smiles, [float(n) for n in range(1, 41)])
>>> regressor.predict(["CCO", "CCCO"]).shape
(2,)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._arguments import Number, Whole, plain
from ._errors import DataError, UsageError
from ._model import Model
from ._molecules import as_frame
from ._train import train

__all__ = ["GraphMinNetClassifier", "GraphMinNetRegressor"]


def _samples(X: Any) -> Any:  # noqa: N803
    """A list of graphs, of what scikit-learn may make of one."""
    X = as_frame(plain(X))  # noqa: N806
    if isinstance(X, (str, os.PathLike, Mapping)):
        raise UsageError(f"X is {X!r:.80}: expected a list of graphs or SMILES, one per sample")
    if hasattr(X, "columns"):
        if len(X.columns) != 1:
            raise UsageError(f"X is a frame of {len(X.columns)} columns: expected one, with a graph or SMILES per sample")
        X = X[X.columns[0]]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(X, np.ndarray) and (X.ndim != 1 or X.dtype.kind in "iufbc"):
        raise UsageError(f"X is an array of numbers of shape {X.shape}: expected one graph or SMILES per sample")
    return list(X.to_pylist() if hasattr(X, "to_pylist") else X)


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators have in common."""

    def __init__(
        self,
        *,
        epochs: Whole | None = None,
        patience: Whole | None = None,
        batch_size: Whole | None = None,
        learning_rate: Number | None = None,
        weight_decay: Number | None = None,
        hidden: Whole | None = None,
        layers: Whole | None = None,
        settings: Mapping[str, Any] | None = None,
        validation_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        threads: Whole | None = None,
        progress: bool = False,
    ) -> None:
        self.epochs = epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.hidden = hidden
        self.layers = layers
        self.settings = settings
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def _graphs(self, X: Any) -> Any:  # noqa: N803
        """The graphs of samples."""
        return _samples(X)

    def _seed(self) -> int:
        """The seed of everything; another one in every fit where ``random_state`` is None or a generator."""
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _parts(self, count: int, seed: int) -> list[str]:
        """Who chooses the epoch: a part at random, at least one graph."""
        if not 0 < self.validation_fraction < 1:
            raise UsageError(f"validation_fraction={self.validation_fraction}: expected a number between 0 and 1")
        if count < 2:
            raise DataError(f"{count} sample(s): at least 2 are needed, one to train and one to validate")
        chosen = np.random.default_rng(seed).permutation(count)
        valid = set(chosen[: min(max(round(count * self.validation_fraction), 1), count - 1)].tolist())
        return ["valid" if at in valid else "train" for at in range(count)]

    def _fit(self, X: Any, y: Any, read: dict[str, Any]) -> Model:  # noqa: N803
        graphs = self._graphs(X)
        if len(graphs) != len(y):
            raise DataError(f"{len(graphs)} graphs and {len(y)} targets")
        seed = self._seed()
        names = ("epochs", "patience", "batch_size", "learning_rate", "weight_decay", "hidden", "layers", "threads")
        with tempfile.TemporaryDirectory() as folder:
            model = train(
                graphs,
                y,
                split=self._parts(len(graphs), seed),
                seed=seed,
                settings=self.settings,
                read=read,
                run_dir=Path(folder) / "run",
                progress=self.progress,
                cache=False,
                report=False,
                **{name: getattr(self, name) for name in names},
            )
            if model.run is not None and not model.run.finished:
                raise KeyboardInterrupt
            #: One row per epoch.
            self.history_ = model.run.epochs if model.run is not None else []
        model.run = None
        return model

    def _predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        check_is_fitted(self)
        graphs = self._graphs(X)
        values: NDArray[np.float64] = self.model_.predict(graphs, threads=self.threads)
        if (bad := next((reason for reason in self.model_.reasons if reason), None)) is not None:
            raise DataError(bad)
        return values


class GraphMinNetRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A regressor of graphs, for one target or several."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> GraphMinNetRegressor:  # noqa: N803
        """Trains; a part of the samples (``validation_fraction``) chooses the epoch."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        targets = np.asarray(y)
        if np.iscomplexobj(targets):
            raise DataError("Complex data not supported: targets are real numbers")
        targets = targets.astype(np.float64)
        self.model_ = self._fit(X, targets, {"task": "regression"})
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Numbers, one per graph (``[graphs, targets]`` of several targets)."""
        return self._predict(X)


class GraphMinNetClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A classifier of graphs, of two classes or more."""

    def fit(self, X: Any, y: Any) -> GraphMinNetClassifier:  # noqa: N803
        """Trains; a part of the samples (``validation_fraction``) chooses the epoch."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        labels = column_or_1d(y, warn=True)
        if not len(labels):
            raise DataError("0 sample(s): at least 2 are needed")
        check_classification_targets(labels)
        self.classes_ = unique_labels(labels)
        if len(self.classes_) < 2:
            raise DataError(f"{len(self.classes_)} class of {len(labels)} sample(s): at least 2 classes are needed")
        numbers = np.searchsorted(self.classes_, labels)
        count = len(self.classes_)
        task: Any = "binary" if count == 2 else {"multi_class": {"classes": count}}
        self.model_ = self._fit(X, numbers, {"task": task})
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, in the order of ``classes_``."""
        values = self._predict(X)
        return np.stack([1 - values, values], axis=1) if values.ndim == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each graph."""
        chances = self.predict_proba(X)
        chosen: NDArray[Any] = self.classes_[chances.argmax(axis=1)]
        return chosen
