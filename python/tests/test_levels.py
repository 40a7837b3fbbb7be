"""Targets of edges and of pairs of nodes: from files, arrays, PyG-like objects and NetworkX."""

import csv
import io
import json
import subprocess

import numpy as np
import pytest
from conftest import command, train

import graphminnet as gmn


class Data:
    """An object with the fields of a graph."""

    def __init__(self, **fields):
        self.__dict__ |= fields


def city(nodes=40, seed=0):
    """A graph whose edges are listed once, with a number each that follows from its ends."""
    rng = np.random.default_rng(seed)
    place = rng.normal(size=(nodes, 2)).astype(np.float32)
    ends = np.array([(a, b) for a in range(nodes) for b in range(a + 1, nodes) if rng.random() < 0.12]).T
    km = np.linalg.norm(place[ends[0]] - place[ends[1]], axis=1).astype(float)
    return place, ends, km


def linked(nodes=30, seed=0):
    """A graph with both directions of its edges, and pairs of which half are links that were hidden."""
    rng = np.random.default_rng(seed)
    side = np.arange(nodes) % 2
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    links = [pair for pair in pairs if side[pair[0]] == side[pair[1]]]
    others = [pair for pair in pairs if side[pair[0]] != side[pair[1]]]
    links = [links[at] for at in rng.permutation(len(links))]
    others = [others[at] for at in rng.permutation(len(others))]
    edges = np.array(links[60:120])
    asked = np.array(links[:30] + others[:30])
    return {
        "x": np.stack([side, 1 - side], 1).astype(np.float32),
        "edge_index": np.concatenate([edges.T, edges.T[::-1]], axis=1),
        "edge_label_index": asked.T,
        "edge_label": np.r_[np.ones(30), np.zeros(30)],
    }


def predicted(model, path, *words):
    """The rows that the command writes."""
    model.save("model.gmn")
    line = [*command(), "predict", "--model", "model.gmn", "--data", path, *words]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_targets_of_edges_from_arrays_are_those_of_the_same_file_to_the_bit(tmp_path):
    place, ends, km = city()
    both = np.concatenate([ends, ends[::-1]], axis=1)
    arrays = {"x": place, "edge_index": both, "y": np.r_[km, km]}
    line = {
        "num_nodes": 40, "edges": both.T.tolist(), "node_features": place.astype(float).tolist(), "edge_target": [*km, *km]
    }  # fmt: skip
    (tmp_path / "city.jsonl").write_text(json.dumps(line) + "\n")
    theirs = train("city.jsonl", level="edge", run_dir="file", name="city")
    for given, folder in [(arrays, "arrays"), (Data(**arrays), "object")]:
        ours = train(given, level="edge", run_dir=folder, name="city")
        assert ours.level == "edge" and "numbers per edge" in repr(ours)
        assert ours.to_bytes()[0] != b"" and ours.run.summary["seeds"][0]["best_weights_sha256"] == (
            theirs.run.summary["seeds"][0]["best_weights_sha256"]
        )
        (values,) = ours.predict(given)
        assert values.shape == (both.shape[1],)
    said = [np.float32(row["pred_target"]) for row in predicted(theirs, "city.jsonl")]
    np.testing.assert_array_equal(values.astype(np.float32), said)
    with pytest.raises(gmn.DataError, match=r"`y`: `1 rows`|expected `?\d+ rows"):
        train(arrays | {"y": [1.0]}, level="edge")


def test_an_undirected_edge_of_networkx_has_one_label_and_one_prediction(tmp_path):
    nx = pytest.importorskip("networkx")
    place, ends, km = city()
    graph = nx.Graph()
    graph.add_nodes_from((at, {"a": float(x), "b": float(y)}) for at, (x, y) in enumerate(place))
    graph.add_edges_from((int(a), int(b), {"km": float(one)}) for a, b, one in zip(*ends, km))
    model = train(graph, "km", level="edge", run_dir="run")
    assert model.description["edges"] == "both_ways"
    assert model.description["schema"]["edge_columns"] == []
    (values,) = model.predict(graph)
    assert values.shape == (graph.number_of_edges(),)
    # Listed once, they are the same in arrays.
    order = np.array(list(graph.edges)).T
    (again,) = model.predict({"x": place.astype(float), "edge_index": order})
    np.testing.assert_array_equal(again, values)
    with pytest.raises(gmn.DataError, match="listed in both directions"):
        model.predict({"x": place, "edge_index": np.concatenate([order, order[::-1]], axis=1)})
    with pytest.raises(gmn.UsageError, match="graphs of one kind"):
        train([graph, graph.to_directed()], "km", level="edge")


def test_edges_that_are_read_both_ways_are_listed_once(tmp_path):
    """An undirected graph of NetworkX lists both directions itself, unless the reader does."""
    nx = pytest.importorskip("networkx")
    rings = [nx.cycle_graph(n) for n in range(4, 24)]
    for ring in rings:
        ring.graph["size"] = float(len(ring))
        nx.set_node_attributes(ring, {node: float(node % 3) for node in ring}, "value")
    plain = train(rings, "size", run_dir="plain", name="rings")
    both = train(rings, "size", read={"edges": "both_ways"}, run_dir="both", name="rings")
    np.testing.assert_allclose(both.predict(rings), plain.predict(rings), rtol=1e-3, atol=1e-3)


def test_pairs_are_those_of_the_same_file_to_the_bit(tmp_path):
    graph = linked()
    line = {"num_nodes": 30, "edges": graph["edge_index"].T.tolist(), "node_features": graph["x"].astype(float).tolist()}
    line |= {"pairs": graph["edge_label_index"].T.tolist(), "pair_target": graph["edge_label"].astype(int).tolist()}
    (tmp_path / "links.jsonl").write_text(json.dumps(line) + "\n")
    theirs = train("links.jsonl", run_dir="file", name="links")
    ours = train(graph, run_dir="arrays", name="links")
    assert ours.level == "pair" and ours.kind == "binary"
    hashes = [model.run.summary["seeds"][0]["best_weights_sha256"] for model in (theirs, ours)]
    assert hashes[0] == hashes[1]
    (values,) = ours.predict(graph)
    said = [float(row["pred_target"]) for row in predicted(theirs, "links.jsonl")]
    np.testing.assert_array_equal(values, said)
    # The same as asked about one by one; the pairs of the graph play no role.
    plain = {name: value for name, value in graph.items() if not name.startswith("edge_label")}
    np.testing.assert_array_equal(ours.predict_pairs(plain, graph["edge_label_index"].T), values)
    np.testing.assert_array_equal(ours.predict_pairs(Data(**graph), graph["edge_label_index"].T[:3]), values[:3])
    with pytest.raises(gmn.UsageError, match="predict_pairs asks about any"):
        ours.predict(plain)


def test_the_likeliest_pairs_are_those_of_the_command(tmp_path):
    graph = linked()
    model = train(graph, run_dir="run", epochs=5)
    pairs, values = model.likeliest_pairs(graph, 5)
    assert pairs.shape == (5, 2) and values.shape == (5,) and (np.diff(values) <= 0).all()
    np.testing.assert_array_equal(model.predict_pairs(graph, pairs), values)
    line = {"num_nodes": 30, "edges": graph["edge_index"].T.tolist(), "node_features": graph["x"].astype(float).tolist()}
    (tmp_path / "plain.jsonl").write_text(json.dumps(line | {"pairs": []}) + "\n")
    rows = predicted(model, "plain.jsonl", "--top", "5")
    assert [[int(row["source"]), int(row["destination"])] for row in rows] == pairs.tolist()
    edges = {tuple(ends) for ends in graph["edge_index"].T.tolist()}
    assert not edges & {tuple(pair) for pair in pairs.tolist()}


def test_graphs_with_pairs_of_their_own_are_parts(tmp_path):
    """As PyTorch Geometric splits links: a graph for each part."""
    parts = [Data(**linked(seed=seed)) for seed in range(3)]
    model = train(parts[0], valid=parts[1], test=parts[2], run_dir="run")
    assert [model.description["data"][part] for part in ("train", "valid", "test")] == [1, 1, 1]
    values = model.predict(parts)
    assert [len(one) for one in values] == [60, 60, 60]
    # Parts of the pairs of one graph.
    words = np.array(["train", "valid", "test", None], dtype=object)[np.arange(60) % 4]
    model = train(linked(), split=words, run_dir="one")
    card = json.loads((tmp_path / "one/data.json").read_text())
    assert [card[part] for part in ("train", "valid", "test")] == [15, 15, 15]
    with pytest.raises(gmn.UsageError, match="the parts of 2 pairs, there are 60"):
        train(linked(), split=["train", "valid"])


def test_a_batch_has_the_pairs_of_its_graphs(tmp_path):
    graphs = [linked(seed=seed) for seed in range(2)]
    batch = {
        "ptr": [0, 30, 60],
        "x": np.concatenate([graph["x"] for graph in graphs]),
        **{
            name: np.concatenate([graph[name] + 30 * at for at, graph in enumerate(graphs)], axis=1)
            for name in ("edge_index", "edge_label_index")
        },
        "edge_label": np.concatenate([graph["edge_label"] for graph in graphs]),
    }
    model = train(batch, split=["train", "valid"], run_dir="run")
    values = model.predict(batch)
    expected = model.predict([Data(**graph) for graph in graphs])
    for one, other in zip(values, expected):
        np.testing.assert_array_equal(one, other)


def test_what_cannot_be_asked_about_pairs_is_refused(model):
    graph = linked()
    links = train(graph, run_dir="run", epochs=1)
    with pytest.raises(gmn.Error, match="30"):
        links.predict_pairs(graph, [[0, 30]])
    with pytest.raises(gmn.UsageError, match="-1 is no number of a node"):
        links.predict_pairs(graph, [[0, -1]])
    with pytest.raises(gmn.UsageError, match=r"pairs of shape \[2\]"):
        links.predict_pairs(graph, [0, 1])
    with pytest.raises(gmn.UsageError, match="2 graphs were given"):
        links.predict_pairs([Data(**graph)] * 2, [[0, 1]])
    with pytest.raises(gmn.Error, match="not for pairs of nodes"):
        model.predict_pairs("CCO", [[0, 1]])
    with pytest.raises(gmn.UsageError, match="needs `edge_label_index`"):
        train({"x": graph["x"], "edge_index": graph["edge_index"], "y": [1.0]}, level="pair")
    with pytest.raises(gmn.UsageError, match="give them as `edge_label`"):
        train({name: value for name, value in graph.items() if name != "edge_label"})
    with pytest.raises(gmn.DataError, match="graph 0: `edge_label` has 59 rows, expected 60"):
        train([Data(**graph | {"edge_label": graph["edge_label"][1:]})])
    with pytest.raises(gmn.Error, match="only predictions for graphs and for nodes"):
        links.explain(graph)
