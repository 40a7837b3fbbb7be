"""Calls at the same time: in callbacks of a training, and beside one in other threads. What may hang has its own process."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import SMALL, chains, sizes, train

import graphminnet as gmn

BEGIN = f"""
import threading, time
import graphminnet as gmn
QUICK = {{"epochs": 2, "hidden": 16, "layers": 1, "settings": {SMALL!r}, "progress": False, "report": False}}
smiles = ["C" * n + "O" for n in range(1, 41)]
target = [float(n) for n in range(1, 41)]
model = gmn.load("model.gmn")
"""


def run(model, script, **environment):
    """What a script prints; one that hangs is an error."""
    model.save("model.gmn")
    line = [sys.executable, "-c", BEGIN + textwrap.dedent(script)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_callback_may_ask_and_train_models(threads, model):
    said = run(
        model,
        """
        def ask(epoch):
            if epoch.epoch == 2:
                print(model.predict(["CCO"]).shape, model.embed(["CCO"]).shape[0], len(model.explain("CCO").nodes))
                print(gmn.train(smiles, target, run_dir=f"inner-{epoch.seed}-{time.time()}", **QUICK).kind)

        gmn.train(smiles, target, callback=ask, run_dir="outer", **QUICK)
        gmn.cross_validate(smiles, target, folds=3, callback=lambda _: model.predict(["CCO"]), run_dir="folds", **QUICK)
        """,
        RAYON_NUM_THREADS=threads,
    )
    assert said == "(1,) 1 3\nnumbers\n"


def test_trainings_in_several_threads_with_callbacks_that_ask(model):
    said = run(
        model,
        """
        def work(at):
            gmn.train(smiles, target, callback=lambda _: model.predict(smiles), run_dir=f"run-{at}", **QUICK)

        threads = [threading.Thread(target=work, args=(at,)) for at in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print("done")
        """,
        RAYON_NUM_THREADS="2",
    )
    assert said == "done\n"


def test_a_prediction_does_not_wait_until_a_training_beside_it_is_over(model):
    """In a callback the training stands still, so that whoever has taken on its work is stuck."""
    said = run(
        model,
        """
        asked, answered = threading.Event(), threading.Event()

        def work():
            for _ in range(200):
                model.predict(smiles * 20)
            answered.set()

        def wait(epoch):
            asked.set()
            if epoch.epoch == 2:
                print(answered.wait(60))

        thread = threading.Thread(target=work)
        thread.start()
        gmn.train(smiles, target, callback=wait, run_dir="run", **QUICK)
        thread.join()
        """,
        RAYON_NUM_THREADS="2",
    )
    assert said == "True\n"


def test_a_small_question_does_not_wait_for_a_large_one(model):
    said = run(
        model,
        """
        thread = threading.Thread(target=model.predict, args=(smiles * 500,))
        thread.start()
        time.sleep(0.2)
        model.predict(smiles)
        print(thread.is_alive())
        thread.join()
        """,
        RAYON_NUM_THREADS="1",
    )
    assert said == "True\n"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_is_heard_while_a_callback_asks(smiles, model):
    def ask(epoch):
        if epoch.epoch == 2:
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            model.predict(smiles * 5000)

    with pytest.warns(UserWarning, match="the best model so far"):
        broken = train(smiles, sizes(smiles), epochs=50, callback=ask, run_dir="run")
    assert not broken.run.finished and len(broken.run.epochs) == 2


def ends_early(work):
    """Whether a signal ends what takes a while."""
    began = time.perf_counter()
    work()
    whole = time.perf_counter() - began

    def tick(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, tick)
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, whole / 4)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.perf_counter() - began < whole * 3 / 4
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("method", ["embed", "predict_interval"])
def test_control_c_ends_long_answers(method):
    smiles = chains(240)
    model = train(smiles, sizes(smiles), calibrate=True, run_dir="run")
    many = smiles * 200
    assert ends_early(lambda: getattr(model, method)(many))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_control_c_ends_questions_about_many_pairs():
    from test_levels import linked

    model = train(linked(), run_dir="run")
    nodes = 4000
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    graph = {"x": np.tile(np.eye(2, dtype=np.float32), (nodes // 2, 1)), "edge_index": np.concatenate([ring, ring[::-1]], 1)}
    assert ends_early(lambda: model.likeliest_pairs(graph, 5))
    pairs = np.random.default_rng(0).integers(0, nodes, (4_000_000, 2))
    assert ends_early(lambda: model.predict_pairs(graph, pairs))


def test_more_threads_than_machines_have_are_refused(model, smiles):
    for threads in (0, -1, 70_000, 2.5, True):
        for ask in (
            lambda threads: model.predict(smiles, threads=threads),
            lambda threads: train(smiles, sizes(smiles), threads=threads),
        ):
            with pytest.raises(gmn.UsageError, match=f"threads={threads}: expected a whole number from 1 to 1024"):
                ask(threads)
    values = [train(smiles, sizes(smiles), threads=threads, run_dir=f"run-{threads}").to_bytes() for threads in (None, 1, 3)]
    assert values[0] == values[1] == values[2]
    np.testing.assert_array_equal(model.predict(smiles, threads=np.int64(2)), model.predict(smiles))
