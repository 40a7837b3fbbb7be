"""What the README, the guide and the notebook show is run as it is printed."""

import re
from pathlib import Path

import pytest
from conftest import chains, sizes

ROOT = Path(__file__).parents[2]


def blocks(page):
    """The Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.fixture
def files(tmp_path):
    """What the examples speak of."""
    smiles = chains(60)
    rows = [f"{text},{size}" for text, size in zip(smiles, sizes(smiles))]
    (tmp_path / "molecules.csv").write_text("\n".join(["smiles,solubility", *rows]) + "\n")


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md"])
def test_the_lines_of_a_page_run_as_they_are_printed(page, files):
    found = [block for block in blocks(page) if "torch" not in block]
    assert found
    for package in ("pandas", "sklearn", "networkx", "rdkit"):
        pytest.importorskip(package)
    names: dict = {}
    for block in found:
        # As long as a test may take.
        exec(compile(block.replace("epochs=40", "epochs=2"), page, "exec"), names)


@pytest.mark.parametrize("page", ["docs/guide/python.md"])
def test_the_lines_on_pytorch_run_as_they_are_printed(page, files):
    pytest.importorskip("torch_geometric")
    names: dict = {}
    for block in blocks(page):
        exec(compile(block.replace("epochs=40", "epochs=2"), page, "exec"), names)


def test_the_worker_for_ray_answers_a_batch_as_the_model_does(files):
    import numpy as np

    import graphminnet as gmn

    names: dict = {}
    worker, calls = blocks("docs/guide/shards.md")
    exec(compile(worker, "shards.md", "exec"), names)
    assert "import ray" in calls and "Predictor" in calls, "the rest needs Ray"
    model = gmn.train("molecules.csv", target="solubility", epochs=1, settings={"model.layers": 1})
    model.save("model.gmn")
    # What Ray hands over: a mapping of arrays.
    batch = {"smiles": np.array(["CCO", "C1CC"], dtype=object), "name": np.array(["a", "b"])}
    answer = names["Predictor"]("model.gmn")(batch)
    assert answer["prediction"][0] == model.predict(["CCO"])[0]
    assert np.isnan(answer["prediction"][1]) and "ring 1" in answer["reason"][1]
    assert answer["reason"][0] == "" and list(answer["name"]) == ["a", "b"]


def test_the_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    for package in ("ipykernel", "pandas", "sklearn", "networkx"):
        pytest.importorskip(package)
    notebook = nbformat.read(ROOT / "examples/tour.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    html = "".join(output["data"].get("text/html", "") for output in shown if "data" in output)
    assert "<svg" in html and "<progress" in html and "Model molecules" in html
