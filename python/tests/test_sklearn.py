"""The estimators in scikit-learn's own machinery."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import SMALL, sizes

import graphminnet as gmn

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import FunctionTransformer  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402
from sklearn.utils.validation import validate_data  # noqa: E402

from graphminnet.sklearn import GraphMinNetClassifier, GraphMinNetRegressor  # noqa: E402

QUICK = {"epochs": 2, "hidden": 16, "layers": 1, "settings": SMALL}



class Rows:
    """Makes a graph of a row of numbers, so that the checks of scikit-learn, which know nothing else, can be run."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inputs = tags.input_tags
        inputs.two_d_array, inputs.one_d_array, inputs.string = True, False, False
        return tags

    def _graphs(self, X):
        rows = validate_data(self, X, reset=not hasattr(self, "n_features_in_"), dtype=np.float64)
        ends = np.array([[0, 1], [1, 0]])
        return [SimpleNamespace(x=np.stack([row, row]), edge_index=ends) for row in rows]

    def fit(self, X, y):
        self.__dict__.pop("n_features_in_", None)
        return super().fit(X, y)


class Regressor(Rows, GraphMinNetRegressor):
    pass


class Classifier(Rows, GraphMinNetClassifier):
    pass


# Enough to learn what the checks want to see learnt. All checks are run; scikit-learn itself skips that of other kinds of
# arrays where they are not switched on.
LEARNS = QUICK | {"epochs": 8, "learning_rate": 0.03, "batch_size": 8, "threads": 1}


@parametrize_with_checks([Regressor(**LEARNS), Classifier(**LEARNS)])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_regressor_fits_predicts_and_scores(smiles):
    y = sizes(smiles)
    regressor = GraphMinNetRegressor(**QUICK).fit(smiles, y)
    values = regressor.predict(smiles)
    assert values.shape == (60,) and np.isfinite(values).all()
    assert np.isfinite(regressor.score(smiles, y))
    assert [row["epoch"] for row in regressor.history_] == [1, 2]
    again = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_array_equal(again.predict(smiles), values)
    same = clone(regressor).fit(smiles, y)
    np.testing.assert_array_equal(same.predict(smiles), values)
    assert regressor.model_.run is None


def test_several_targets_are_columns(smiles):
    y = np.stack([sizes(smiles), sizes(smiles)], axis=1)
    assert GraphMinNetRegressor(**QUICK).fit(smiles, y).predict(smiles).shape == (60, 2)


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [3, 7, 9], ["a", "b", "c"], [False, True], [1.0, 2.0]])
def test_a_classifier_takes_labels_of_any_kind(smiles, labels):
    y = np.array(labels)[[min(text.count("O"), len(labels) - 1) for text in smiles]]
    classifier = GraphMinNetClassifier(**QUICK).fit(smiles, y)
    chances = classifier.predict_proba(smiles)
    assert chances.shape == (60, len(labels))
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    said = classifier.predict(smiles)
    assert said.dtype == y.dtype and set(said) <= set(classifier.classes_)
    assert 0 <= classifier.score(smiles, y) <= 1


def test_searches_pipelines_and_cross_validation(smiles):
    y = np.array(sizes(smiles))
    search = GridSearchCV(GraphMinNetRegressor(**QUICK), {"hidden": [8, 16]}, cv=2).fit(smiles, y)
    assert search.best_params_["hidden"] in (8, 16)
    steps = make_pipeline(FunctionTransformer(lambda rows: [row.replace("Br", "Cl") for row in rows]), GraphMinNetRegressor(**QUICK))
    assert len(cross_val_score(steps, smiles, y, cv=2)) == 2


def test_jobs_in_other_processes(smiles):
    search = GridSearchCV(GraphMinNetRegressor(**QUICK), {"hidden": [8, 16]}, cv=2, n_jobs=2).fit(smiles, sizes(smiles))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_frames_columns_and_graphs_are_samples(smiles):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"smiles": smiles})
    y = sizes(smiles)
    expected = GraphMinNetRegressor(**QUICK).fit(smiles, y).predict(smiles)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"smiles": smiles})
    for X in [frame, frame["smiles"], frame.to_numpy(), np.array(smiles), table, table["smiles"]]:
        np.testing.assert_array_equal(GraphMinNetRegressor(**QUICK).fit(X, y).predict(X), expected)


def test_one_text_is_no_list_of_samples(smiles, tmp_path):
    regressor = GraphMinNetRegressor(**QUICK, threads=np.int64(1)).fit(smiles, sizes(smiles))
    for X in ("CCO", np.array("CCO"), tmp_path, {"smiles": smiles}):
        with pytest.raises(gmn.UsageError, match="X is .*: expected a list of graphs or SMILES, one per sample"):
            regressor.predict(X)
        with pytest.raises(gmn.UsageError, match="expected a list of graphs or SMILES"):
            regressor.fit(X, [1.0, 2.0, 3.0])


def test_a_state_that_is_none_or_a_generator_is_another_seed_in_every_fit(smiles):
    y = sizes(smiles)
    state = np.random.RandomState(0)
    one, other = (GraphMinNetRegressor(**QUICK, random_state=state).fit(smiles, y).predict(smiles) for _ in range(2))
    assert (one != other).any()
    again = GraphMinNetRegressor(**QUICK, random_state=np.random.RandomState(0)).fit(smiles, y).predict(smiles)
    np.testing.assert_array_equal(again, one)
    assert np.isfinite(GraphMinNetRegressor(**QUICK, random_state=None).fit(smiles, y).predict(smiles)).all()


def test_what_cannot_be_fitted_is_refused(smiles):
    y = sizes(smiles)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="X is a frame of 2 columns"):
        GraphMinNetRegressor(**QUICK).fit(pandas.DataFrame({"smiles": smiles, "other": smiles}), y)
    with pytest.raises(NotFittedError):
        GraphMinNetRegressor().predict(smiles)
    with pytest.raises(NotFittedError):
        GraphMinNetClassifier().predict_proba(smiles)
    with pytest.raises(ValueError, match="60 graphs and 59 targets"):
        GraphMinNetRegressor(**QUICK).fit(smiles, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        GraphMinNetRegressor(**QUICK).fit(smiles, None)
    with pytest.raises(ValueError, match="Complex data not supported"):
        GraphMinNetRegressor(**QUICK).fit(smiles, np.array(y) * 1j)
    with pytest.raises(ValueError, match="of numbers"):
        GraphMinNetRegressor(**QUICK).fit(np.ones((60, 4)), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        GraphMinNetClassifier(**QUICK).fit(smiles, y)
    with pytest.raises(ValueError, match="at least 2 classes are needed"):
        GraphMinNetClassifier(**QUICK).fit(smiles, ["one"] * 60)
    with pytest.raises(ValueError, match="at least 2 are needed"):
        GraphMinNetRegressor(**QUICK).fit(smiles[:1], y[:1])
    with pytest.raises(ValueError, match="validation_fraction"):
        GraphMinNetRegressor(**QUICK | {"validation_fraction": 2}).fit(smiles, y)
    with pytest.raises(gmn.DataError, match="row 1: `C1CC`"):
        GraphMinNetRegressor(**QUICK).fit(smiles, y).predict(["CC", "C1CC"])
    with pytest.raises(gmn.DataError, match="not a SMILES string"):
        GraphMinNetRegressor(**QUICK).fit([*smiles, "C1CC"], [*y, 0.0])
