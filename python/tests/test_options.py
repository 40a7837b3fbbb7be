"""What the command can do beyond a plain training: splits of molecules, descriptors, transfer, cross-validation."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, chains, command, sizes, train

import graphminnet as gmn

WORDS = [f"{key}={value}" for key, value in ({"train.epochs": 2, "model.hidden": 16, "model.layers": 1} | SMALL).items()]


def run_command(*words):
    done = subprocess.run([*command(), *words, *[word for pair in WORDS for word in ("--set", pair)]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def splits(folder):
    return json.loads(Path(folder, "splits.json").read_text())


def positions(text):
    """The numbers of a part, which is written as `0-2,5`."""
    ends = [[int(end) for end in some.split("-")] for some in text.split(",")]
    return [at for some in ends for at in range(some[0], some[-1] + 1)]


@pytest.fixture
def rich(tmp_path):
    """Molecules with rings, and a column of numbers beside the target."""
    smiles = chains(80, seed=3)
    rows = [f"{text},{text.count('O') / 3},{size}" for text, size in zip(smiles, sizes(smiles))]
    path = tmp_path / "rich.csv"
    path.write_text("\n".join(["smiles,oxygen,size", *rows]) + "\n")
    return path


@pytest.mark.parametrize("split, seed", [("scaffold", None), ("scaffold", 3), ("kmeans", None), ("kmeans", 3), ("random", 3)])
def test_splits_are_those_of_the_command_for_files_frames_and_lists(split, seed, rich):
    pandas = pytest.importorskip("pandas")
    words = [] if seed is None else ["--split-seed", str(seed)]
    run_command("train", "--data", rich, "--target", "size", "--run-dir", "theirs", "--split", split, *words)
    expected, frame = splits("theirs"), pandas.read_csv(rich)
    train(rich, "size", split=split, split_seed=seed, run_dir="file")
    train(frame, "size", split=split, split_seed=seed, run_dir="frame")
    train(list(frame["smiles"]), list(frame["size"]), split=split, split_seed=seed, run_dir="list")
    for folder in ("file", "frame", "list"):
        assert splits(folder) == expected, folder


def test_splits_that_make_no_sense_are_refused(smiles, rich):
    graph = {"ptr": [0, 2, 4], "edge_index": [[0, 2], [1, 3]], "x": np.ones((4, 1)), "y": [1.0, 2.0]}
    with pytest.raises(gmn.UsageError, match="no molecules to group"):
        train(graph, split="kmeans")
    with pytest.raises(gmn.UsageError, match="split_seed= has no effect on split='official'"):
        train(rich, "size", split="official", split_seed=1)
    with pytest.raises(gmn.UsageError, match="split_seed= has no effect on parts that are named"):
        train(smiles, sizes(smiles), split=["train"] * 60, split_seed=1)
    with pytest.raises(gmn.UsageError, match="split_seed= has no effect: the data names its parts"):
        train(smiles[:40], sizes(smiles), valid=smiles[40:], split_seed=1)
    for split in ("random", ["train"] * 60):
        with pytest.raises(gmn.UsageError, match="valid= and test= are parts already"):
            train(smiles[:40], sizes(smiles), valid=smiles[40:], split=split)
    with pytest.raises(gmn.UsageError, match="'split_column'.* has no effect on split='random'"):
        train(rich, "size", split="random", read={"split_column": "oxygen"})


def test_descriptors_are_those_of_the_command_to_the_bit(rich):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words = ["--descriptors", "oxygen", "--basic-descriptors", "--morgan-counts"]
    run_command("train", "--data", rich, "--target", "size", "--run-dir", "theirs", *words)
    expected = (Path("theirs") / "seed-0/best.gmn").read_bytes()
    more = {"descriptors": "oxygen", "basic_descriptors": True, "morgan_counts": True, "name": "rich"}
    ours = train(rich, "size", run_dir="ours", **more)
    assert ours.to_bytes()[0] == expected
    frame = pandas.read_csv(rich)
    values = ours.predict(rich)
    assert np.isfinite(values).all()
    for given in (frame, frame.assign(other=1)[["other", "oxygen", "smiles"]], polars.read_csv(rich)):
        np.testing.assert_array_equal(ours.predict(given), values)
    np.testing.assert_array_equal(train(frame, "size", run_dir="frame", **more).predict(frame), values)
    # Another number, another answer; none, and there is no answer.
    changed = frame.assign(oxygen=frame["oxygen"] + 5.0)
    assert (ours.predict(changed) != values).any()
    changed.loc[1, "oxygen"] = np.nan
    assert np.isnan(ours.predict(changed)[:3]).tolist() == [False, True, False]
    assert "a finite number (a descriptor)" in ours.reasons[1]
    with pytest.raises(gmn.UsageError, match="the model reads oxygen beside the molecules"):
        ours.predict(list(frame["smiles"]))
    with pytest.raises(gmn.DataError, match="expected a column called `oxygen`"):
        ours.predict(frame[["smiles"]].assign(x=1))


def test_descriptors_without_a_column_are_refused(smiles):
    with pytest.raises(gmn.UsageError, match="descriptors= names columns"):
        train(smiles, sizes(smiles), descriptors=["oxygen"])
    graph = {"ptr": [0, 2, 4], "edge_index": [[0, 2], [1, 3]], "x": np.ones((4, 1)), "y": [1.0, 2.0]}
    for more in ({"descriptors": ["a"]}, {"basic_descriptors": True}, {"read": {"add_hydrogens": True}}):
        with pytest.raises(gmn.DataError, match="are options of molecules"):
            train(graph, **more)


def test_molecules_are_read_in_the_form_that_was_asked_for(smiles):
    model = train(smiles, sizes(smiles), read={"add_hydrogens": True}, run_dir="run")
    assert model.description["schema"]["molecules"]["form"]["add_hydrogens"]
    assert len(model.embed("CCO", level="node")[0]) == 9
    computed = train(smiles, sizes(smiles), basic_descriptors=True, run_dir="computed")
    assert np.isfinite(computed.predict(smiles)).all()


def test_a_run_begins_with_a_model_as_that_of_the_command_does(rich, smiles):
    first = train(smiles, sizes(smiles), run_dir="first")
    words = ["--from", "first", "--new-head", "--freeze", "encoders,layers.0", "--from-rate", "0.5"]
    line = [*command(), "train", "--data", rich, "--target", "size", "--run-dir", "theirs", *words, "--set", "train.epochs=2"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = gmn.Run("theirs").summary["seeds"][0]["best_weights_sha256"]
    more = {"new_head": True, "freeze": ["encoders", "layers.0"], "start_rate": 0.5, "epochs": 2, "progress": False}
    for at, start in enumerate([first, "first", Path("first/seed-0/best.gmn"), first.run]):
        ours = gmn.train(rich, "size", start=start, run_dir=f"ours-{at}", name="rich", report=False, **more)
        assert ours.run.summary["seeds"][0]["best_weights_sha256"] == expected
    assert ours.description["from"]["new_head"] and ours.description["model"]["hidden"] == 16


def test_a_start_that_makes_no_sense_is_refused(smiles, model):
    y = sizes(smiles)
    with pytest.raises(gmn.UsageError, match="give start="):
        train(smiles, y, new_head=True)
    with pytest.raises(gmn.UsageError, match="give start="):
        train(smiles, y, start_rate=0.5)
    plain = {"epochs": 1, "progress": False}
    with pytest.raises(gmn.UsageError, match="positive number, 1 at most"):
        gmn.train(smiles, y, start=model, start_rate=2.0, **plain)
    with pytest.raises(gmn.UsageError, match="cannot be frozen"):
        gmn.train(smiles, y, start=model, freeze="tail", **plain)
    train(smiles, y, ensemble=2, epochs=1, run_dir="two")
    with pytest.raises(gmn.UsageError, match="it holds the models of several seeds"):
        gmn.train(smiles, y, start="two", **plain)
    path = model.save("saved.gmn")
    loaded = gmn.load(path)
    path.unlink()
    with pytest.raises(gmn.UsageError, match="save it, and give the path"):
        gmn.train(smiles, y, start=loaded, **plain)


QUICK = {"epochs": 1, "hidden": 16, "layers": 1, "settings": SMALL, "progress": False, "report": False}


def test_cross_validation_is_that_of_the_command_for_files_and_frames(rich):
    pandas = pytest.importorskip("pandas")
    words = [word.replace("epochs=2", "epochs=1") for word in WORDS]
    line = [*command(), "cross-validate", "--data", rich, "--target", "size", "--folds", "3", "--run-dir", "theirs"]
    done = subprocess.run([*line, *[word for pair in words for word in ("--set", pair)]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = json.loads(Path("theirs/cross-validation.json").read_text())
    for data, folder in [(rich, "file"), (pandas.read_csv(rich), "frame")]:
        found = gmn.cross_validate(data, "size", folds=3, run_dir=folder, name="rich", **QUICK)
        assert (found.mean, found.std) == (expected["test"]["mean"], expected["test"]["population_std"])
        assert [row["test_rmse"] for row in found.rows] == [one["test"]["mean"] for one in expected["rounds"]]
        assert json.loads(Path(folder, "cross-validation.json").read_text())["test"] == expected["test"]
    assert list(found.table["split"]) == ["fold-1", "fold-2", "fold-3"]
    assert [run.finished for run in found.runs] == [True] * 3
    assert "3 splits: test rmse" in repr(found) and "fold-2" in found._repr_html_() and "±" in found._repr_html_()
    tested = [at for run in found.runs for at in positions(splits(run.path)["test"])]
    assert sorted(tested) == list(range(80))


def test_cross_validation_goes_on_and_notices_other_data(smiles):
    told = []

    def stop(epoch):
        told.append(epoch)
        if len(told) == 2:
            raise KeyboardInterrupt

    more = QUICK | {"replicates": 3, "split": "scaffold", "seed": [0, 1], "run_dir": "all"}
    with pytest.raises(gmn.Interrupted, match="run_dir='all' goes on"):
        gmn.cross_validate(smiles, sizes(smiles), callback=stop, **more)
    found = gmn.cross_validate(smiles, sizes(smiles), callback=told.append, **more)
    assert 6 <= len(told) <= 7, "what is done is not done again"
    assert all(row["ensemble_rmse"] is not None for row in found.rows)
    whole = gmn.cross_validate(smiles, sizes(smiles), **more | {"run_dir": "again"})
    assert [row | {"seconds": 0} for row in whole.rows] == [row | {"seconds": 0} for row in found.rows]
    with pytest.raises(gmn.DataError, match="changed since"):
        gmn.cross_validate(smiles[::-1], sizes(smiles), **more)


def test_a_finished_run_does_not_answer_for_other_data(smiles):
    train(smiles, sizes(smiles), resume="run")
    assert train(smiles, sizes(smiles), resume="run").run.finished
    with pytest.raises(gmn.DataError, match="changed since"):
        train(smiles[::-1], sizes(smiles), resume="run")


def test_what_cannot_be_cross_validated_is_refused(smiles):
    for wrong, text in [
        ({"folds": 2}, "folds=2"),
        ({"folds": 3, "replicates": 3}, "give one of them"),
        ({"replicates": 0}, "replicates=0"),
        ({"split": "official"}, "expected random, stratified, scaffold or kmeans"),
        ({"read": {"split_column": "a"}}, "has no effect on cross-validation"),
    ]:
        with pytest.raises(gmn.UsageError, match=text):
            gmn.cross_validate(smiles, sizes(smiles), **QUICK | wrong)
