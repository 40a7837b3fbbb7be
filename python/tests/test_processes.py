"""Other processes: spawned, forked, and forked while threads are at work."""

import multiprocessing
import os
import threading

import numpy as np
import pytest
from conftest import sizes, train

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")


def predict(model, smiles):
    return model.predict(smiles)


def train_there(smiles, folder):
    return train(smiles, sizes(smiles), run_dir=folder).to_bytes()


def in_child(method, work, *arguments):
    """The answer of a process; one that hangs is an error."""
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.apply_async(work, arguments).get(timeout=60)


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_child_predicts_the_same_and_does_not_hang(method, model, smiles):
    expected = model.predict(smiles)  # the parent's threads are there
    np.testing.assert_array_equal(in_child(method, predict, model, smiles), expected)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_child_trains_to_the_same_bits(method, smiles, tmp_path):
    here = train_there(smiles, tmp_path / "here")
    assert in_child(method, train_there, smiles, tmp_path / "there") == here


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_children_of_a_process_whose_threads_are_at_work_answer(model, smiles):
    expected = model.predict(smiles)
    over = threading.Event()

    def work():
        while not over.is_set():
            model.predict(smiles)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            np.testing.assert_array_equal(in_child("fork", predict, model, smiles), expected)
    finally:
        over.set()
        thread.join()


def test_joblib_shares_models(model, smiles):
    joblib = pytest.importorskip("joblib")
    parts = joblib.Parallel(n_jobs=2)(joblib.delayed(predict)(model, smiles[at : at + 20]) for at in (0, 20, 40))
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(smiles))
