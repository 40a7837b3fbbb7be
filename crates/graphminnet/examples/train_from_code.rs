//! Training without the command: generated data, an inferred recipe, a model file, a prediction.

use graphminnet::config::Override;
use graphminnet::data::{Level, PartSizes, RingTransfer, Splits};
use graphminnet::train::{Outcome, SeedDir, Settings, TrainingData, infer_recipe, train_seed};
use graphminnet::{Bundle, DeviceKind};
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The marked node of a ring must name the class of the node opposite to it.
    let sizes = PartSizes { train: 2000, valid: 200, test: 200 };
    let rings = RingTransfer { sizes, level: Level::Node, distractors: false, ..RingTransfer::default() };
    let dataset = rings.generate(0)?;
    let overrides = ["train.epochs=10", "model.hidden=32", "model.layers=3", "model.lap_dim=8"];
    let overrides: Vec<_> = overrides.iter().map(|field| Override::parse(field)).collect::<Result<_, _>>()?;
    let recipe = infer_recipe("rings", &dataset.schema, sizes.train, &overrides)?.recipe;
    let (data, _) = TrainingData::prepare(&dataset, Splits::official(&dataset)?, &recipe.model, None, &())?;
    let folder = std::env::temp_dir().join(format!("graphminnet-example-{}", std::process::id()));
    let directory = SeedDir::new(folder.clone())?;
    let settings = Settings {
        name: &recipe.name,
        model: &recipe.model,
        train: &recipe.train,
        edges: None,
        seed: 0,
        device: DeviceKind::Cpu.open()?,
        interrupt: &AtomicBool::new(false),
    };
    if let Outcome::Finished(result) = train_seed(&settings, &data, Some(&directory), &mut ())? {
        println!("test {}: {:?} at epoch {}", recipe.train.metric, result.best.test, result.best.epoch + 1);
    }
    let bundle = Bundle::load(&directory.file("best.gmn"))?;
    let (graph, targets) = (dataset.samples[0].graph.clone(), &dataset.samples[0].targets);
    let marked = targets.iter().position(|class| !class.is_nan()).unwrap_or(0);
    let answers = bundle.predict(&[graph]);
    let said = answers.graph(0)?.rows().nth(marked).and_then(|node| node.class());
    println!("said {said:?}, truth {}", targets[marked]);
    Ok(std::fs::remove_dir_all(folder)?)
}
