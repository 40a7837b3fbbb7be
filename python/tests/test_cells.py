"""Cells and columns of data in memory: gaps, masks, odd cells, names, and the kinds of tables that have them."""

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import sizes, train
from test_inputs import Data, rings

import graphminnet as gmn
from graphminnet import _tables

ENDS = np.array([[0, 1], [1, 0]])


@pytest.fixture(scope="module")
def networks():
    """Paths with a number at every node and edge."""
    nx = pytest.importorskip("networkx")
    graphs = [nx.path_graph(at % 5 + 3) for at in range(40)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: node + 0.5 for node in graph}, "v")
        nx.set_edge_attributes(graph, 0.5, "length")
        graph.graph["y"] = float(len(graph))
    return graphs


@pytest.fixture(scope="module")
def network_model(networks, tmp_path_factory):
    return train(networks, "y", run_dir=tmp_path_factory.mktemp("networks") / "run")


def test_a_bad_cell_is_the_fault_of_its_graph_alone(networks, network_model):
    expected = network_model.predict(networks)
    graphs = [graph.copy() for graph in networks]
    graphs[3].nodes[1]["v"] = "q"
    graphs[5].nodes[1]["v"] = str(graphs[5].nodes[1]["v"])
    values = network_model.predict(graphs)
    assert np.flatnonzero(np.isnan(values)).tolist() == [3]
    np.testing.assert_array_equal(np.delete(values, 3), np.delete(expected, 3))
    assert "graph 3, column `v`" in network_model.reasons[3]
    arrays, target = rings()
    model = train([Data(**graph) for graph in arrays], target, run_dir="run")
    odd = [graph | {"x": graph["x"].astype(object)} for graph in arrays]
    odd[2]["x"][0, 1] = "q"
    assert np.flatnonzero(np.isnan(model.predict([Data(**graph) for graph in odd]))).tolist() == [2]


def test_an_attribute_that_the_first_node_lacks_is_missing_there(networks):
    for what in ("node", "edge"):
        graphs = [graph.copy() for graph in networks]
        rows = [row for graph in graphs for _, row in (graph.nodes(data=True) if what == "node" else edges(graph))]
        for row in rows[1:]:
            row["w"] = 1.5
        with pytest.raises(gmn.DataError, match=f"{what} 0 of all graphs has no attribute `w`; others have it"):
            train(graphs, "y")


def edges(graph):
    return [((source, end), row) for source, end, row in graph.edges(data=True)]


def test_names_of_attributes_need_not_be_text(networks):
    nx = pytest.importorskip("networkx")
    graphs = [graph.copy() for graph in networks]
    for graph in graphs:
        nx.set_node_attributes(graph, 1.5, 7)
    model = train(graphs, "y", run_dir="run")
    assert [column["name"] for column in model.description["schema"]["node_columns"]] == ["v", "7"]
    assert np.isfinite(model.predict(graphs)).all()


def test_columns_without_names_are_as_many_as_those_of_the_model():
    graphs, target = rings()
    model = train([Data(**graph) for graph in graphs], target, run_dir="run")
    wide = [Data(**graph | {"x": np.c_[graph["x"], graph["x"]]}) for graph in graphs]
    for ask in (model.predict, model.embed, lambda graphs: model.explain(graphs[0])):
        with pytest.raises(gmn.DataError, match="`x` has 4 columns without names, the model reads 2"):
            ask(wide)
    bare = [{name: graph[name] for name in ("x", "edge_index")} for graph in graphs]
    without = train([Data(**graph) for graph in bare], target, run_dir="bare")
    with pytest.raises(gmn.DataError, match="`edge_attr` has 1 column without names, the model reads 0"):
        without.predict([Data(**graph) for graph in graphs])
    # What a frame calls its columns where nobody has named them is no name.
    pandas = pytest.importorskip("pandas")
    one = bare[0] | {"x": pandas.DataFrame(bare[0]["x"])}
    np.testing.assert_array_equal(without.predict(one), without.predict(bare[0]))


def test_numbers_that_are_no_nodes_are_refused():
    for name, values, text in [
        ("edge_index", np.array([[0], [2**64 - 1]], np.uint64), "holds 18446744073709551615: expected whole numbers of 64"),
        ("edge_index", np.array([[0], [-1e300]]), "holds -1e.300: expected whole numbers of 64 bits"),
        ("edge_index", np.array([[True], [False]]), "`edge_index` holds bool: expected whole numbers"),
        ("num_nodes", 2.7, "`num_nodes` holds 2.7: expected whole numbers"),
        ("num_nodes", [2, 3], r"`num_nodes` holds \[2, 3\]: expected a number of nodes"),
    ]:
        with pytest.raises(gmn.DataError, match=text):
            _tables.from_arrays({"edge_index": ENDS, "num_nodes": 2} | {name: values})


def test_arrays_without_rows_are_tables_without_rows():
    graph = {"ptr": [0, 2, 4], "edge_index": np.zeros((2, 0), int), "x": np.ones((4, 1)), "edge_attr": np.zeros(0)}
    assert _tables.from_arrays(graph).edge_columns[0].cells.shape == (0, 1)
    with pytest.raises(gmn.DataError):
        train([], [])


def test_what_is_masked_is_missing(smiles):
    y = np.array(sizes(smiles))
    masked = np.ma.masked_array(np.where(np.arange(60) < 20, 1e9, y), mask=np.arange(60) < 20)
    expected = train(smiles, [None] * 20 + y[20:].tolist(), run_dir="a")
    assert train(smiles, masked, run_dir="b").to_bytes() == expected.to_bytes()
    cells = _tables.as_columns(np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]))
    assert np.isnan(cells[1].cells[0, 0]) and cells[1].cells[1, 0] == 4
    sparse = SimpleNamespace(tocoo=None)
    with pytest.raises(gmn.DataError, match="a sparse array .SimpleNamespace.: expected an ordinary one"):
        _tables.as_columns(sparse)


def test_gaps_do_not_make_numbers_of_classes(smiles):
    pandas = pytest.importorskip("pandas")
    kinds = pandas.Series([text.count("O") % 3 for text in smiles], dtype="Int8")
    kinds[:5] = pandas.NA
    listed = [None] * 5 + [int(kind) for kind in kinds[5:]]
    frame = pandas.DataFrame({"smiles": smiles, "y": kinds})
    for at, (data, target) in enumerate([(smiles, kinds), (smiles, listed), (frame, "y")]):
        model = train(data, target, run_dir=f"run-{at}")
        assert model.kind == "classes" and model.classes == ["0", "1", "2"]


def test_what_is_text_in_a_frame_is_a_class(smiles):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for words in (["NA", "EU", "US"], ["+", "-"], ["n/a", "none"]):
        y = (words * 30)[:60]
        columns = {"smiles": smiles, "y": y}
        for at, frame in enumerate([pandas.DataFrame(columns), polars.DataFrame(columns)]):
            assert train(frame, "Y", run_dir=f"{len(words)}{words[-1]}{at}").classes == sorted(words)
    numbers = ["NA"] * 10 + [str(size) for size in sizes(smiles)[10:]]
    assert train(pandas.DataFrame({"smiles": smiles, "y": numbers}), "y", run_dir="numbers").kind == "numbers"
    bounds = ["<3", "NA"] * 5 + numbers[10:]
    assert train(pandas.DataFrame({"smiles": smiles, "y": bounds}), "y", run_dir="bounds").kind == "numbers"


def test_labelled_graphs_without_their_target_are_refused(model, smiles):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"smiles": smiles, "size": sizes(smiles)})
    with pytest.raises(gmn.DataError, match="the columns smiles, size, expected the targets: target"):
        model.predict_interval(smiles, calibrate=frame)
    renamed = frame.rename(columns={"size": "target"})
    assert model.predict_interval(smiles, calibrate=renamed).shape == (60, 2)


def test_targets_may_come_one_by_one(smiles):
    y = sizes(smiles)
    expected = train(smiles, y, run_dir="a").to_bytes()
    assert train((text for text in smiles), (size for size in y), run_dir="b").to_bytes() == expected
    assert train(smiles, dict(zip(smiles, y)).values(), run_dir="c").to_bytes() == expected


@pytest.mark.parametrize("name", ["id", "split", "smiles"])
def test_targets_of_a_list_may_have_any_name(name, smiles):
    pandas = pytest.importorskip("pandas")
    model = train(smiles, pandas.Series(sizes(smiles), name=name))
    assert model.targets == [f"{name}_target"]
    assert np.isfinite(model.predict(smiles)).all()


def test_columns_of_a_frame_may_have_any_name(smiles):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"smiles": smiles, 0: sizes(smiles), "z": 1.5})
    expected = train(frame, "0", run_dir="a").to_bytes()
    for at, target in enumerate([0, np.int64(0), [0], pandas.Index(["0"]), {"0"}]):
        assert train(frame, target, run_dir=f"b{at}").to_bytes() == expected
    with pytest.raises(gmn.UsageError, match="target= of a frame names its columns"):
        train(frame, sizes(smiles))


def test_cells_that_a_table_of_text_cannot_hold_do_no_harm(smiles):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"smiles": smiles, "size": sizes(smiles)})
    odd = frame.with_columns(
        polars.Series("list", [[1, 2]] * 60),
        polars.Series("struct", [{"a": 1}] * 60),
        polars.Series("bytes", [b"a"] * 60),
        polars.Series("time", [1] * 60).cast(polars.Duration),
        polars.Series("object", [object()] * 60, dtype=polars.Object),
    )
    expected = train(frame, "size", run_dir="a")
    assert train(odd, "size", run_dir="b").to_bytes() == expected.to_bytes()
    np.testing.assert_array_equal(expected.predict(odd), expected.predict(smiles))
    # Where such a column is needed, its lists are read as those of a file are.
    bonds = frame.with_columns(polars.Series("length", [[1.5] * 3] * 60), polars.Series("smiles", ["CCCO"] * 60))
    assert train(bonds, "length", level="edge", run_dir="c").level == "edge"


def test_molecules_in_a_frame_are_trained_on(smiles):
    pandas, Chem = pytest.importorskip("pandas"), pytest.importorskip("rdkit.Chem")
    frame = pandas.DataFrame({"smiles": [Chem.MolFromSmiles(text) for text in smiles], "size": sizes(smiles)})
    written = frame.assign(smiles=[Chem.MolToSmiles(molecule) for molecule in frame["smiles"]])
    assert train(frame, "size", run_dir="a").to_bytes() == train(written, "size", run_dir="b").to_bytes()
    assert hasattr(frame["smiles"][0], "GetAtoms")


def test_a_molecule_without_atoms_is_the_fault_of_its_row(model):
    Chem = pytest.importorskip("rdkit.Chem")
    for empty in (Chem.MolFromSmiles(""), Chem.Mol()):
        values = model.predict([Chem.MolFromSmiles("CCO"), empty])
        assert np.isnan(values).tolist() == [False, True] and "must not be empty" in model.reasons[1]


def test_tables_of_pyarrow_and_queries_of_polars_are_frames(smiles):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    y = [None, *(text.count("O") % 3 for text in smiles[1:])]
    frame = polars.DataFrame({"smiles": smiles, "y": y})
    expected = train(frame, "y", run_dir="a")
    assert expected.kind == "classes"
    values = expected.predict(smiles)
    table = pyarrow.table({"smiles": smiles, "y": y})
    for at, given in enumerate([table, frame.lazy()]):
        assert train(given, "y", run_dir=f"b{at}").to_bytes() == expected.to_bytes()
        np.testing.assert_array_equal(expected.predict(given), values)
    assert train(table["smiles"], table["y"], run_dir="c").classes == expected.classes
    for column in (table["smiles"], table["smiles"].combine_chunks()):
        np.testing.assert_array_equal(expected.predict(column), values)
