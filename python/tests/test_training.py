"""Training: the same bits as the command, callbacks, Ctrl-C, resumption, progress, history."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import SMALL, command, sizes, train

import graphminnet as gmn
from graphminnet import _call, _progress

SET = {"train.epochs": 3, "model.hidden": 16, "model.layers": 1} | SMALL


def test_a_run_is_that_of_the_command_to_the_bit(table):
    words = [word for key, value in SET.items() for word in ("--set", f"{key}={value}")]
    line = [*command(), "train", "--data", table, "--target", "size", "--run-dir", "theirs", "--seeds", "0..1", *words]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = gmn.train(table, "size", settings=SET, seed=[0, 1], run_dir="ours", progress=False)
    for file in ["seed-0/best.gmn", "seed-1/best.gmn", "seed-0/last.safetensors", "seed-0/predictions-test.csv"]:
        if Path("theirs", file).exists():
            assert Path("ours", file).read_bytes() == Path("theirs", file).read_bytes(), file
    hashes = [
        [(seed["best_weights_sha256"], seed["last_weights_sha256"]) for seed in gmn.Run(run).summary["seeds"]]
        for run in ("ours", "theirs")
    ]
    assert hashes[0] == hashes[1] and len(hashes[0]) == 2
    assert (ours.run.path / "report.html").is_file()


def test_a_run_of_either_is_resumed_by_the_other(table, smiles):
    whole = train(table, "size", epochs=4, run_dir="whole")

    def stop(epoch):
        if epoch.epoch == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(table, "size", epochs=4, run_dir="broken", callback=stop)
    assert not gmn.Run("broken").finished
    done = subprocess.run([*command(), "train", "--resume", "broken"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert gmn.load("broken").to_bytes() == whole.to_bytes()


def test_training_goes_on_where_it_was_broken_off_or_starts(smiles):
    whole = train(smiles, sizes(smiles), epochs=4, run_dir="whole")

    def stop(epoch):
        if epoch.epoch == 2:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        train(smiles, sizes(smiles), epochs=4, resume="broken", callback=stop)
    told = []
    again = train(smiles, sizes(smiles), epochs=4, resume="broken", callback=told.append)
    assert [epoch.epoch for epoch in told] == [3, 4]
    assert again.to_bytes() == whole.to_bytes()
    with pytest.raises(gmn.Error, match="configuration"):
        train(smiles, sizes(smiles), epochs=5, resume="broken")
    with pytest.raises(gmn.UsageError, match="resume= or run_dir="):
        train(smiles, sizes(smiles), resume="a", run_dir="b")


def test_an_ensemble_is_the_seeds_from_0_on(smiles):
    model = train(smiles, sizes(smiles), ensemble=2, epochs=1, run_dir="run")
    assert len(model) == 2 and model.run.seeds == [0, 1]
    for wrong in [{"ensemble": 2, "seed": 1}, {"ensemble": 0}]:
        with pytest.raises(gmn.UsageError, match="ensemble="):
            train(smiles, sizes(smiles), **wrong)


def test_a_callback_is_told_every_epoch_and_the_history_has_them(smiles):
    told = []
    model = train(smiles, sizes(smiles), epochs=3, callback=[told.append], run_dir="run")
    assert [epoch.epoch for epoch in told] == [1, 2, 3]
    assert all(epoch.epochs == 3 and epoch.seed == 0 for epoch in told)
    history = model.run.epochs
    assert [row["epoch"] for row in history] == [1, 2, 3]
    assert [row["valid_rmse"] for row in history] == [epoch.valid for epoch in told]
    assert [row["train_loss"] for row in history] == [epoch.loss for epoch in told]
    assert [row["train_rmse"] for row in history] == [epoch.train for epoch in told] and told[0].train > 0
    frame = model.history
    assert list(frame["epoch"]) == [1, 2, 3] and "test_rmse" in frame.columns


def test_training_stops_early(smiles):
    model = train(smiles, sizes(smiles), epochs=60, patience=1, learning_rate=1e-12, run_dir="run")
    assert model.run.summary["seeds"][0]["stopped_early"]


def test_a_keyboard_interrupt_saves_and_returns_a_model_whose_run_goes_on(smiles):
    whole = train(smiles, sizes(smiles), epochs=4, run_dir="whole")

    def stop(epoch):
        if epoch.epoch == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="the best model so far"):
        model = train(smiles, sizes(smiles), epochs=4, run_dir="run", callback=stop)
    assert not model.run.finished and "can be resumed" in repr(model.run)
    assert np.isfinite(model.predict(smiles)).all()
    with pytest.raises(gmn.UsageError, match="given in memory"):
        gmn.resume(model.run, progress=False)
    with pytest.raises(gmn.DataError, match="changed since"):
        gmn.resume(model.run, smiles[::-1], sizes(smiles), progress=False)
    model = gmn.resume(model.run, smiles, sizes(smiles), progress=False)
    assert model.run.finished and model.to_bytes() == whole.to_bytes()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_in_mid_epoch_saves_the_state(table, tmp_path):
    script = textwrap.dedent("""
        import os, signal, sys, threading
        import graphminnet as gmn
        def epoch(e):
            if e.epoch == 2:
                threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start()
        model = gmn.train(sys.argv[1], "size", epochs=4000, hidden=16, layers=1, settings={"model.pe_dim": 4},
                          run_dir="run", progress=False, callback=epoch)
        assert not model.run.finished
        print("returned")
    """)
    done = subprocess.run([sys.executable, "-c", script, table], capture_output=True, text=True, timeout=120)
    assert done.stdout == "returned\n", done.stderr
    assert "graphminnet.resume('run')" in done.stderr
    assert 2 <= len(gmn.Run("run").epochs) < 4000


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_signals_are_heard_while_a_prediction_goes_on(model, smiles, monkeypatch):
    """A handler is called again and again inside one call of the library, and may end it as Ctrl-C does."""
    native, heard = _call._native.call, []

    def tick(*_):
        heard.append(True)
        if len(heard) == 3:
            raise KeyboardInterrupt

    def ticking(*arguments):
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        try:
            return native(*arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    before = signal.signal(signal.SIGALRM, tick)
    monkeypatch.setattr(_call, "_native", SimpleNamespace(call=ticking))
    try:
        with pytest.raises(KeyboardInterrupt):
            model.predict(smiles * 2000)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_before_the_first_epoch_says_which_run_goes_on(smiles):
    class Impatient:
        def __call__(self, event):
            if event["event"] == "seed":
                raise KeyboardInterrupt

        def close(self):
            pass

    chosen, _progress.chosen = _progress.chosen, lambda _: Impatient()
    try:
        with pytest.raises(gmn.Interrupted, match="graphminnet.resume") as caught:
            train(smiles, sizes(smiles), run_dir="run")
    finally:
        _progress.chosen = chosen
    assert isinstance(caught.value, KeyboardInterrupt) and not caught.value.run.finished
    assert gmn.resume("run", smiles, sizes(smiles), progress=False).run.finished


def test_progress_is_lines_where_there_is_no_terminal(smiles, capsys):
    train(smiles, sizes(smiles), run_dir="run", progress=True)
    said = capsys.readouterr().err
    assert "molecules: 60 graphs, 48 to train" in said and "epoch 2/2  loss" in said and "run directory: run" in said
    train(smiles, sizes(smiles), run_dir="quiet", progress=None)
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_one_line_that_moves(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    bar = _progress.Terminal()
    bar({"event": "seed", "seed": 0, "parameters": 5, "epochs": 2, "steps": 4})
    bar({"event": "step", "epoch": 0, "step": 2, "steps": 4})
    bar({"event": "epoch", "epoch": 0, "epochs": 2, "loss": 0.5, "valid": 0.25, "test": None, "improved": True})
    bar.close()
    said = capsys.readouterr().err
    assert "2 epochs of 4 steps" in said
    assert " 25% |█████ " in said and " 50% |██████████ " in said and "best 0.2500 in epoch 1" in said
    assert said.count("\n") == 2


def test_progress_in_a_notebook_is_a_bar(monkeypatch):
    display = pytest.importorskip("IPython.display")
    drawn = []

    class Handle:
        def update(self, html):
            drawn.append(html.data)

    monkeypatch.setattr(display, "display", lambda *_, **__: Handle())
    bar = _progress.Notebook()
    bar({"event": "seed", "seed": 0, "parameters": 5, "epochs": 2, "steps": 4})
    bar({"event": "step", "epoch": 1, "step": 2, "steps": 4})
    assert '<progress value="0.7500"' in drawn[-1] and "5 parameters" in drawn[-1]


@pytest.mark.skipif(os.name != "posix", reason="a signal")
def test_the_handler_of_signals_is_left_alone(smiles):
    before = signal.getsignal(signal.SIGINT)
    train(smiles, sizes(smiles), run_dir="run")
    assert signal.getsignal(signal.SIGINT) is before
