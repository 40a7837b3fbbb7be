"""Every kind of input, with the real packages; the same graphs give the same numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, sizes, train

import graphminnet as gmn
from graphminnet import _pyg, _tables


def rings(count=30, seed=0):
    """Rings of 4 to 9 nodes with two numbers and a category each; the target is the sum of the numbers."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        n = int(rng.integers(4, 10))
        around = np.stack([np.arange(n), (np.arange(n) + 1) % n])
        ends = np.concatenate([around, around[::-1]], axis=1)
        found.append({
            "x": rng.normal(size=(n, 2)).astype(np.float32),
            "edge_index": ends,
            "edge_attr": rng.integers(0, 3, size=(n, 1))[np.r_[0:n, 0:n]],
        })  # fmt: skip
    return found, np.array([ring["x"].sum() for ring in found])


class Data:
    """An object with the fields of a graph."""

    def __init__(self, **fields):
        self.__dict__ |= fields


def batch(graphs):
    ptr = np.cumsum([0, *(len(graph["x"]) for graph in graphs)])
    ends = np.concatenate([graph["edge_index"] + start for graph, start in zip(graphs, ptr)], axis=1)
    return {
        "ptr": ptr,
        "edge_index": ends,
        "x": np.concatenate([graph["x"] for graph in graphs]),
        "edge_attr": np.concatenate([graph["edge_attr"] for graph in graphs]),
    }


def networkx_graphs(graphs, target):
    import networkx as nx

    found = []
    for graph, y in zip(graphs, target):
        one = nx.Graph(y=float(y))
        one.add_nodes_from((at, {"a": float(x[0]), "b": float(x[1])}) for at, x in enumerate(graph["x"]))
        n = len(graph["x"])
        kinds = ["single", "double", "triple"]
        one.add_edges_from(
            (int(graph["edge_index"][0, at]), int(graph["edge_index"][1, at]), {"kind": kinds[graph["edge_attr"][at, 0]]})
            for at in range(n)
        )
        found.append(one)
    return found


@pytest.fixture(scope="module")
def ring_model(tmp_path_factory):
    graphs, target = rings()
    return train(batch(graphs), target, run_dir=tmp_path_factory.mktemp("rings") / "run")


def test_frames_of_pandas_and_polars_and_their_columns(model, smiles):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = model.predict(smiles)
    for frame in [pandas.DataFrame({"name": smiles, "SMILES": smiles}), polars.DataFrame({"smiles": smiles})]:
        np.testing.assert_array_equal(model.predict(frame), expected)
    for series in [pandas.Series(smiles, index=range(5, 65)), polars.Series(smiles), np.array(smiles), tuple(smiles)]:
        np.testing.assert_array_equal(model.predict(series), expected)


def test_a_frame_trains_to_the_bits_of_its_file(table, smiles):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    whole = train(table, "size", run_dir="a", name="same")
    for at, frame in enumerate([pandas.read_csv(table), polars.read_csv(table)]):
        other = train(frame, "size", run_dir=f"b{at}", name="same")
        np.testing.assert_array_equal(other.predict(smiles), whole.predict(smiles))
    listed = train(smiles, sizes(smiles), run_dir="c", name="same")
    np.testing.assert_array_equal(listed.predict(smiles), whole.predict(smiles))


def test_parts_are_named_by_lists_positions_or_sets_of_their_own(smiles):
    pandas = pytest.importorskip("pandas")
    target = sizes(smiles)
    words = ["train"] * 40 + ["valid"] * 12 + ["test"] * 8
    by_word = train(smiles, target, split=words, run_dir="a")
    positions = {"train": range(40), "valid": range(40, 52), "test": range(52, 60)}
    frame = pandas.DataFrame({"smiles": smiles, "target": target})
    others = [
        train(smiles, target, split=positions, run_dir="b"),
        train(smiles[:40], target, valid=smiles[40:52], test=smiles[52:], run_dir="c"),
        train(frame[:40], "target", valid=frame[40:52], test=frame[52:], run_dir="d"),
        train(frame.assign(split=words), "target", run_dir="e"),
    ]
    assert by_word.description["data"]["train"] == 40
    for other in others:
        assert other.to_bytes() == by_word.to_bytes()
    with pytest.raises(gmn.UsageError, match="graph 0 is in part 'training set'"):
        train(smiles, target, split=["training set"] * 60)
    with pytest.raises(gmn.UsageError, match="the parts of 2 graphs, there are 60"):
        train(smiles, target, split=["train", "valid"])
    with pytest.raises(gmn.UsageError, match="expected auto, official"):
        train(smiles, target, split="by magic")


def test_rdkit_molecules_keep_the_order_of_their_atoms(model):
    Chem = pytest.importorskip("rdkit.Chem")
    # RDKit writes this with the other end first.
    molecule = Chem.MolFromSmiles("OC(C)CCCl")
    written = Chem.MolToSmiles(molecule)
    order = [int(at) for at in molecule.GetProp("_smilesAtomOutputOrder").strip("[],").split(",")]
    assert order != sorted(order)
    assert model.predict([molecule])[0] == model.predict([written])[0] == model.predict(molecule)[0]
    np.testing.assert_array_equal(
        model.embed(molecule, level="node")[0][order], model.embed(written, level="node")[0]
    )
    ours, theirs = model.explain(molecule), model.explain(written)
    np.testing.assert_array_equal(ours.nodes[order], theirs.nodes)
    bonds = {tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()}
    assert {tuple(sorted(ends)) for ends in ours.edge_index.T.tolist()} == bonds
    assert np.isnan(model.predict([molecule, None])).tolist() == [False, True]


def test_a_batch_a_list_and_single_graphs_give_the_same(ring_model):
    graphs, _ = rings(seed=1)
    expected = ring_model.predict(batch(graphs))
    objects = [Data(**graph) for graph in graphs]
    np.testing.assert_array_equal(ring_model.predict(objects), expected)
    np.testing.assert_array_equal([ring_model.predict(one)[0] for one in objects], expected)
    np.testing.assert_array_equal([ring_model.predict(graph)[0] for graph in graphs], expected)


def test_a_batch_whose_edges_are_in_any_order_gives_the_same(ring_model):
    graphs, _ = rings(seed=1)
    whole = batch(graphs)
    order = np.random.default_rng(0).permutation(whole["edge_index"].shape[1])
    mixed = whole | {"edge_index": whole["edge_index"][:, order], "edge_attr": whole["edge_attr"][order]}
    np.testing.assert_allclose(ring_model.predict(mixed), ring_model.predict(whole), rtol=1e-4, atol=1e-5)


def test_a_graph_that_does_not_fit_is_nan_with_a_reason(ring_model):
    graphs, _ = rings(3)
    graphs[1]["edge_attr"] = graphs[1]["edge_attr"] + 5
    graphs[2]["edge_index"] = graphs[2]["edge_index"] + 1
    values = ring_model.predict([Data(**graph) for graph in graphs])
    assert np.isnan(values).tolist() == [False, True, True]
    assert "graph 1, column `edge_feature_0`" in ring_model.reasons[1]
    assert "graph 2, column `edge_index`" in ring_model.reasons[2]


def test_what_is_no_graph_is_refused(ring_model, model):
    with pytest.raises(gmn.UsageError, match="graphs cannot be made of int"):
        ring_model.predict([1, 2])
    with pytest.raises(gmn.UsageError, match="needs `edge_index`"):
        ring_model.predict({"x": np.ones((3, 2))})
    with pytest.raises(gmn.UsageError, match="arrays edges"):
        ring_model.predict({"edge_index": np.zeros((2, 0)), "edges": 1})
    with pytest.raises(gmn.DataError, match=r"shape \[3\], expected \[2, edges\]"):
        ring_model.predict({"edge_index": np.zeros(3)})
    with pytest.raises(gmn.DataError, match="is no node"):
        ring_model.predict(batch(rings(2)[0]) | {"ptr": [0, 4]})
    with pytest.raises(gmn.UsageError, match="num_nodes"):
        ring_model.predict([Data(edge_index=np.zeros((2, 0), int))])
    with pytest.raises(gmn.DataError, match="SMILES cannot be read"):
        ring_model.predict(["CCO"])
    with pytest.raises(gmn.DataError, match="is missing"):
        ring_model.predict([Data(edge_index=np.zeros((2, 0), int), num_nodes=2)])
    with pytest.raises(gmn.UsageError, match="have no targets"):
        train(batch(rings(2)[0]))
    with pytest.raises(gmn.UsageError, match="SMILES alone have no targets"):
        train(["CCO"])
    with pytest.raises(gmn.UsageError, match="1 targets for 2 molecules"):
        train(["CCO", "CC"], [1.0])


def test_networkx_attributes_are_columns_by_name(tmp_path):
    pytest.importorskip("networkx")
    graphs, target = rings()
    given = networkx_graphs(graphs, target)
    model = train(given, "y", run_dir=tmp_path / "run")
    schema = model.description["schema"]
    assert [column["name"] for column in schema["node_columns"]] == ["a", "b"]
    assert schema["edge_columns"][0]["kind"]["category"]["names"] == ["double", "single", "triple"]
    assert schema["targets"] == ["y"]
    # An undirected edge is both directions.
    for graph in given:
        graph.graph.clear()
    values = model.predict(given)
    assert np.isfinite(values).all() and len(values) == 30
    directed = [graph.to_directed() for graph in given]
    np.testing.assert_allclose(model.predict(directed), values, rtol=1e-4, atol=1e-5)
    del given[3].nodes[0]["a"]
    with pytest.raises(gmn.DataError, match="has no attribute `a`"):
        model.predict(given)
    with pytest.raises(gmn.UsageError, match="no graph has an attribute `z`"):
        train(directed, "z")


def test_targets_of_nodes(tmp_path):
    graphs, _ = rings()
    y = np.concatenate([graph["x"][:, 0] > 0 for graph in graphs]).astype(int)
    model = train(batch(graphs) | {"y": y}, run_dir=tmp_path / "run")
    assert model.level == "node" and model.kind == "binary"
    values = model.predict(batch(graphs))
    assert [len(one) for one in values] == [len(graph["x"]) for graph in graphs]
    assert model.explain(graphs[0], node=2).node == 2


def one_graph(nodes=90):
    """A ring whose nodes have a class each, with masks of three parts and some nodes in none."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(nodes, 3)).astype(np.float32)
    around = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
    part = np.arange(nodes) % 4
    return {
        "x": x,
        "edge_index": np.concatenate([around, around[::-1]], axis=1),
        "y": (x[:, 0] > 0).astype(int) + (x[:, 0] > 1),
        "train_mask": part == 0,
        "val_mask": part == 1,
        "test_mask": part == 2,
    }


def test_masks_are_the_parts_of_nodes_as_in_a_file_to_the_bit(tmp_path):
    graph = one_graph()
    line = {"num_nodes": 90, "edges": graph["edge_index"].T.tolist(), "node_features": graph["x"].astype(float).tolist()}
    line |= {"target": graph["y"].tolist()} | {name: graph[name].tolist() for name in ("train_mask", "val_mask", "test_mask")}
    file = tmp_path / "ring.jsonl"
    file.write_text(json.dumps(line) + "\n")
    expected = train(file, level="node", run_dir="file", name="ring")
    about = expected.run.summary["seeds"][0]
    several = {name: np.stack([~graph[name] & (graph["y"] < 0), graph[name]], 1) for name in line if name.endswith("_mask")}
    positions = {part: np.flatnonzero(graph[f"{part}_mask"]) for part in ("train", "val", "test")}
    words = np.array(["train", "valid", "test", None], dtype=object)[np.arange(90) % 4]
    plain = {name: value for name, value in graph.items() if not name.endswith("_mask")}
    for name, given, more in [
        ("masks", graph, {}),
        ("object", Data(**graph), {}),
        ("column", graph | several, {"read": {"split_column": 1}}),
        ("positions", plain, {"split": positions}),
        ("words", plain, {"split": words}),
        ("instead", graph | {"train_mask": graph["test_mask"], "test_mask": graph["train_mask"]}, {"split": words}),
    ]:
        model = train(given, run_dir=name, name="ring", **more)
        assert model.kind == "classes" and model.level == "node"
        assert model.run.summary["seeds"][0]["best_weights_sha256"] == about["best_weights_sha256"], name
        assert json.loads(Path(name, "splits.json").read_text()) == json.loads(Path("file/splits.json").read_text())
    (values,) = model.predict(graph)
    assert values.shape == (90, 3)


def test_masks_that_make_no_sense_are_refused():
    graph = one_graph()
    with pytest.raises(gmn.DataError, match="`test_mask`: node 0 is in two parts"):
        train(graph | {"test_mask": graph["train_mask"]})
    with pytest.raises(gmn.DataError, match=r"`val_mask` has shape \[89\], expected \[90\]"):
        train(graph | {"val_mask": graph["val_mask"][1:]})
    with pytest.raises(gmn.DataError, match="`val_mask` holds 7"):
        train(graph | {"val_mask": graph["val_mask"] * 7})
    with pytest.raises(gmn.DataError, match="has 2 columns, one per split: there is no column 2"):
        train(graph | {"train_mask": np.stack([graph["train_mask"]] * 2, 1)}, read={"split_column": 2})
    with pytest.raises(gmn.UsageError, match="node 90, there are 90"):
        train(graph, split={"train": [0, 90]})
    with pytest.raises(gmn.UsageError, match="node 1 is in the parts 'train' and 'test'"):
        train(graph, split={"train": [0, 1], "test": [1]})
    with pytest.raises(gmn.UsageError, match="names the parts of 3 nodes, there are 90"):
        train(graph, split=["train", "valid", "test"])


def test_numbers_that_are_none_are_refused():
    ends = np.array([[0, 1], [1, 0]])
    with pytest.raises(gmn.DataError, match="`edge_index` holds 0.5: expected whole numbers"):
        train({"edge_index": ends + [[0.5], [0]], "x": np.ones((2, 1)), "y": [1.0]})
    with pytest.raises(gmn.DataError, match="`edge_index` holds object"):
        train({"edge_index": ends.astype(object), "x": np.ones((2, 1)), "y": [1.0]})
    with pytest.raises(gmn.DataError, match="complex numbers"):
        train({"edge_index": ends, "x": np.ones((2, 1)) * 1j, "y": [1.0]})
    with pytest.raises(gmn.UsageError, match="negative number of nodes"):
        train({"edge_index": ends, "ptr": [0, 3, 2], "y": [1.0, 2.0]})
    with pytest.raises(gmn.DataError, match=r"graph 1: `x` has shape \[2, 3\], in graph 0 it has \[2, 1\]"):
        train([Data(edge_index=ends, x=np.ones((2, width)), y=1.0) for width in (1, 3)])
    listed = Data(edge_index=ends.tolist(), x=[[1.0], [2.0]])
    assert _pyg.from_pyg([listed, listed]).nodes.tolist() == [2, 2]
    whole = _tables.from_arrays({"edge_index": ends.astype(float), "num_nodes": 2})
    assert whole.edge_index.dtype == np.int64


def test_text_that_is_neither_a_file_nor_a_data_set_is_refused():
    for text in ["CCO", "molecules", "MUTAG"]:
        with pytest.raises(gmn.UsageError, match="no file or folder, and no name of a data set"):
            train(text, [1.0])


def test_networkx_targets_of_nodes(tmp_path):
    pytest.importorskip("networkx")
    graphs, target = rings()
    given = networkx_graphs(graphs, target)
    for graph in given:
        for node in graph:
            graph.nodes[node]["side"] = "left" if graph.nodes[node]["a"] < 0 else "right"
    model = train(given, "side", level="node", run_dir=tmp_path / "run")
    assert model.level == "node" and model.classes == ["left", "right"]
    assert "side" not in [column["name"] for column in model.description["schema"]["node_columns"]]
    assert set(model.predict_class(given)[0]) <= {"left", "right"}


def test_a_path_is_told_from_smiles_by_its_end():
    from graphminnet._inputs import is_path

    assert all(map(is_path, ["a.csv", "b/c.JSONL", "d.csv.gz", "e.g6.zst", Path("folder")]))
    assert not any(map(is_path, ["CCO", "C", "[Na+].[Cl-]", ["a.csv"]]))


def test_columns_of_numbers_and_text_are_told_apart():
    kinds = [some.cells for some in _tables.as_columns(np.array([["a", 1], [None, 2]], dtype=object))]
    assert kinds[0] == ["a", None]
    assert kinds[1].dtype == np.int64 and kinds[1].tolist() == [[1], [2]]
    gap = _tables.as_columns(np.array([1, None], dtype=object))[0].cells
    assert gap.dtype == np.float64 and np.isnan(gap[1, 0])


def test_settings_and_reading_are_those_of_the_command(table, tmp_path):
    model = train(table, "size", settings=SMALL | {"model.local": "gine", "train.clip_norm": 0.5}, run_dir="run")
    assert model.description["model"]["local"] == "gine"
    assert model.run.config["train"]["clip_norm"] == 0.5
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("smiles,size", "mol,size") + "C1CC,3\n")
    model = train(other, "size", read={"smiles_column": "mol", "on_bad_row": "skip"}, run_dir="skipped")
    assert sum(model.description["data"][part] for part in ("train", "valid", "test")) == 60
