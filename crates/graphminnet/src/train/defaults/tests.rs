use super::rules::MANY_NODES;
use super::*;
use crate::config::{EndsKind, LocalKind, MetricKind, NodePeKind, NormEstimates};
use graphminnet_data::{Column, ColumnKind, Level};

fn schema(task: Task, level: Level, node_columns: Vec<Column>, edge_columns: Vec<Column>) -> Schema {
    Schema {
        level,
        task,
        targets: vec!["y".into()],
        class_names: vec![],
        positive_class: None,
        molecules: None,
        node_columns,
        edge_columns,
    }
}

fn column(kind: ColumnKind) -> Column {
    Column::new("c", kind)
}

#[test]
fn every_combination_of_features_tasks_and_levels_gives_a_valid_recipe() {
    let category = || column(ColumnKind::Category { size: 3, names: vec![] });
    let features = || {
        let number = || column(ColumnKind::Number);
        [vec![], vec![category()], vec![category(), category()], vec![number()], vec![number(), category()]]
    };
    for task in [Task::Regression, Task::Binary, Task::MultiClass { classes: 4 }] {
        for level in [Level::Graph, Level::Node, Level::Edge, Level::Pair] {
            for nodes in features() {
                for edges in features() {
                    let schema = schema(task, level, nodes.clone(), edges);
                    let inferred = infer_recipe("own", &schema, 160, &[]).unwrap();
                    inferred.recipe.model.check().unwrap();
                    assert!(inferred.notes.len() >= 3);
                }
            }
        }
    }
}

#[test]
fn random_walks_are_left_out_of_large_graphs_and_it_is_said() {
    let schema = schema(Task::Regression, Level::Node, vec![], vec![]);
    let placed = |largest_graph| {
        let size = DataSize { largest_graph, ..DataSize::from(1) };
        let Inferred { recipe, notes } = infer_recipe("own", &schema, size, &[]).unwrap();
        (recipe.model.node_pe, notes.iter().any(|note| note.contains("random walks")))
    };
    assert_eq!(placed(MANY_NODES), (NodePeKind::Rwse, false));
    assert_eq!(placed(MANY_NODES + 1), (NodePeKind::Lappe, true));
}

#[test]
fn numbers_on_edges_get_a_branch_that_can_use_their_size_and_it_is_said() {
    let local = |edges| {
        let schema = schema(Task::Regression, Level::Graph, vec![], edges);
        let Inferred { recipe, notes } = infer_recipe("own", &schema, 100, &[]).unwrap();
        (recipe.model.local, notes.iter().any(|note| note.contains("gine")))
    };
    assert_eq!(local(vec![column(ColumnKind::Number)]), (LocalKind::Gine, true));
    let category = column(ColumnKind::Category { size: 3, names: vec![] });
    assert_eq!(local(vec![category]), (LocalKind::Gated, false));
}

#[test]
fn a_short_schedule_has_a_short_warm_up() {
    let schema = schema(Task::Regression, Level::Graph, vec![], vec![]);
    for epochs in [1, 2, 50] {
        let overrides = [Override::parse(&format!("train.epochs={epochs}")).unwrap()];
        let recipe = infer_recipe("own", &schema, 100, &overrides).unwrap().recipe;
        assert_eq!(recipe.train.epochs, epochs);
    }
}

#[test]
fn molecules_have_a_protocol_of_their_own_and_it_is_said() {
    let of = |task| {
        let molecules = Some(graphminnet_data::MoleculeTable::default());
        Schema { molecules, ..schema(task, Level::Graph, vec![], vec![]) }
    };
    let molecules = |task, train_graphs: usize| infer_recipe("own", &of(task), train_graphs, &[]).unwrap();
    let Inferred { recipe, notes } = molecules(Task::Regression, 900);
    let train = &recipe.train;
    assert_eq!((train.loss, train.metric), (Loss::Mse, MetricKind::RootMeanSquaredError));
    assert_eq!((train.epochs, train.average_decay), (50, 0.99));
    assert_eq!(recipe.model.node_pe, NodePeKind::None);
    assert!(notes.iter().any(|note| note.contains("no random walks and at most 50 epochs")), "{notes:?}");
    // Who says how wide they are wants them.
    let schema = of(Task::Regression);
    let wide = [Override::parse("model.pe_dim=4").unwrap()];
    let asked = infer_recipe("own", &schema, 900, &wide).unwrap().recipe.model;
    assert_eq!((asked.node_pe, asked.pe_dim), (NodePeKind::Rwse, 4));
    let given: Table = "[model]\nrwse_steps = 8\n".parse().unwrap();
    let asked = fit_recipe("own", &given, Unnamed::Inferred, &schema, 900, &[]).unwrap().recipe.model;
    assert_eq!((asked.node_pe, asked.rwse_steps), (NodePeKind::Rwse, 8));
    // Large data has fewer epochs anyway.
    assert_eq!(molecules(Task::Regression, 100_000).recipe.train.epochs, 20);
    // Classes keep their random walks, and their loss.
    for (task, loss) in
        [(Task::Binary, Loss::BinaryCrossEntropy), (Task::MultiClass { classes: 3 }, Loss::CrossEntropy)]
    {
        let Inferred { recipe, notes } = molecules(task, 900);
        assert_eq!((recipe.train.epochs, recipe.train.average_decay, recipe.train.loss), (50, 0.99, loss));
        assert_eq!(recipe.model.node_pe, NodePeKind::Rwse);
        assert!(
            notes.iter().any(|note| note.contains("molecules and a class: weights are averaged")),
            "{notes:?}"
        );
    }
    // Classes of other graphs are learnt as long as ever.
    let train =
        infer_recipe("own", &Schema { molecules: None, ..of(Task::Binary) }, 900, &[]).unwrap().recipe.train;
    assert_eq!((train.epochs, train.average_decay), (138, 0.0));
}

#[test]
fn descriptors_join_the_graph_and_it_is_said() {
    let mut schema = schema(Task::Regression, Level::Graph, vec![], vec![]);
    let descriptors = vec!["logp".to_owned(), "weight".to_owned()];
    schema.molecules = Some(graphminnet_data::MoleculeTable { descriptors, ..Default::default() });
    let Inferred { recipe, notes } = infer_recipe("own", &schema, 900, &[]).unwrap();
    assert_eq!((recipe.model.graph_in, recipe.model.head_in()), (2, 66));
    assert!(notes.iter().any(|note| note.contains("2 descriptors")), "{notes:?}");
}

#[test]
fn a_recipe_for_other_data_keeps_its_model_and_takes_encoders_and_loss_from_this_one() {
    let number = || column(ColumnKind::Number);
    let schema = schema(Task::Binary, Level::Graph, vec![number(), number()], vec![]);
    let zinc = Recipe::table("zinc").unwrap();
    let fitted = fit_recipe("mine", &zinc, Unnamed::Default, &schema, 200, &[]).unwrap();
    let (model, train) = (&fitted.recipe.model, &fitted.recipe.train);
    let known = Recipe::named("zinc").unwrap();
    assert_eq!((model.layers, model.drop_res), (known.model.layers, known.model.drop_res));
    assert_eq!(model.drop_local, 0.0, "what the recipe does not name has its default");
    assert_eq!((model.node_in, model.out_dim, model.local), (2, 1, LocalKind::Gine));
    assert_eq!((train.epochs, train.loss), (known.train.epochs, Loss::BinaryCrossEntropy));
    assert_eq!(train.norm_estimates, NormEstimates::Recomputed, "data of one's own is evaluated as such");
    let note = fitted.notes.last().unwrap();
    assert!(note.contains("model.node_vocab") && note.contains("train.loss"), "{note}");
}

#[test]
fn a_short_recipe_replaces_what_it_names_and_the_rest_is_inferred() {
    let schema = schema(Task::Regression, Level::Graph, vec![column(ColumnKind::Number)], vec![]);
    let given: Table = "[model]\nlayers = 2\n[train]\nloss = \"huber\"\n".parse().unwrap();
    let fitted = fit_recipe("mine", &given, Unnamed::Inferred, &schema, 200, &[]).unwrap().recipe;
    let inferred = infer_recipe("mine", &schema, 200, &[]).unwrap().recipe;
    assert_eq!((fitted.model.layers, fitted.train.loss), (2, Loss::Huber));
    assert_eq!(fitted.model.drop_local, inferred.model.drop_local);
    assert_eq!(fitted.train.epochs, inferred.train.epochs);
    let wrong: Table = "[model]\nlayer = 2\n".parse().unwrap();
    let error = fit_recipe("mine", &wrong, Unnamed::Inferred, &schema, 200, &[]).unwrap_err();
    assert!(error.to_string().contains("did you mean `layers`"), "{error}");
}

#[test]
fn links_of_one_graph_have_defaults_of_their_own_and_it_is_said() {
    let number = || vec![column(ColumnKind::Number)];
    let of = |level, task, nodes, size: DataSize| {
        infer_recipe("own", &schema(task, level, nodes, vec![]), size, &[]).unwrap()
    };
    let one = DataSize { largest_graph: 500, train_nodes: Some(100), ..DataSize::from(1) };
    let is_said = |notes: &[String]| notes.iter().any(|note| note.starts_with("links of one graph"));
    let Inferred { recipe, notes } = of(Level::Pair, Task::Binary, number(), one);
    assert_eq!((recipe.model.encoder_hops, recipe.model.node_pe), (4, NodePeKind::None));
    assert_eq!(recipe.model.ends, EndsKind::Hadamard);
    assert!(is_said(&notes), "{notes:?}");
    // A product does not know which end is which.
    let directed = of(Level::Pair, Task::Binary, number(), DataSize { undirected: false, ..one });
    assert_eq!(directed.recipe.model.ends, EndsKind::Both);
    // Without features there is nothing to average.
    let Inferred { recipe, notes } = of(Level::Pair, Task::Binary, vec![], one);
    assert_eq!((recipe.model.encoder_hops, recipe.model.ends), (0, EndsKind::Both));
    assert!(is_said(&notes), "{notes:?}");
    // Whoever names random walks has them.
    let walks = [Override::parse("model.pe_dim=8").unwrap()];
    let schema = schema(Task::Binary, Level::Pair, number(), vec![]);
    let asked = infer_recipe("own", &schema, one, &walks).unwrap();
    assert_eq!(asked.recipe.model.node_pe, NodePeKind::Rwse);
    // Numbers of pairs, links of many graphs and targets of edges have those of other data.
    for other in [
        of(Level::Pair, Task::Regression, number(), one),
        of(Level::Pair, Task::Binary, number(), DataSize::from(100)),
        of(Level::Edge, Task::Binary, number(), one),
    ] {
        assert_eq!((other.recipe.model.layers, other.recipe.model.ends), (4, EndsKind::Both));
        assert!(!is_said(&other.notes), "{:?}", other.notes);
    }
}

#[test]
fn what_the_data_decides_as_the_recipe_does_is_not_said() {
    let said = |text: &str| {
        let schema = schema(Task::Regression, Level::Graph, vec![], vec![]);
        let given: Table = text.parse().unwrap();
        let notes = fit_recipe("own", &given, Unnamed::Protocol, &schema, 100, &[]).unwrap().notes;
        notes.into_iter().find(|note| note.starts_with("of the recipe"))
    };
    assert_eq!(said("[model]\nlevel = \"graph\"\ngraph_in = 0\n"), None);
    let other = said("[model]\nlevel = \"node\"\nhead = \"mlp\"\n");
    assert_eq!(other.as_deref(), Some("of the recipe, the data decides model.level"));
}
