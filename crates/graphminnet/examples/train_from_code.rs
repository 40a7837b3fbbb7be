//! Training without the command: generated data, an inferred recipe with some settings changed, a run, a prediction.

use graphminnet::data::{Level, PartSizes, RingTransfer};
use graphminnet::train::{
    DataSource, Loaded, Resources, Run, RunOutcome, RunSpec, SplitChoice, infer_recipe,
};
use graphminnet::{Bundle, DeviceKind};
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The marked node of a ring must name the class of the node opposite to it.
    let sizes = PartSizes { train: 2000, valid: 200, test: 200 };
    let rings = RingTransfer { sizes, level: Level::Node, distractors: false, ..RingTransfer::default() };
    let dataset = rings.generate(0)?;
    let (graph, targets) = (dataset.samples[0].graph.clone(), dataset.samples[0].targets.clone());

    let mut recipe = infer_recipe("rings", &dataset.schema, sizes.train, &[])?.recipe;
    (recipe.train.epochs, recipe.train.warmup) = (10, 1);
    (recipe.model.hidden, recipe.model.layers, recipe.model.lap_dim) = (32, 3, 8);

    let folder = std::env::temp_dir().join(format!("graphminnet-example-{}", std::process::id()));
    let spec = RunSpec::new(recipe, DataSource::Given { edges: None });
    let mut run = Run::create(&folder, &spec)?.with_data(Loaded::split(dataset, &SplitChoice::Official)?);
    let resources = Resources::on(DeviceKind::Cpu.open()?);
    if let RunOutcome::Finished(summary) = run.train(&resources, &mut (), &AtomicBool::new(false))? {
        println!("test {}: {:?}", spec.recipe.train.metric, summary.test);
    }

    let bundle = Bundle::load(&run.seed(0).file("best.gmn"))?;
    let marked = targets.iter().position(|class| !class.is_nan()).unwrap_or(0);
    let answers = bundle.predict(&[graph]);
    let said = answers.graph(0)?.rows().nth(marked).and_then(|node| node.class());
    println!("said {said:?}, truth {}", targets[marked]);
    Ok(std::fs::remove_dir_all(folder)?)
}
