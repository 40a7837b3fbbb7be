"""Small data, and a model that every test may use."""

import os
import random
from pathlib import Path

import pytest

import graphminnet as gmn

ATOMS = ["C", "N", "O", "C(C)", "C(=O)", "c1ccccc1"]
SMALL = {"model.pe_dim": 4, "model.lap_dim": 4, "model.rwse_steps": 4}


def chains(count: int, seed: int = 0) -> list[str]:
    """Different molecules."""
    rng = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found["C" + "".join(rng.choice(ATOMS) for _ in range(rng.randrange(1, 9)))] = None
    return list(found)


def sizes(smiles: list[str]) -> list[float]:
    """A target that can be learnt."""
    return [float(sum(letter.isalpha() for letter in text)) + 0.25 * text.count("O") for text in smiles]


def train(data, target=None, **more):
    """A training that takes a moment."""
    more = {"epochs": 2, "hidden": 16, "layers": 1, "settings": SMALL, "progress": False, "report": False} | more
    return gmn.train(data, target, **more)


@pytest.fixture(scope="session")
def smiles():
    return chains(60)


@pytest.fixture(scope="session")
def model(smiles, tmp_path_factory):
    """A regression on molecules."""
    return train(smiles, sizes(smiles), epochs=5, run_dir=tmp_path_factory.mktemp("run") / "chains", report=True)


@pytest.fixture
def table(smiles, tmp_path) -> Path:
    """The same molecules as a file."""
    path = tmp_path / "chains.csv"
    rows = [f"{text},{size}" for text, size in zip(smiles, sizes(smiles))]
    path.write_text("\n".join(["smiles,size", *rows]) + "\n")
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs without a directory of their own go to a temporary one, and so does the cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHMINNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def for_examples(doctest_namespace, tmp_path):
    """What examples in docstrings may use."""
    doctest_namespace["directory"] = tmp_path


def command() -> list[str]:
    """The command: the program that Cargo built where there is one, else the package's own."""
    import sys

    built = os.environ.get("GRAPHMINNET_COMMAND")
    return [built] if built else [sys.executable, "-m", "graphminnet"]
