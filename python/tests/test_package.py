"""The package as such: the command in it, types, examples, and what an import costs."""

import doctest
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphminnet as gmn
from graphminnet import _call


def run(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "graphminnet", *arguments], capture_output=True, text=True, **more)


def test_the_command_in_the_package_is_the_command(tmp_path):
    built = os.environ.get("GRAPHMINNET_COMMAND")
    if not built:
        pytest.skip("GRAPHMINNET_COMMAND names no program that Cargo built")
    (tmp_path / "x.csv").write_text("smiles,y\nCC,1\n")
    for words in [["--version"], [], ["--help"], ["predict"], ["data", "check", "x.csv"], ["predict", "--model", "no.gmn", "--data", "x.csv"]]:
        ours = run(*words)
        theirs = subprocess.run([built, *words], capture_output=True, text=True)
        assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr), words


def test_the_command_trains_and_its_record_has_its_words(table):
    words = ["train", "--data", str(table), "--target", "size", "--set", "train.epochs=1", "--run-dir", "run"]
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(Path("run/started.json").read_text())["command"] == "graphminnet " + " ".join(words)


def test_the_version_is_that_of_the_native_module():
    assert run("--version").stdout.split() == ["graphminnet", gmn.__version__]


def test_an_import_brings_none_of_the_large_packages():
    script = "import graphminnet, sys; print(sorted({'numpy','pandas','torch','sklearn','rdkit'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "[]\n"


def test_what_is_exported_is_documented():
    for name in gmn.__all__:
        thing = getattr(gmn, name)
        assert thing.__doc__ and thing.__module__ == "graphminnet", name
        for member, value in vars(thing).items() if isinstance(thing, type) else []:
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("name", ["graphminnet", "graphminnet.sklearn", "graphminnet.torch"])
def test_the_examples_in_docstrings_run(name, tmp_path):
    if name.endswith(("sklearn", "torch")):
        pytest.importorskip(name.rpartition(".")[2])
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=flags)
    for test in finder.find(module, extraglobs={"directory": tmp_path, "gmn": gmn}):
        runner.run(test)
    result = runner.summarize()
    assert result.attempted > 0 and result.failed == 0


def test_the_stub_of_the_native_module_is_true():
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "graphminnet._native"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_of_the_package_hold():
    pytest.importorskip("mypy")
    package = Path(__file__).parents[1] / "graphminnet"
    files = [str(path) for path in package.glob("*.py") if not path.name.endswith(("sklearn.py", "torch.py", "torch_layers.py"))]
    line = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--allow-untyped-calls", *files]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_numbers_of_numpy_are_numbers_to_a_type_checker_too(tmp_path):
    pytest.importorskip("mypy")
    lines = [
        "import numpy as np",
        "import graphminnet as gmn",
        "one, part = np.int64(1), np.float32(0.5)",
        "model = gmn.train('a.csv', 'y', seed=one, epochs=one, split_seed=one, threads=one, learning_rate=part)",
        "gmn.train('a.csv', 'y', seed=np.arange(2), ensemble=None)",
        "gmn.cross_validate('a.csv', 'y', folds=one, seed=[one, 2])",
        "model.predict_interval('b.csv', level=part, threads=one)",
        "model.explain('CCO', target=one, node=one)",
    ]
    (tmp_path / "program.py").write_text("\n".join(lines) + "\n")
    line = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", str(tmp_path / "program.py")]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_calls_of_the_native_module_are_refused():
    with pytest.raises(TypeError):
        _call._native.call("load")
    with pytest.raises(TypeError):
        _call._native.call("load", "[]", [], None, None)
    with pytest.raises(TypeError):
        _call._native.call("load", "[]", (3,), None, None)
    with pytest.raises(ValueError):
        _call._native.call("predict", "{}", (), "no model", None)
    with pytest.raises(gmn.UsageError, match="no such call"):
        _call.call("nonsense", None)
    with pytest.raises(gmn.Error, match="an ensemble needs at least one model"):
        _call.call("load", [])
    with pytest.raises(gmn.UsageError, match="about no model"):
        _call.call("to_bytes", None)
