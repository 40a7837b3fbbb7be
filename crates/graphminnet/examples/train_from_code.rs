//! Training without the command: generated data, an inferred recipe, a model file, a prediction.

use graphminnet::config::Override;
use graphminnet::data::data::generate::{PartSizes, RingTransfer};
use graphminnet::data::data::split::Splits;
use graphminnet::train::{Outcome, SeedDir, Settings, TrainingData, infer_recipe, train_seed};
use graphminnet::{Bundle, DeviceKind};
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Rings in which the class of one node must be carried to the opposite side.
    let sizes = PartSizes { train: 800, valid: 100, test: 100 };
    let dataset = RingTransfer { sizes, smallest: 6, largest: 10, ..RingTransfer::default() }.generate(0)?;
    let overrides = ["train.epochs=10", "model.hidden=32", "model.layers=3", "model.lap_dim=8"];
    let overrides: Vec<_> = overrides.iter().map(|field| Override::parse(field)).collect::<Result<_, _>>()?;
    let recipe = infer_recipe("rings", &dataset.schema, sizes.train, &overrides)?.recipe;

    let splits = Splits::official(&dataset)?;
    let (data, _) = TrainingData::prepare(&dataset, splits, &recipe.model, None, &())?;
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
    let prediction = bundle.predict(&[dataset.samples[0].graph.clone()])?;
    println!("graph 0: class {:?}, true class {:?}", prediction.class(0), dataset.samples[0].targets);
    Ok(std::fs::remove_dir_all(folder)?)
}
