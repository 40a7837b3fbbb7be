//! Several molecules as one graph: the columns of a row, and the sides of a reaction.

mod common;

use common::Scratch;
use graphminnet_data::{
    ColumnKind, DataError, Featurizer, Graph, Level, Limits, MoleculeForm, MoleculeReading, OnBadRow, Read,
    ReadOptions, RowReader, open,
};

const TABLE: &str = "solute,solvent,y\nCCO,O,1.5\nC1CC1,CO,2.5\nCC(=O)[O-].[Na+],CCO,3.5\n";

fn read(content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("together");
    open(&scratch.write("a.csv", content), options)
}

fn columns(first: &str, further: &[&str]) -> ReadOptions {
    ReadOptions {
        smiles_column: Some(first.to_owned()),
        further_smiles: further.iter().map(|&name| name.to_owned()).collect(),
        ..ReadOptions::default()
    }
}

/// The last column of every node.
fn roles(graph: &Graph) -> Vec<u32> {
    let row = |node: usize| *graph.node_features().category_row(node).last().unwrap();
    (0..graph.num_nodes()).map(row).collect()
}

#[test]
fn the_molecules_of_a_row_are_one_graph_whose_atoms_know_their_column() {
    let read = read(TABLE, &columns("solute", &["solvent"])).unwrap();
    let schema = &read.dataset.schema;
    assert_eq!(schema.targets, ["y"]);
    let role = schema.node_columns.last().unwrap();
    let ColumnKind::Category { size: 2, names } = &role.kind else { panic!("{role:?}") };
    assert_eq!(
        (role.name.as_str(), names.as_slice()),
        ("role", &["solute".to_owned(), "solvent".to_owned()][..])
    );
    let graphs: Vec<&Graph> = read.dataset.samples.iter().map(|sample| &*sample.graph).collect();
    assert_eq!(roles(graphs[0]), [0, 0, 0, 1]);
    assert_eq!(graphs[0].edges(), [[0, 1], [1, 0], [1, 2], [2, 1]]);
    assert_eq!(roles(graphs[1]), [0, 0, 0, 1, 1]);
    assert_eq!(graphs[1].edges().last(), Some(&[4, 3]));
    // A salt is one molecule of two fragments.
    assert_eq!(roles(graphs[2]), [0, 0, 0, 0, 0, 1, 1, 1]);
    assert_eq!(Featurizer::of_schema(schema), Some(Featurizer::Cip));
    assert!(
        read.report.notes.iter().any(|note| note.contains("`solute`, `solvent`")),
        "{:?}",
        read.report.notes
    );
    // The other way round it is another graph.
    let other = self::read(TABLE, &columns("solvent", &["solute"])).unwrap();
    assert_eq!(roles(&other.dataset.samples[0].graph), [0, 1, 1, 1]);
    assert_ne!(other.dataset.samples[0].graph, read.dataset.samples[0].graph);
}

#[test]
fn new_rows_need_all_columns_by_name_and_a_blank_cell_is_a_bad_row() {
    let schema = read(TABLE, &columns("solute", &["solvent"])).unwrap().dataset.schema;
    let text = serde_json::to_string(&schema).unwrap();
    let known = ReadOptions::with_schema(serde_json::from_str(&text).unwrap());
    let scratch = Scratch::new("together");
    let rows = |content: &str, options: &ReadOptions| {
        RowReader::open(&scratch.write("new.csv", content), options)
            .and_then(|mut reader| reader.next_rows(10))
    };
    // Columns are found by name, in whatever order they are.
    let found = rows("solvent,name,solute\nO,a,CCO\n,b,C\nC(,c,C\n", &known).unwrap();
    assert_eq!(roles(found[0].graph.as_ref().unwrap()), [0, 0, 0, 1]);
    let reason = |at: usize| found[at].graph.as_ref().unwrap_err().to_string();
    assert!(
        reason(1).contains("column `solvent`") && reason(1).contains("must not be empty"),
        "{}",
        reason(1)
    );
    assert!(reason(2).contains("column `solvent`") && reason(2).contains("`C(`"), "{}", reason(2));
    let error = rows("solute\nCCO\n", &known).unwrap_err().to_string();
    assert!(error.contains("a column called `solvent`"), "{error}");
    let renamed = ReadOptions { schema: known.schema.clone(), ..columns("a", &["b"]) };
    assert_eq!(roles(rows("b,a\nO,CCO\n", &renamed).unwrap()[0].graph.as_ref().unwrap()), [0, 0, 0, 1]);
    let one = ReadOptions { schema: known.schema.clone(), ..columns("a", &[]) };
    let error = rows("b,a\nO,CCO\n", &one).unwrap_err().to_string();
    assert!(error.contains("2 columns are read together (solute, solvent), and 1 are named"), "{error}");
    // The reader of whole files says the same.
    let blank = "solute,solvent,y\nCCO,O,1\nC,,2\n";
    let error = read(blank, &columns("solute", &["solvent"])).unwrap_err().to_string();
    assert!(error.contains("line 3, column `solvent`"), "{error}");
    let skip = ReadOptions { on_bad_row: OnBadRow::Skip, ..columns("solute", &["solvent"]) };
    assert_eq!(read(blank, &skip).unwrap().dataset.samples.len(), 1);
    let error = read(TABLE, &columns("solute", &["solute"])).unwrap_err().to_string();
    assert!(error.contains("named twice"), "{error}");
}

#[test]
fn what_describes_one_molecule_is_refused_for_several() {
    let mut options = columns("solute", &["solvent"]);
    options.molecules.basic_descriptors = true;
    let refused = |options: &ReadOptions| read(TABLE, options).unwrap_err().to_string();
    assert!(
        refused(&options).contains("computed descriptors describe one molecule"),
        "{}",
        refused(&options)
    );
    let mut options = columns("solute", &["solvent"]);
    options.molecules.reactions = true;
    assert!(refused(&options).contains("in one column"), "{}", refused(&options));
    let mut options = columns("solute", &[]);
    (options.molecules.reactions, options.molecules.largest_fragment) = (true, true);
    assert!(refused(&options).contains("largest fragment"), "{}", refused(&options));
    let mut options = ReadOptions { level: Some(Level::Edge), ..columns("solute", &[]) };
    options.molecules.reactions = true;
    assert!(refused(&options).contains("not of reactions"), "{}", refused(&options));
    let reading = MoleculeReading { further: 1, ..MoleculeReading::default() };
    assert!(reading.graph("CCO", &Limits::default()).unwrap_err().to_string().contains("2 molecules"));
}

fn reaction(smiles: &str) -> Result<Graph, String> {
    let form = MoleculeForm { reactions: true, ..MoleculeForm::default() };
    let reading = MoleculeReading { form, ..MoleculeReading::default() };
    reading.graph(smiles, &Limits::default()).map_err(|error| error.to_string())
}

#[test]
fn a_reaction_has_its_sides_and_joins_atoms_with_the_same_map_number() {
    let graph = reaction("[CH3:1][OH:2].Br>O>[CH3:1]Br.[OH2:2]").unwrap();
    assert_eq!(roles(&graph), [0, 0, 0, 1, 2, 2, 2]);
    let kind = |edge: usize| graph.edge_features().category_row(edge).to_vec();
    let edges: Vec<([u32; 2], Vec<u32>)> =
        graph.edges().iter().enumerate().map(|(at, ends)| (*ends, kind(at))).collect();
    let bonds: Vec<[u32; 2]> = edges.iter().filter(|(_, kind)| kind[3] == 0).map(|(ends, _)| *ends).collect();
    assert_eq!(bonds, [[0, 1], [1, 0], [4, 5], [5, 4]]);
    let same: Vec<[u32; 2]> = edges.iter().filter(|(_, kind)| kind[3] == 1).map(|(ends, _)| *ends).collect();
    assert_eq!(same, [[0, 4], [4, 0], [1, 6], [6, 1]]);
    assert!(graph.is_in_pairs());
    // Without map numbers nothing is joined, and agents may be missing.
    assert_eq!(reaction("CO.Br>>CBr.O").unwrap().num_edges(), 4);
    // Hydrogens that are written as atoms are none, and numbers stay with their atoms.
    let graph = reaction("[H][C:1]([H])([H])[OH:2]>>[CH3:1]Br").unwrap();
    assert_eq!((graph.num_nodes(), graph.edges()[2..].to_vec()), (4, vec![[2, 3], [3, 2], [0, 2], [2, 0]]));
    // A dative bond is no arrow.
    assert_eq!(roles(&reaction("N->[Cu]>>N.[Cu]").unwrap()), [0, 0, 2, 2]);
}

#[test]
fn what_is_no_reaction_is_refused_at_its_character() {
    for (smiles, expected) in [
        ("CCO", "reactants>agents>products"),
        ("C>C", "there are 1 `>`"),
        ("C>>", "a reaction needs products (character 3)"),
        (">>C", "a reaction needs reactants (character 1)"),
        ("C>>C>C", "there are 3 `>` (character 5)"),
        ("CC>>C(", "(character 6)"),
        ("[CH3:1][CH3:1]>>C", "two atoms of the reactants have the map number 1"),
        ("C>>[CH3:1][CH3:1]", "two atoms of the products have the map number 1"),
        ("  ", "must not be empty"),
    ] {
        let error = reaction(smiles).unwrap_err();
        assert!(error.contains(expected), "{smiles}: {error}");
    }
    let error = read("smiles,y\nCC>>CO,1\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("reaction"), "{error}");
}

#[test]
fn a_table_of_reactions_keeps_that_it_is_one() {
    let mut options = ReadOptions::default();
    options.molecules.reactions = true;
    let found = read("rxn,y\nCO>>C=O,1\nCCO>[Na]>CC=O,2\n", &options).unwrap();
    let schema = found.dataset.schema;
    assert_eq!(schema.edge_columns.last().unwrap().name, "same_atom");
    assert_eq!(Featurizer::of_schema(&schema), Some(Featurizer::Cip));
    let again = MoleculeReading::of_schema(&schema).unwrap();
    assert!(again.form.reactions);
    assert_eq!(again.graph("CO>>C=O", &Limits::default()).unwrap(), *found.dataset.samples[0].graph);
    let form = MoleculeForm { reactions: true, ..MoleculeForm::default() };
    let scaffold = form.scaffold_key("C1CC1>>c1ccccc1C", &Limits::default());
    assert_eq!(scaffold.as_deref(), Ok("c1ccccc1"), "reactions are grouped by what they make");
}
