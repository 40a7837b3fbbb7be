"""Models that learn how unsure they are, and rows that count more than others."""

import numpy as np
import pytest
from conftest import sizes, train

import graphminnet as gmn


def with_fields(**fields):
    from conftest import SMALL

    return SMALL | {f"train.{name}": value for name, value in fields.items()}


def test_deviations_that_were_learnt_are_beside_the_values(smiles):
    two = np.stack([sizes(smiles), [3.0 * size for size in sizes(smiles)]], axis=1)
    model = train(smiles, two, settings=with_fields(loss="mean_variance"), seed=range(2), run_dir="run")
    values = model.predict(smiles[:5] + ["C1C"])
    deviations = model.deviations
    assert values.shape == deviations.shape == (6, 2) and model.quantiles is None and model.quantile_levels == []
    assert np.isnan(values[5]).all() and np.isnan(deviations[5]).all() and (deviations[:5] > 0).all()
    means, variances = [], []
    for member in model.members:
        means.append(member.predict(smiles[:5]))
        variances.append(member.deviations**2)
    np.testing.assert_allclose(values[:5], np.mean(means, axis=0), rtol=1e-6)
    np.testing.assert_allclose(deviations[:5], np.sqrt(np.mean(variances, axis=0) + np.var(means, axis=0)), rtol=1e-6)


def test_quantiles_that_were_learnt_are_beside_the_values(smiles):
    fields = with_fields(loss="quantile", quantiles=[0.1, 0.5, 0.75, 0.9])
    model = train(smiles, sizes(smiles), settings=fields, run_dir="run")
    values = model.predict(smiles[:5] + ["C1C"])
    assert model.quantile_levels == [0.1, 0.75, 0.9] and model.deviations is None
    assert values.shape == (6,) and model.quantiles.shape == (6, 3) and np.isnan(model.quantiles[5]).all()
    ordered = np.column_stack([model.quantiles[:5, :1], values[:5, None], model.quantiles[:5, 1:]])
    assert (np.diff(ordered, axis=1) >= 0).all()


@pytest.mark.parametrize("fields", [{"loss": "mean_variance"}, {"loss": "quantile", "quantiles": [0.1, 0.5, 0.9]}])
def test_the_model_in_pytorch_says_the_same(smiles, fields):
    torch = pytest.importorskip("torch")
    from graphminnet.torch import collate, from_bundle

    model = train(smiles, sizes(smiles), settings=with_fields(**fields), run_dir="run")
    values = model.predict(smiles[:4])
    others = model.deviations[:, None] if model.quantiles is None else model.quantiles
    ours = from_bundle(model).eval()
    with torch.no_grad():
        theirs = ours.in_units(ours(collate(model, smiles[:4]))).numpy()
    np.testing.assert_allclose(theirs, np.column_stack([values, others]), rtol=1e-4, atol=1e-4)


def test_a_column_of_a_frame_weighs_rows_as_the_command_does(smiles, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"smiles": smiles, "size": sizes(smiles), "trust": [at % 4 for at in range(len(smiles))]})
    path = tmp_path / "weighed.csv"
    frame.to_csv(path, index=False)

    # The files differ in the name of the data; the numbers do not differ in a bit.
    def said(data, **more):
        return train(data, "size", **more).predict(smiles).tolist()

    plain = said(frame, read={"targets": ["size"]}, run_dir="plain")
    weighed = said(frame, weight="trust", run_dir="frame")
    assert weighed == said(path, weight="trust", run_dir="file")
    assert weighed != plain
    with pytest.raises(gmn.UsageError, match="weight= names a column"):
        train(smiles, sizes(smiles), weight="trust")
    with pytest.raises(gmn.DataError, match="a column called `missing`"):
        train(frame, "size", weight="missing")
