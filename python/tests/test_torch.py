"""The model in PyTorch, and PyTorch Geometric's own data."""

import gzip
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, sizes, train

import graphminnet as gmn

torch = pytest.importorskip("torch")

from graphminnet import torch as gt  # noqa: E402

GOLDEN = Path(__file__).parents[2] / "crates/graphminnet/tests/fixtures/golden"


def golden(name):
    """A fixture: its configuration and its tensors."""
    config = json.loads((GOLDEN / f"{name}.json").read_text())["config"]
    data = (GOLDEN / f"{name}.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    kinds = {"F32": "<f4", "I64": "<i8", "U8": "u1"}
    tensors = {}
    for key, about in json.loads(data[8 : 8 + length]).items():
        if key != "__metadata__":
            begin, end = (8 + length + at for at in about["data_offsets"])
            values = np.frombuffer(data[begin:end], kinds[about["dtype"]]).reshape(about["shape"])
            tensors[key] = torch.from_numpy(values.copy())
    return config, tensors


def batch_of(config, tensors):
    """The inputs of a fixture."""
    nodes, edges = len(tensors["in.batch"]), tensors["in.edge_index"].shape[1]

    def split(name, rows):
        table = tensors.get(name)
        if table is None:
            return torch.zeros(rows, 0, dtype=torch.long), torch.zeros(rows, 0)
        table = table.reshape(rows, -1)
        empty = torch.zeros(rows, 0, dtype=torch.float32 if table.dtype == torch.long else torch.long)
        return (table, empty) if table.dtype == torch.long else (empty, table)

    x, e = split("in.x", nodes), split("in.edge_attr", edges)
    exist = tensors["in.exist"].bool()
    return gt.Batch(
        *x, tensors["in.edge_index"], *e, tensors["in.batch"], len(exist), tensors["in.eigvals"], tensors["in.eigvecs"],
        exist, exist, tensors.get("in.rwse", torch.zeros(nodes, 0)), tensors["in.logdeg"],
    )  # fmt: skip


FIXTURES = sorted(path.stem for path in GOLDEN.glob("g*.json"))


def close(found, expected, what):
    scale = max(float(expected.abs().max()), 1e-3)
    worst = float((found.detach() - expected).abs().max()) / scale if expected.numel() else 0.0
    assert worst < 1e-4, f"{what}: {worst}"


@pytest.mark.parametrize("name", FIXTURES)
def test_values_and_gradients_equal_the_golden_fixtures(name):
    config, tensors = golden(name)
    module = gt.GraphMinNet(config)
    state = {key.partition(".")[2]: value for key, value in tensors.items() if key.startswith(("param.", "buffer."))}
    missing, unexpected = module.load_state_dict(state, strict=False)
    assert not unexpected and all(key.endswith("num_batches_tracked") for key in missing), (missing, unexpected)
    batch = batch_of(config, tensors)
    for mode in ("eval", "train"):
        module.train(mode == "train")
        module.zero_grad()
        out = module(batch)
        close(out, tensors[f"{mode}.out"], mode)
        (out * tensors["loss_weight"]).sum().backward()
        for key, parameter in module.named_parameters():
            expected = tensors[f"{mode}.grad.{key}"]
            found = torch.zeros_like(expected) if parameter.grad is None else parameter.grad
            assert float((found - expected).abs().max()) < 2e-4 * max(float(expected.abs().max()), 1e-1), f"{mode} {key}"


def test_an_empty_graph_is_pooled_to_zeros():
    config, tensors = golden("g5_malnet_like")
    for pooling in ("max", "mean", "add"):
        module = gt.GraphMinNet(config | {"pooling": pooling}).eval()
        batch = batch_of(config, tensors)
        alone = module(batch)
        # After the others there is one more graph, which has no nodes.
        rows = {name: torch.cat([getattr(batch, name), getattr(batch, name)[:1]]) for name in ("eigenvalues", "exist", "usable")}
        out = module(replace(batch, num_graphs=batch.num_graphs + 1, **rows))
        torch.testing.assert_close(out[:-1], alone)
        torch.testing.assert_close(out[-1:], module.head(torch.zeros(1, config["hidden"])))
        out.sum().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters()), pooling


def test_a_model_moves_to_pytorch_and_back_to_the_same_bytes(model, smiles, tmp_path):
    module = gt.from_bundle(model)
    batch = gt.collate(model, smiles)
    with torch.no_grad():
        values = module.in_units(module(batch))[:, 0]
    expected = model.predict(smiles)
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    back = gt.to_bundle(module, tmp_path / "back.gmn")
    assert back.to_bytes() == model.to_bytes() == [(tmp_path / "back.gmn").read_bytes()]
    np.testing.assert_allclose(module.embed(batch).detach().numpy(), np.concatenate(model.embed(smiles, level="node")), atol=1e-4)


def test_a_module_is_tuned_and_predicts_in_the_package(model, smiles):
    module = gt.from_bundle(model)
    batch = gt.collate(model, smiles)
    target = torch.tensor(sizes(smiles), dtype=torch.float32)[:, None]
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-2)
    losses = []
    module.train()
    for _ in range(40):
        optimizer.zero_grad()
        loss = (module.in_units(module(batch)) - target).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    module.eval()
    tuned = gt.to_bundle(module)
    with torch.no_grad():
        values = module.in_units(module(batch))[:, 0].numpy()
    np.testing.assert_allclose(tuned.predict(smiles), values, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("local", ["gine", "gatedgcn"])
def test_numbers_categories_scales_and_nodes(local, tmp_path):
    from test_inputs import batch as arrays
    from test_inputs import rings

    graphs, _ = rings()
    y = np.concatenate([graph["x"][:, 0] for graph in graphs])
    settings = SMALL | {"model.local": local}
    model = train(arrays(graphs) | {"y": y}, settings=settings, run_dir=tmp_path / "run")
    assert model.description["model"]["standardize"] and model.level == "node"
    module = gt.from_bundle(model)
    with torch.no_grad():
        values = module.in_units(module(gt.collate(model, arrays(graphs))))[:, 0].numpy()
    np.testing.assert_allclose(values, np.concatenate(model.predict(arrays(graphs))), rtol=1e-3, atol=1e-4)


def test_what_cannot_move_is_refused(model, smiles, tmp_path):
    with pytest.raises(gmn.UsageError, match="only a module that came from one"):
        gt.to_bundle(gt.GraphMinNet(model.description["model"]))
    with pytest.raises(gmn.UsageError, match="local = gin"):
        gt.GraphMinNet(model.description["model"] | {"local": "gin"})
    with pytest.raises(gmn.DataError, match="not a SMILES string"):
        gt.collate(model, ["CC", "C1CC"])
    module = gt.from_bundle(model)
    module.head.lins[0] = torch.nn.Linear(3, 3)
    with pytest.raises(gmn.Error):
        gt.to_bundle(module)


def test_the_layer_sees_the_whole_graph_and_only_its_own():
    torch.manual_seed(0)
    layer = gt.GraphMinNetConv(8, lap_dim=4)
    ring = torch.stack([torch.arange(12), (torch.arange(12) + 1) % 12])
    edge_index = torch.cat([ring, ring.flip(0)], 1)
    values, vectors = layer.eigenpairs(edge_index, 12)
    assert values.shape == (1, 5) and vectors.shape == (12, 5)
    two = torch.cat([edge_index, edge_index + 12], 1)
    batch = torch.arange(24) // 12
    x = torch.randn(24, 8, requires_grad=True)
    out = layer(x, two, batch, values.repeat(2, 1), vectors.repeat(2, 1))
    (gradient,) = torch.autograd.grad(out[0].sum(), x)
    far = gradient.abs().sum(1)
    assert (far[:12] > 0).all() and (far[12:] == 0).all()
    with pytest.raises(gmn.UsageError, match="needs 5 eigenpairs"):
        layer(x, two, batch, values[:, :3], vectors[:, :3])
    with pytest.raises(gmn.UsageError, match="colour"):
        gt.GraphMinNetConv(8, colour="red")


def test_the_layer_counts_distinct_neighbours_as_the_package_does():
    # 0 and 1 are joined in both directions, 1 and 2 twice in one, 3 and 0 once; 3 has a loop, and 4 has nothing but one.
    edge_index = torch.tensor([[0, 1, 1, 1, 3, 3, 4], [1, 0, 2, 2, 0, 3, 4]])
    degrees = torch.tensor([2.0, 2.0, 1.0, 1.0, 0.0])
    layer = gt.GraphMinNetConv(8, lap_dim=0, degree_scaling=True)
    seen = []
    layer.block.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[-1]))
    empty = torch.zeros(2, 0, dtype=torch.long)
    for edges in (edge_index, edge_index.int(), empty):
        layer(torch.randn(5, 8), edges, torch.zeros(5, dtype=torch.long), torch.zeros(1, 1), torch.zeros(5, 1))
    torch.testing.assert_close(seen, [degrees.log1p(), degrees.log1p(), torch.zeros(5)])


def test_the_layer_trains_inside_a_model_of_pytorch_geometric():
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GCNConv, global_mean_pool

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.near, self.far, self.out = GCNConv(4, 4), gt.GraphMinNetConv(4, lap_dim=3), torch.nn.Linear(4, 1)

        def forward(self, data):
            x = self.near(data.x, data.edge_index).relu()
            x = x + self.far(x, data.edge_index, data.batch, data.eigenvalues, data.eigenvectors)
            return self.out(global_mean_pool(x, data.batch))

    torch.manual_seed(0)
    net, graphs = Net(), []
    for n in (4, 5, 6, 7):
        ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        edge_index = torch.cat([ring, ring.flip(0)], 1)
        values, vectors = net.far.eigenpairs(edge_index, n)
        graphs.append(Data(x=torch.randn(n, 4), edge_index=edge_index, eigenvalues=values, eigenvectors=vectors))
    batch = Batch.from_data_list(graphs)
    loss = net(batch).pow(2).mean()
    loss.backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def pyg_rings(count=30):
    from test_inputs import rings
    from torch_geometric.data import Data

    graphs, target = rings(count)
    return [
        Data(
            x=torch.from_numpy(graph["x"]),
            edge_index=torch.from_numpy(graph["edge_index"].copy()),
            edge_attr=torch.from_numpy(graph["edge_attr"].copy()),
            y=torch.tensor([y], dtype=torch.float32),
        )
        for graph, y in zip(graphs, target)
    ]


def test_data_batches_and_datasets_of_pytorch_geometric_are_the_same_graphs(tmp_path):
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, InMemoryDataset

    graphs = pyg_rings()

    class Rings(InMemoryDataset):
        def __init__(self):
            super().__init__(None)
            self.data, self.slices = self.collate(graphs)

    dataset = Rings()
    model = train(graphs, run_dir=tmp_path / "list")
    for name, given in [("set", dataset), ("batch", Batch.from_data_list(graphs))]:
        other = train(given, run_dir=tmp_path / name)
        assert other.to_bytes() == model.to_bytes(), name
        np.testing.assert_array_equal(model.predict(given), model.predict(graphs))
    np.testing.assert_array_equal(model.predict(dataset[5:9]), model.predict(graphs)[5:9])
    np.testing.assert_array_equal(model.predict(graphs[3]), model.predict(graphs)[3:4])
    # Batches of a loader are the graphs in them, not large graphs.
    from torch_geometric.loader import DataLoader

    loader = DataLoader(graphs, batch_size=7)
    np.testing.assert_array_equal(model.predict(loader), model.predict(graphs))
    np.testing.assert_array_equal(model.predict(list(loader)), model.predict(graphs))
    parts = [Batch.from_data_list(graphs[at : at + 10]) for at in (0, 10, 20)]
    split = train(parts[0], valid=parts[1], test=parts[2], run_dir=tmp_path / "parts")
    words = ["train"] * 10 + ["valid"] * 10 + ["test"] * 10
    assert split.to_bytes() == train(graphs, split=words, run_dir=tmp_path / "words").to_bytes()


def test_tensors_that_are_no_arrays_are_refused(tmp_path):
    pytest.importorskip("torch_geometric")
    graphs = pyg_rings(4)
    for change in (torch.Tensor.to_sparse, torch.Tensor.bfloat16):
        wrong = [graph.clone() for graph in graphs]
        for graph in wrong:
            graph.x = change(graph.x)
        with pytest.raises(gmn.DataError, match="is no array of numpy"):
            train(wrong)


def test_masks_are_parts_of_one_large_graph(tmp_path):
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, Data

    torch.manual_seed(0)
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 1) % 60])
    x = torch.randn(60, 3)
    parts = torch.arange(60) % 3
    data = Data(
        x=x, edge_index=torch.cat([ring, ring.flip(0)], 1), y=(x[:, 0] > 0).long() + (x[:, 0] > 1).long(),
        train_mask=parts == 0, val_mask=parts == 1, test_mask=parts == 2,
    )  # fmt: skip
    model = train(data, run_dir=tmp_path / "run")
    assert model.level == "node" and model.kind == "classes" and model.classes == ["0", "1", "2"]
    parts = json.loads((tmp_path / "run/splits.json").read_text())
    (values,) = model.predict(data)
    assert values.shape == (60, 3)
    # Several splits side by side, as in the data sets of PyG with ten of them; a batch and a list keep the masks.
    for name in ("train_mask", "val_mask", "test_mask"):
        data[name] = torch.stack([torch.zeros(60, dtype=torch.bool), data[name]], 1)
    for name, given in [("one", data), ("list", [data]), ("batch", Batch.from_data_list([data]))]:
        other = train(given, run_dir=tmp_path / name, read={"split_column": 1})
        assert other.to_bytes() == model.to_bytes(), name
        assert json.loads((tmp_path / name / "splits.json").read_text()) == parts


def test_a_dataset_of_the_tu_collection_as_pytorch_geometric_reads_it(tmp_path, monkeypatch):
    pytest.importorskip("torch_geometric")
    from torch_geometric.datasets import TUDataset

    raw = tmp_path / "SMALL" / "raw"
    raw.mkdir(parents=True)
    edges, indicator, labels, at = [], [], [], 0
    for graph in range(20):
        n = 3 + graph % 4
        edges += [f"{at + a + 1}, {at + b + 1}" for a in range(n) for b in [(a + 1) % n, (a - 1) % n]]
        indicator += [str(graph + 1)] * n
        labels += [str(node % 2) for node in range(n)]
        at += n
    for name, lines in [
        ("A", edges), ("graph_indicator", indicator), ("node_labels", labels), ("graph_labels", [str(g % 2) for g in range(20)]),
    ]:  # fmt: skip
        (raw / f"SMALL_{name}.txt").write_text("\n".join(lines) + "\n")
    dataset = TUDataset(tmp_path, "SMALL")
    model = train(dataset, run_dir=tmp_path / "run")
    assert model.kind == "binary" and len(model.predict(dataset)) == 20
    monkeypatch.setenv("GRAPHMINNET_DATA", str(tmp_path))
    assert train("tu:SMALL", run_dir=tmp_path / "named").to_bytes() == model.to_bytes()
    assert model.description["name"] == "SMALL"


def test_a_dataset_of_ogb_by_name_with_its_own_split(tmp_path, monkeypatch):
    pytest.importorskip("ogb")
    pytest.importorskip("torch_geometric")
    folder = tmp_path / "ogbg_molesol"
    rng = np.random.default_rng(0)
    nodes = rng.integers(3, 8, size=30)
    edges = [f"{a},{a + 1}" for n in nodes for a in range(n - 1)]
    lines = {
        "raw/edge": edges,
        "raw/num-node-list": nodes,
        "raw/num-edge-list": nodes - 1,
        "raw/node-feat": [",".join(map(str, rng.integers(0, 2, 9))) for _ in range(nodes.sum())],
        "raw/edge-feat": ["0,1,0"] * len(edges),
        "raw/graph-label": rng.normal(size=30),
        "split/scaffold/train": range(2, 22),
        "split/scaffold/valid": [0, *range(22, 25)],
        "split/scaffold/test": [1, *range(25, 30)],
    }
    for name, rows in lines.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode()))
    (folder / "RELEASE_v1.txt").touch()
    monkeypatch.setenv("GRAPHMINNET_DATA", str(tmp_path))
    model = train("ogbg-molesol", run_dir=tmp_path / "run")
    about = model.description
    assert (about["name"], about["schema"]["task"]) == ("ogbg-molesol", "regression")
    parts = json.loads((tmp_path / "run/splits.json").read_text())
    assert [about["data"][part] for part in ("train", "valid", "test")] == [20, 4, 6], parts
    with pytest.raises(gmn.MachineError, match="ogbg-nonsense cannot be fetched or read"):
        train("ogbg-nonsense")


def test_features_that_are_averaged_over_neighbours_are_so_in_pytorch_too(tmp_path):
    from test_inputs import one_graph

    graph = one_graph()
    more = {"model.encoder_hops": 2, "model.drop_encoder": 0.5}
    model = train(graph, run_dir=tmp_path / "run", settings=SMALL | more)
    module = gt.from_bundle(model)
    found = torch.softmax(module(gt.collate(model, graph)), 1).detach().numpy()
    np.testing.assert_allclose(found, model.predict(graph)[0], rtol=1e-3, atol=1e-4)
    module.config["encoder_hops"] = 0
    other = torch.softmax(module(gt.collate(model, graph)), 1).detach().numpy()
    assert np.abs(other - found).max() > 1e-3, "the hops make a difference"


def test_what_is_not_written_in_pytorch_is_refused(tmp_path, smiles):
    from test_levels import linked

    links = train(linked(), run_dir=tmp_path / "links", epochs=1)
    with pytest.raises(gmn.UsageError, match="level = pair"):
        gt.from_bundle(links)
    computed = train(smiles, sizes(smiles), basic_descriptors=True, run_dir=tmp_path / "computed", epochs=1)
    with pytest.raises(gmn.UsageError, match="graph_in = "):
        gt.from_bundle(computed)


def test_links_that_pytorch_geometric_splits_are_three_graphs_with_pairs(tmp_path):
    pytest.importorskip("torch_geometric")
    from test_levels import linked
    from torch_geometric.data import Data
    from torch_geometric.transforms import RandomLinkSplit

    graph = linked()
    torch.manual_seed(0)
    data = Data(x=torch.from_numpy(graph["x"]), edge_index=torch.from_numpy(graph["edge_index"].copy()))
    # What a data set for classes of nodes has, too.
    data.y, data.train_mask = torch.zeros(30, dtype=torch.long), torch.ones(30, dtype=torch.bool)
    parts = RandomLinkSplit(num_val=0.1, num_test=0.2, is_undirected=True)(data)
    model = train(parts[0], valid=parts[1], test=parts[2], run_dir=tmp_path / "run")
    assert model.level == "pair" and model.kind == "binary"
    assert [len(one) for one in model.predict(list(parts))] == [len(part.edge_label) for part in parts]
    pairs, values = model.likeliest_pairs(data, 3)
    np.testing.assert_array_equal(model.predict_pairs(data, torch.from_numpy(pairs)), values)


def test_a_number_of_nodes_is_not_guessed(tmp_path):
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data

    graphs = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1.0]))]
    with pytest.raises(gmn.UsageError, match="never guessed from the edges"):
        train(graphs)
    graphs[0].num_nodes = 3
    from graphminnet import _pyg

    assert _pyg.from_pyg(graphs).nodes.tolist() == [3]
