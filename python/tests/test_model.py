"""Predictions, vectors, explanations; models as files, pickles and ensembles."""

import copy
import csv
import io
import pickle
import subprocess

import numpy as np
import pytest
from conftest import chains, command, sizes, train

import graphminnet as gmn


def test_predictions_are_an_array_with_nan_and_a_reason_for_what_is_no_molecule(model):
    values = model.predict(["CCO", "C1CC", "c1ccccc1", None])
    assert values.shape == (4,) and values.dtype == np.float64
    assert np.isnan(values).tolist() == [False, True, False, True]
    assert model.reasons[0] is None and model.reasons[2] is None
    assert model.reasons[1] == "row 1: `C1CC`: not a SMILES string: ring 1 is never closed (character 2)"
    assert model.predict([]).shape == (0,)
    assert model.reasons == []


def test_predictions_are_those_of_the_command_to_the_bit(model, smiles, tmp_path):
    data = tmp_path / "new.csv"
    data.write_text("smiles\n" + "\n".join([*smiles, "C1CC"]) + "\n")
    path = model.save(tmp_path / "model.gmn")
    done = subprocess.run([*command(), "predict", "--model", path, "--data", data], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    said = np.array([np.float32(row["pred_target"] or "nan") for row in rows])
    ours = model.predict([*smiles, "C1CC"])
    np.testing.assert_array_equal(said, ours.astype(np.float32))
    np.testing.assert_array_equal(ours, model.predict(data))
    np.testing.assert_array_equal(ours, model.predict(str(data)))
    assert rows[-1]["reason"].endswith("not a SMILES string: ring 1 is never closed (character 2)")


def test_predictions_do_not_depend_on_the_number_of_threads(model, smiles):
    np.testing.assert_array_equal(model.predict(smiles, threads=1), model.predict(smiles, threads=3))
    with pytest.raises(gmn.UsageError, match="threads=0: expected a whole number from 1"):
        model.predict(smiles, threads=0)


def test_vectors_of_graphs_have_a_row_each_and_those_of_nodes_an_array_each(model):
    vectors = model.embed(["CCO", "C1CC", "CC"])
    assert vectors.shape == (3, 16) and vectors.dtype == np.float32
    assert np.isnan(vectors[1]).all() and np.isfinite(vectors[[0, 2]]).all()
    nodes = model.embed(["CCO", "C1CC", "CC"], level="node")
    assert [one.shape for one in nodes] == [(3, 16), (0, 16), (2, 16)]
    np.testing.assert_allclose(nodes[0].mean(0), vectors[0], rtol=1e-5, atol=1e-6)
    with pytest.raises(gmn.UsageError, match="level='edge'"):
        model.embed(["CCO"], level="edge")


def test_an_explanation_adds_up_to_the_prediction(model):
    why = model.explain("CC(O)CC(Cl)C")
    assert why.subject == "target" and why.method == "integrated"
    assert why.prediction == pytest.approx(model.predict(["CC(O)CC(Cl)C"])[0], rel=1e-5)
    difference = why.prediction - why.baseline
    scale = max(abs(difference), 1e-3 * max(abs(why.prediction), abs(why.baseline)))
    assert abs(why.nodes.sum() + why.edges.sum() - difference) / scale == pytest.approx(why.gap, rel=1e-6)
    assert why.gap < 0.05
    assert why.edge_index.shape == (2, len(why.edges)) and len(why.nodes) == 7
    assert why.svg.startswith("<svg") and why.svg in why._repr_html_()
    with pytest.raises(gmn.DataError, match="not a SMILES string"):
        model.explain("C1CC")
    with pytest.raises(gmn.UsageError, match="explain takes one"):
        model.explain(["CC", "CCC"])
    with pytest.raises(gmn.UsageError, match="expected gradient or integrated"):
        model.explain("CC", method="magic")
    with pytest.raises(gmn.UsageError, match="expected one of target"):
        model.explain("CC", target="weight")


def test_a_saved_model_is_the_file_of_the_command_and_predicts_the_same(model, smiles, tmp_path):
    path = model.save(tmp_path / "best.gmn")
    assert path.read_bytes() == (model.run.path / "seed-0/best.gmn").read_bytes()
    loaded = gmn.load(path)
    np.testing.assert_array_equal(loaded.predict(smiles), model.predict(smiles))
    assert loaded.run is None and loaded.targets == ["target"] and loaded.kind == "numbers"
    with pytest.raises(gmn.UsageError, match="has no run"):
        loaded.report()


def test_a_model_is_pickled_and_copied_to_the_same_bits(model, smiles):
    for other in [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]:
        np.testing.assert_array_equal(other.predict(smiles), model.predict(smiles))
        assert other.to_bytes() == model.to_bytes()


def test_several_seeds_answer_together(smiles, tmp_path):
    both = train(smiles, sizes(smiles), seed=range(2), run_dir=tmp_path / "run")
    assert len(both) == 2
    one, two = (member.predict(smiles) for member in both.members)
    np.testing.assert_allclose(both.predict(smiles), (one + two) / 2)
    np.testing.assert_allclose(both.deviations, np.abs(one - two) / 2)
    assert np.isfinite(both.explain("CCO").nodes).all()
    with pytest.raises(gmn.UsageError, match="model.members"):
        both.embed(smiles)
    whole = both.save(tmp_path / "both.gmn")
    assert whole.read_bytes() == (both.run.path / "ensemble.gmn").read_bytes()
    again = gmn.load(whole)
    assert len(again) == 2 and again.to_bytes() == both.to_bytes()
    np.testing.assert_array_equal(again.predict(smiles), both.predict(smiles))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(both)).predict(smiles), both.predict(smiles))
    files = [member.save(tmp_path / f"{at}.gmn") for at, member in enumerate(both.members)]
    np.testing.assert_array_equal(gmn.load(files).predict(smiles), both.predict(smiles))


def test_classes_are_probabilities_and_names(smiles, tmp_path):
    words = [["none", "one", "many"][min(text.count("O"), 2)] for text in smiles]
    model = train(smiles, words, run_dir=tmp_path / "run")
    assert model.kind == "classes" and sorted(model.classes) == ["many", "none", "one"]
    values = model.predict([*smiles, "C1CC"])
    assert values.shape == (len(smiles) + 1, 3)
    np.testing.assert_allclose(values[:-1].sum(1), 1)
    names = model.predict_class([*smiles, "C1CC"])
    assert names[-1] is None
    assert list(names[:-1]) == [model.classes[at] for at in values[:-1].argmax(1)]
    assert model.explain("CCO", target="many").subject == "score of class many"


def test_yes_and_no_are_one_probability(smiles, tmp_path):
    model = train(smiles, ["active" if "O" in text else "inactive" for text in smiles], run_dir=tmp_path / "run")
    assert model.kind == "binary" and model.classes == ["inactive", "active"]
    values = model.predict(smiles)
    assert values.shape == (len(smiles),) and ((values >= 0) & (values <= 1)).all()
    assert list(model.predict_class(smiles)) == [model.classes[int(value > 0.5)] for value in values]


def test_a_model_is_saved_as_a_whole_or_not_at_all(model, tmp_path):
    with pytest.raises(gmn.MissingError):
        model.save(tmp_path / "nowhere" / "model.gmn")
    path = tmp_path / "model.gmn"
    path.mkdir()
    with pytest.raises(gmn.MachineError):
        model.save(path)
    assert list(tmp_path.glob("*.gmn")) == [path]


def test_intervals_hold_the_truth_as_often_as_they_promise_and_are_those_of_the_command(tmp_path):
    smiles = chains(400)
    truth = np.array(sizes(smiles))
    model = train(smiles[:300], list(truth[:300]), calibrate=True, epochs=5, run_dir="run")
    assert model.description["data"]["train"] < 240
    new, told = smiles[300:] + ["C1CC"], truth[300:]
    ends = model.predict_interval(new, level=0.8)
    assert ends.shape == (101, 2) and np.isnan(ends[100]).all() and "ring 1" in model.reasons[100]
    inside = (ends[:100, 0] <= told) & (told <= ends[:100, 1])
    assert inside.mean() > 0.6
    wider = model.predict_interval(new, level=0.95)[:100]
    assert (wider[:, 0] <= ends[:100, 0]).all() and (wider[:, 1] >= ends[:100, 1]).all()
    # The same as the command's, from the graphs that were set aside and from a file of labelled ones.
    (tmp_path / "new.csv").write_text("\n".join(["smiles", *new]) + "\n")
    rows = [f"{text},{size}" for text, size in zip(smiles[300:], told)]
    (tmp_path / "known.csv").write_text("\n".join(["smiles,target", *rows]) + "\n")
    for words, more in [([], {}), (["--calibrate", "known.csv"], {"calibrate": (smiles[300:], told)})]:
        line = [*command(), "predict", "--model", "run", "--data", "new.csv", "-o", "out.csv", "--level", "0.8", *words]
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open("out.csv", newline="") as file:
            theirs = [[row["low_target"], row["high_target"]] for row in csv.DictReader(file)]
        ours = model.predict_interval(new, level=0.8, **more)
        np.testing.assert_array_equal(ours[:100].astype(np.float32), np.array(theirs[:100], dtype=np.float32))
    np.testing.assert_array_equal(model.predict_interval(new, level=0.8, calibrate="known.csv"), ours)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(model.predict_interval(new, level=0.8, calibrate=pandas.read_csv("known.csv")), ours)


def test_sets_are_names_of_classes(smiles, tmp_path):
    many = chains(300)
    words = [["none", "one", "many"][min(text.count("O"), 2)] for text in many]
    model = train(many, words, calibrate=True, epochs=3, run_dir=tmp_path / "run")
    sets = model.predict_set([*smiles, "C1CC"], level=0.9)
    assert len(sets) == 61 and sets[60] is None
    assert all(isinstance(one, tuple) and set(one) <= {"none", "one", "many"} for one in sets[:60])
    larger = model.predict_set(smiles, level=0.99)
    assert all(set(one) <= set(other) for one, other in zip(sets, larger))
    answers = train(many, [int("O" in text) for text in many], run_dir=tmp_path / "binary")
    known = ["O" in text for text in smiles]
    sets = answers.predict_set(many[:20], calibrate=(smiles, np.array(known, dtype=int)))
    assert all(set(one) <= {0, 1} for one in sets)


def test_intervals_and_sets_without_a_calibration_are_refused(model, smiles):
    with pytest.raises(gmn.UsageError, match="calibrate=True"):
        model.predict_interval(["CCO"])
    with pytest.raises(gmn.UsageError, match="level 1.5: expected a number between 0 and 1"):
        model.predict_interval(["CCO"], level=1.5, calibrate=(smiles, sizes(smiles)))
    with pytest.raises(gmn.DataError, match="5 labels are too few to calibrate at level 0.9"):
        model.predict_interval(["CCO"], calibrate=(smiles[:5], sizes(smiles)[:5]))
    with pytest.raises(gmn.UsageError, match="SMILES alone have no targets"):
        model.predict_interval(["CCO"], calibrate=smiles)
    with pytest.raises(gmn.UsageError, match="predict_interval gives"):
        model.predict_set(["CCO"])
    with pytest.raises(gmn.UsageError, match="20, from a larger training part"):
        train(smiles, sizes(smiles), calibrate=True)


def test_a_model_of_numbers_has_no_classes(model):
    with pytest.raises(gmn.UsageError, match="knows no classes"):
        model.predict_class(["CCO"])


def test_several_targets_are_columns(smiles, tmp_path):
    target = np.stack([sizes(smiles), [float(len(text)) for text in smiles]], axis=1)
    model = train(smiles, target, run_dir=tmp_path / "run")
    assert model.targets == ["target_0", "target_1"]
    assert model.predict(smiles).shape == (len(smiles), 2)


def test_models_runs_and_explanations_show_themselves(model):
    assert "numbers per graph: target" in repr(model) and "<table>" in model._repr_html_()
    assert "finished" in repr(model.run) and "<table>" in model.run._repr_html_()
    assert "strongest nodes" in repr(model.explain("CCO"))
    report = model.report()
    assert "<html" in report.html and "<iframe" in report._repr_html_() and "save(path)" in repr(report)
    assert report.save("page.html").read_text() == report.html


def test_what_goes_wrong_is_an_exception_of_its_class_with_the_texts_of_the_command(tmp_path, table):
    with pytest.raises(gmn.MissingError, match="cannot open no.gmn") as caught:
        gmn.load("no.gmn")
    assert isinstance(caught.value, (FileNotFoundError, gmn.Error))
    (tmp_path / "foreign.gmn").write_text("something else entirely")
    with pytest.raises(gmn.DataError, match="not a GraphMinNet model"):
        gmn.load("foreign.gmn")
    with pytest.raises(gmn.UsageError, match="no model here"):
        gmn.load(tmp_path)
    with pytest.raises(gmn.DataError, match="a column called `weight`"):
        train(table, "weight")
    with pytest.raises(gmn.UsageError, match="did you mean `train.epochs`|unknown key `train.epoch`"):
        train(table, "size", settings={"train.epoch": 3})
    with pytest.raises(gmn.UsageError, match="smiles_colour"):
        train(table, "size", read={"smiles_colour": "smiles"})
    train(table, "size", run_dir="taken")
    with pytest.raises(gmn.UsageError, match="exists already"):
        train(table, "size", run_dir="taken")


def test_the_texts_of_an_exception_are_those_of_the_command(tmp_path):
    (tmp_path / "bad.csv").write_text("smiles,y\nC1CC,1\nCC,x2\n")
    done = subprocess.run([*command(), "train", "--data", "bad.csv", "--target", "y"], capture_output=True, text=True)
    with pytest.raises(gmn.DataError) as caught:
        gmn.train("bad.csv", "y", progress=False)
    assert f"error: {caught.value}\n" in done.stderr


def test_threads_share_a_model(model, smiles):
    from concurrent.futures import ThreadPoolExecutor

    expected = model.predict(smiles)

    def ask(at):
        values = model.predict([*smiles, *["C1CC"] * at])
        return bool((values[: len(smiles)] == expected).all()), sum(reason is not None for reason in model.reasons)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(8))) == [(True, at) for at in range(8)]
    assert all(reason is None for reason in model.reasons), "other threads have reasons of their own"


def test_new_molecules_are_not_those_of_the_training(smiles):
    assert not set(chains(20, seed=9)) <= set(smiles)
