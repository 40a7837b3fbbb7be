"""Times the Python package beside the command, on a machine where nothing else runs.

    python benches/python.py path/to/graphminnet [molecules] [--wheel WHEEL] [--build]

Prints one line of JSON per measurement: the wheel (``--build`` makes it with maturin and says how long that took), the
import, predictions of SMILES by both, and conversion of graphs on one core. The package must be installed from the wheel.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def cores():
    """Seconds of a core that this process and those that it waited for have taken."""
    return time.process_time() + sum(os.times()[2:4])


def least(*works, times=5):
    """The least seconds on the wall and of a core of each of several, which take turns; those of a core include all threads
    and the processes that were waited for."""
    found = [[] for _ in works]
    for _ in range(times):
        for work, seconds in zip(works, found):
            wall, core = time.perf_counter(), cores()
            work()
            seconds.append((time.perf_counter() - wall, cores() - core))
    return [tuple(map(min, zip(*seconds))) for seconds in found]


def say(what, **values):
    print(json.dumps({"what": what, **values}), flush=True)


def molecules(count):
    rng = random.Random(0)
    pieces = ["C", "N", "O", "C(C)", "C(=O)", "c1ccccc1"]
    return ["C" + "".join(rng.choice(pieces) for _ in range(rng.randrange(4, 12))) for _ in range(count)]


def wheel(path, build):
    if build:
        root = Path(__file__).parents[1]
        start = time.perf_counter()
        line = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--interpreter", sys.executable]
        # What lets the module compile without an interpreter keeps maturin from finding one.
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYO3_")}
        subprocess.run(line, check=True, cwd=root, env=surroundings)
        say("build", seconds=time.perf_counter() - start)
        path = path or max((root / "target/wheels").glob("*.whl"), key=lambda found: found.stat().st_mtime)
    if path:
        say("wheel", name=Path(path).name, bytes=Path(path).stat().st_size)


def importing():
    script = "import time; s = time.perf_counter(); import graphminnet; print(time.perf_counter() - s)"
    say("import", seconds=min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5)))


def predicting(command, count):
    import graphminnet as gmn

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        few = molecules(300)
        settings = {"model.pe_dim": 8}
        model = gmn.train(few, [float(len(text)) for text in few], epochs=1, run_dir=place / "run", settings=settings, progress=False)
        many = molecules(count)
        (place / "new.csv").write_text("smiles\n" + "\n".join(many) + "\n")
        path = model.save(place / "model.gmn")
        line = [command, "predict", "--model", path, "--data", place / "new.csv", "-o", place / "out.csv"]
        ours, theirs = least(lambda: model.predict(many), lambda: subprocess.run(line, check=True, capture_output=True))
        # Molecules a second of both; the ratios are those of their times, on the wall and of a core.
        ratios = {"ratio": ours[0] / theirs[0], "core_ratio": ours[1] / theirs[1]}
        say("predict", molecules=count, package=count / ours[0], command=count / theirs[0], **ratios)


def converting(nodes=20, edges=40, graphs=10_000):
    from graphminnet import _inputs
    from graphminnet._call import call

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

    def convert(given):
        """Into the library's validated graphs; nothing is computed for them."""
        request, parts = _inputs._graphs(given).request("graphs")
        assert call("read", {"source": request, "threads": 1}, parts).value == {"graphs": graphs, "usable": graphs}

    def measure(kind, given):
        ((_, core),) = least(lambda: convert(given))
        say("convert", kind=kind, per_second=graphs / core)

    class Data:
        pass

    objects = []
    for at in range(graphs):
        one = Data()
        one.x = arrays["x"][at * nodes : (at + 1) * nodes]
        one.edge_attr = arrays["edge_attr"][at * edges : (at + 1) * edges]
        one.edge_index, one.y = ends, arrays["y"][at : at + 1]
        objects.append(one)
    measure("mapping of arrays", arrays)
    measure("objects with arrays", objects)
    try:
        import torch
        from torch_geometric.data import Batch, Data as PygData, InMemoryDataset
    except ImportError:
        say("convert", kind="PyTorch Geometric", per_second=None)
        return
    torch.set_num_threads(1)
    given = [
        PygData(
            x=torch.from_numpy(one.x), edge_index=torch.from_numpy(ends.copy()), edge_attr=torch.from_numpy(one.edge_attr),
            y=torch.from_numpy(one.y),
        )
        for one in objects
    ]  # fmt: skip

    class Rings(InMemoryDataset):
        def __init__(self):
            super().__init__(None)
            self.data, self.slices = self.collate(given)

    measure("list of PyG Data", given)
    measure("PyG Batch", Batch.from_data_list(given))
    measure("PyG InMemoryDataset", Rings())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the program that Cargo built, in the same profile")
    parser.add_argument("molecules", nargs="?", type=int, default=40_000)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--build", action="store_true")
    asked = parser.parse_args()
    # Figures of a machine that does other things are worth little.
    say("machine", cores=os.cpu_count(), load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None)
    wheel(asked.wheel, asked.build)
    importing()
    predicting(asked.command, asked.molecules)
    converting()


if __name__ == "__main__":
    main()
