"""Nothing is taken for something else without a word."""

import pickle

import numpy as np
import pytest
from conftest import sizes, train
from test_inputs import Data, rings

import graphminnet as gmn
from graphminnet import _progress, _pyg, _tables
from graphminnet._inputs import is_path

ENDS = np.array([[0, 1], [1, 0]])


def test_every_file_of_the_command_is_a_path():
    assert all(map(is_path, ["a.parquet", "b.PQ", "c.xlsx", "d.ndjson", "e.mol"]))


def test_a_column_that_begins_with_a_gap_is_still_one_of_molecules(model):
    pandas = pytest.importorskip("pandas")
    for gap in (None, float("nan"), pandas.NA):
        values = model.predict(pandas.Series([gap, "CCO"], dtype=object))
        assert np.isnan(values).tolist() == [True, False]
    assert "must not be empty" in model.reasons[0]


def test_molecules_of_several_kinds_are_refused(model):
    Chem = pytest.importorskip("rdkit.Chem")
    ethanol = Chem.MolFromSmiles("CCO")
    for mixed in (["CCO", ethanol], [ethanol, "CCO"], ["CCO", 3]):
        with pytest.raises(gmn.UsageError, match="in one list"):
            model.predict(mixed)


def test_a_frame_without_the_column_of_molecules_is_refused(model, smiles):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["a"] * 60, "structure": smiles})
    with pytest.raises(gmn.DataError, match="the columns name, structure, expected a column called `smiles`"):
        model.predict(frame)
    twice = pandas.concat([frame[["structure"]]] * 2, axis=1).set_axis(["smiles", "smiles"], axis=1)
    with pytest.raises(gmn.DataError, match="2 columns are called `smiles`"):
        model.predict(twice)
    # There is no doubt about a single one.
    np.testing.assert_array_equal(model.predict(frame[["structure"]]), model.predict(smiles))


def test_hydrogens_of_an_rdkit_molecule_do_not_mix_up_its_atoms(model, smiles):
    Chem = pytest.importorskip("rdkit.Chem")
    molecule = Chem.MolFromSmiles("OC(C)CCCl")
    full = Chem.AddHs(molecule)
    # Hydrogens first, so that the numbers of the other atoms move.
    count = full.GetNumAtoms()
    moved = Chem.RenumberAtoms(full, list(range(count))[::-1])
    plain, other = model.embed(molecule, level="node")[0], model.embed(moved, level="node")[0]
    heavy = [atom.GetIdx() for atom in moved.GetAtoms() if atom.GetAtomicNum() != 1]
    assert len(other) == len(heavy) == 6
    # The atoms of the reversed molecule, in its own order, are those of the plain one backwards.
    np.testing.assert_allclose(other, plain[::-1], rtol=1e-4, atol=1e-5)
    with_hydrogens = train(smiles, sizes(smiles), read={"add_hydrogens": True}, run_dir="run")
    order = [int(at) for at in Chem.MolToSmiles(molecule) and molecule.GetProp("_smilesAtomOutputOrder").strip("[],").split(",")]
    nodes = with_hydrogens.embed(molecule, level="node")[0]
    written = with_hydrogens.embed(Chem.MolToSmiles(molecule), level="node")[0]
    assert len(nodes) == count
    np.testing.assert_array_equal(nodes[order], written[:6])
    fragment = train(smiles, sizes(smiles), read={"largest_fragment": True}, run_dir="fragment")
    salt = Chem.MolFromSmiles("CCCN.OS(=O)(=O)O")
    assert np.isfinite(fragment.predict([salt])).all()
    with pytest.raises(gmn.DataError, match="give SMILES"):
        fragment.embed(salt, level="node")


def test_rows_that_belong_to_other_graphs_are_noticed():
    graphs, _ = rings(3)
    first, second = graphs[0]["edge_attr"], graphs[1]["edge_attr"]
    shifted = [Data(**graphs[0] | {"edge_attr": first[1:]}), Data(**graphs[1] | {"edge_attr": np.r_[second, first[:1]]})]
    with pytest.raises(gmn.DataError, match="graph 0: `edge_attr` has"):
        _pyg.from_pyg(shifted)
    masked = [Data(**graph | {"train_mask": np.ones(4, bool)}) for graph in graphs]
    with pytest.raises(gmn.DataError, match="`train_mask` has 4 rows, expected"):
        _pyg.from_pyg(masked)


def test_a_batch_among_graphs_is_not_one_large_graph():
    graphs, target = rings(2)
    whole = {name: np.concatenate([graph[name] for graph in graphs], axis=int(name == "edge_index")) for name in graphs[0]}
    batch = Data(**whole, ptr=[0, len(graphs[0]["x"]), len(whole["x"])])
    with pytest.raises(gmn.UsageError, match="a batch .Data with `ptr`. in a list of graphs"):
        train([batch, batch], target)
    with pytest.raises(gmn.UsageError, match="the parts of a mapping of arrays are named by split="):
        train(whole | {"y": target}, valid=whole | {"y": target})


def test_a_graph_without_edges_of_its_own_is_refused():
    with pytest.raises(gmn.DataError, match="graph 0: `edge_index` is missing"):
        _pyg.from_pyg([Data(edge_index=None, x=np.ones((2, 1)))])
    with pytest.raises(gmn.DataError, match="graph 1: `edge_index` is missing; other graphs have it"):
        _pyg.from_pyg([Data(edge_index=ENDS, x=np.ones((2, 1))), Data(edge_index=None, x=np.ones((2, 1)))])
    with pytest.raises(gmn.DataError, match=r"graph 1: `edge_index` has shape \[3, 1\], expected \[2, edges\]"):
        _pyg.from_pyg([Data(edge_index=ends, x=np.ones((2, 1))) for ends in (ENDS, np.zeros((3, 1), int))])
    with pytest.raises(gmn.DataError, match="`ptr` of shape"):
        _tables.from_arrays({"edge_index": ENDS, "ptr": [1, 2]})


def test_targets_of_graphs_are_told_from_those_of_nodes_by_the_level():
    graphs = [Data(edge_index=ENDS, x=np.ones((2, 1)), y=np.array([1.0, 2.0])) for _ in range(3)]
    assert _pyg.from_pyg(graphs).targets[0].cells.shape == (6, 1)
    assert _pyg.from_pyg(graphs, "graph").targets[0].cells.shape == (3, 2)
    with pytest.raises(gmn.DataError, match="graph 0: `y` has 1 row, expected 2, one per node"):
        _pyg.from_pyg([Data(edge_index=ENDS, x=np.ones((2, 1)), y=np.array([1.0]))], "node")


def test_labels_play_no_role_in_a_prediction(model):
    graphs, target = rings()
    ring_model = train([Data(**graph, y=y) for graph, y in zip(graphs, target)], run_dir="run")
    expected = ring_model.predict([Data(**graph) for graph in graphs[:3]])
    odd = [Data(**graph, y=np.ones((at + 2, 3)), train_mask=np.ones(1)) for at, graph in enumerate(graphs[:3])]
    np.testing.assert_array_equal(ring_model.predict(odd), expected)


def test_cells_that_are_neither_numbers_nor_text_are_refused():
    for values, text in [
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), "datetime64"),
        (np.array([b"a"]), "type |S1"),
        (np.ones((2, 2, 2)), r"shape \[2, 2, 2\]"),
        (5.0, r"shape \[\]"),
        (np.array([[1], [1, 2]], dtype=object), "holds list"),
    ]:
        with pytest.raises(gmn.DataError, match=text.replace("|", r"\|")):
            _tables.as_columns(values)
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {node: [0.5, 1.5] for node in graph}, "pos")
    graph.graph["y"] = 1.0
    with pytest.raises(gmn.DataError, match="`pos` holds list: expected a number or text"):
        train([graph], "y")


def test_integers_too_large_to_have_a_sign_do_not_become_negative():
    tables = _tables.from_arrays({"edge_index": ENDS, "x": np.array([[1], [2**63 + 5]], dtype=np.uint64)})
    request, arrays = tables.request("graphs")
    (at,) = request["tables"]["node_columns"][0]["cells"].values()
    assert arrays[at].tolist() == [[1.0], [float(2**63)]]


def test_too_few_names_of_classes_are_too_few_targets():
    with pytest.raises(gmn.UsageError, match="2 targets for 3 molecules"):
        train(["C", "CC", "CCC"], ["a", "b"])


def test_what_makes_a_result_worth_little_is_a_warning_where_nothing_else_is_shown(smiles):
    words = ["train"] * 50 + ["valid"] * 10
    with pytest.warns(UserWarning, match="there is no test part"):
        train(smiles, sizes(smiles), split=words, run_dir="a", progress=None)


def test_a_pickled_model_knows_its_run(model):
    other = pickle.loads(pickle.dumps(model))
    assert other.run.path.samefile(model.run.path) and len(other.history) == len(model.history)


def test_the_bar_of_a_second_seed_begins_anew_and_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    bar = _progress.Terminal()
    for seed in (0, 1):
        bar({"event": "seed", "seed": seed, "parameters": 5, "epochs": 1, "steps": 1})
        assert bar.began is None and bar.last == ""
        bar({"event": "step", "epoch": 0, "step": 1, "steps": 1})
        bar({"event": "epoch", "epoch": 0, "epochs": 1, "loss": 0.5, "valid": 0.25, "test": None, "improved": True})
    bar.close()
    said = capsys.readouterr().err
    assert "1 epoch of 1 step" in said
    assert max(len(line) for line in said.replace("\n", "\r").split("\r") if "|" in line) <= 40


def test_words_for_one_thing_are_singular():
    graph = {"edge_index": np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), "x": np.eye(4), "y": [0, 1, 0, 1]}
    words = ["train", "train", "valid", "test"]
    told = []

    class Listener(_progress.Lines):
        def say(self, text):
            told.append(text)

    chosen, _progress.chosen = _progress.chosen, lambda _: Listener()
    try:
        model = train(graph, split=words, run_dir="run", epochs=1, progress=True)
    finally:
        _progress.chosen = chosen
    assert any("1 graph, nodes: 2 to train, 1 to validate, 1 to test" in text for text in told), told
    assert "1 graph of" in repr(model) and "1 layer of width" in model._repr_html_()
