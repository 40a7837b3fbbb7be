"""Arguments: numbers of numpy are numbers, and what makes no sense is refused by its name."""

import io
import pickle

import numpy as np
import pytest
from conftest import chains, sizes, train

import graphminnet as gmn


def refused(text):
    return pytest.raises(gmn.UsageError, match=text)


def test_numbers_of_numpy_are_numbers(model, smiles):
    y = sizes(smiles)
    values = train(smiles, y, seed=2, split="random", split_seed=3, start_rate=None, run_dir="a").to_bytes()
    theirs = train(smiles, y, seed=np.array(2), split="random", split_seed=np.int64(3), cache=np.bool_(True), run_dir="b")
    assert theirs.to_bytes() == values
    many = chains(240)
    calibrated = train(many, sizes(many), calibrate=np.bool_(True), ensemble=np.int64(2), run_dir="c")
    assert len(calibrated) == 2
    expected = calibrated.predict_interval(smiles, level=0.5)
    for level in (np.float32(0.5), np.float64(0.5), np.array(0.5)):
        np.testing.assert_array_equal(calibrated.predict_interval(smiles, level=level), expected)
    one = train(smiles, y, start=model, start_rate=np.float32(0.5), run_dir="d")
    np.testing.assert_array_equal(one.predict(smiles, threads=np.int64(1)), one.predict(smiles))
    scores = gmn.cross_validate(
        smiles, y, folds=np.int64(3), split_seed=np.int64(1), epochs=1, hidden=16, layers=1, run_dir="e", progress=False
    )
    assert len(scores.rows) == 3
    kinds = train(smiles, [text.count("O") % 3 for text in smiles], run_dir="f")
    assert kinds.kind == "classes"
    np.testing.assert_array_equal(kinds.explain("CCO", target=np.int64(1)).nodes, kinds.explain("CCO", target=1).nodes)
    nodes = train({"edge_index": [[0, 1], [1, 0]], "x": np.eye(2), "y": [1.0, 2.0]}, split=["train", "valid"], run_dir="g")
    graph = {"edge_index": [[0, 1], [1, 0]], "x": np.eye(2)}
    np.testing.assert_array_equal(nodes.explain(graph, node=np.int64(1)).nodes, nodes.explain(graph, node=1).nodes)


@pytest.mark.parametrize("seed", ["12", b"1", 3.7, -1, True, 2**64, [0, 1.5], ["1"], np.array(1.5), {"a": 1}])
def test_a_seed_is_a_whole_number(seed, smiles):
    with refused("seed=.*: expected a whole number from 0"):
        train(smiles, sizes(smiles), seed=seed)


def test_a_wrong_argument_is_named(model, smiles):
    y = sizes(smiles)
    for more, text in [
        ({"calibrate": 0.2}, "calibrate=0.2: expected True or False"),
        ({"cache": 1}, "cache=1: expected True or False"),
        ({"report": "no"}, "report='no': expected True or False"),
        ({"morgan_counts": 3}, "morgan_counts=3: expected True or False"),
        ({"level": "nodes"}, "level='nodes': expected graph, node, edge, pair"),
        ({"split_seed": 1.5}, "split_seed=1.5: expected a whole number"),
        ({"ensemble": 0}, "ensemble=0: expected a whole number from 1"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: expected a finite number"),
        ({"settings": {"train.patience": None}}, "settings: train.patience=None: expected a finite number"),
        ({"settings": {"model": {"hidden": 8}}}, "settings: model={'hidden': 8}: expected"),
        ({"read": {"task": "classes:x"}}, "read={'task': 'classes:x'}: expected the number of classes"),
        ({"read": {"header": "x"}}, "read: `header`: invalid type: string .x., expected a boolean"),
        ({"read": {"foo": 1}}, "read: `foo`: unknown field `foo`, expected one of"),
        ({"start": model, "start_rate": float("nan")}, "start_rate=nan: expected a number"),
    ]:
        with refused(text):
            train(smiles, y, **more)
    for wrong in (float("nan"), "0.9", None):
        with refused("level=.*: expected a number"):
            model.predict_interval(smiles, level=wrong)
    with refused("target=-1: expected a whole number from 0"):
        model.explain("CCO", target=-1)
    with refused("node=-1: expected a whole number from 0"):
        model.explain("CCO", node=-1)
    for more, text in [({"folds": 2}, "folds=2: expected a whole number from 3 to 1000"), ({"replicates": 0}, "replicates=0")]:
        with refused(text):
            gmn.cross_validate(smiles, y, **more)


def test_one_text_is_not_a_list_of_letters(model):
    assert model.predict(np.array("CCO")).shape == (1,)
    np.testing.assert_array_equal(model.predict(np.array("CCO")), model.predict("CCO"))
    with refused("an open file: give its path"):
        model.predict(io.StringIO("smiles\nCCO\n"))


def test_a_character_that_is_none_is_the_fault_of_its_row(model):
    values = model.predict(["CCO", "C\udcffO"])
    assert np.isnan(values).tolist() == [False, True] and "not a SMILES string" in model.reasons[1]


def test_a_description_is_a_copy(model):
    model.description["schema"]["targets"].append("zz")
    model.targets.append("zz")
    model.classes.append("zz")
    assert model.targets == ["target"] and model.classes == []


def test_an_interrupt_is_pickled(model):
    for one in (gmn.Interrupted(model.run), gmn.Interrupted(text="the same call goes on"), gmn.Interrupted()):
        other = pickle.loads(pickle.dumps(one))
        assert str(other) == str(one) and type(other.run) is type(one.run)
