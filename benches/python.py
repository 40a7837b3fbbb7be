"""Times the Python package beside the command, on a machine where nothing else runs.

    python benches/python.py path/to/graphminnet [molecules]

Prints one line of JSON per measurement: the import, conversion of graphs, and predictions of SMILES by both.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def least(work, times=5):
    """The least time of several, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def say(what, **values):
    print(json.dumps({"what": what, **values}), flush=True)


def molecules(count):
    rng = random.Random(0)
    pieces = ["C", "N", "O", "C(C)", "C(=O)", "c1ccccc1"]
    return ["C" + "".join(rng.choice(pieces) for _ in range(rng.randrange(4, 12))) for _ in range(count)]


def main():
    command, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40_000
    script = "import time; s = time.perf_counter(); import graphminnet; print(time.perf_counter() - s)"
    say("import", seconds=min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5)))

    import graphminnet as gmn
    from graphminnet import _tables
    from graphminnet._call import call

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        few = molecules(300)
        settings = {"model.pe_dim": 8}
        model = gmn.train(few, [float(len(text)) for text in few], epochs=1, run_dir=place / "run", settings=settings, progress=False)
        many = molecules(count)
        (place / "new.csv").write_text("smiles\n" + "\n".join(many) + "\n")
        path = model.save(place / "model.gmn")
        line = [command, "predict", "--model", path, "--data", place / "new.csv", "-o", place / "out.csv"]
        theirs = least(lambda: subprocess.run(line, check=True, capture_output=True), 3)
        ours = least(lambda: model.predict(many), 3)
        say("predict", molecules=count, package=count / ours, command=count / theirs, ratio=ours / theirs)

    nodes, edges, graphs = 20, 40, 10_000
    rng = np.random.default_rng(0)
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    ends = np.concatenate([ring, ring[::-1]], axis=1)
    arrays = {
        "ptr": np.arange(graphs + 1) * nodes,
        "edge_index": np.concatenate([ends + at * nodes for at in range(graphs)], axis=1),
        "x": rng.normal(size=(graphs * nodes, 4)).astype(np.float32),
        "edge_attr": rng.integers(0, 4, size=(graphs * edges, 1)),
        "y": rng.normal(size=graphs),
    }

    def convert(tables):
        """Into the library's validated graphs; nothing is computed for them."""
        request, parts = tables.request("graphs")
        return call("prepare", {"source": request, "wanted": {"eigenpairs": 0, "random_walk_steps": 0}, "threads": 1}, parts)

    say("convert", kind="batch of arrays", per_second=graphs / least(lambda: convert(_tables.from_arrays(arrays))))

    class Data:
        pass

    objects = []
    for at in range(graphs):
        one = Data()
        one.x = arrays["x"][at * nodes : (at + 1) * nodes]
        one.edge_attr = arrays["edge_attr"][at * edges : (at + 1) * edges]
        one.edge_index, one.y = ends, arrays["y"][at : at + 1]
        objects.append(one)
    say("convert", kind="objects with arrays", per_second=graphs / least(lambda: convert(_tables.from_pyg(objects))))
    try:
        import torch
        from torch_geometric.data import Batch, Data as PygData
    except ImportError:
        say("convert", kind="PyTorch Geometric", per_second=None)
        return
    given = [
        PygData(
            x=torch.from_numpy(one.x), edge_index=torch.from_numpy(ends.copy()), edge_attr=torch.from_numpy(one.edge_attr),
            y=torch.from_numpy(one.y),
        )
        for one in objects
    ]  # fmt: skip
    whole = Batch.from_data_list(given)
    say("convert", kind="list of PyG Data", per_second=graphs / least(lambda: convert(_tables.from_pyg(given))))
    say("convert", kind="PyG Batch", per_second=graphs / least(lambda: convert(_tables.from_pyg_batch(whole))))


if __name__ == "__main__":
    main()
