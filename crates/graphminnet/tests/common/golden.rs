//! The golden fixtures: what they hold, and what the model computes of them on a device.

use super::values;
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use graphminnet::model::{FeatureInput, GraphMinNet, ModelInput};
use graphminnet::nn::Pass;
use graphminnet::{ModelConfig, weights};
use graphminnet_data::{Batch, Features, Graph};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Scale of values that are all small.
const LEAST: f64 = 1e-3;

/// All fixtures in `tests/fixtures/golden`, or in the folder that the environment variable `GRAPHMINNET_GOLDEN` names.
pub fn fixtures() -> Vec<Fixture> {
    let folder = std::env::var_os("GRAPHMINNET_GOLDEN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden"),
        // Relative to where the tests were started, which for a workspace is its root.
        |folder| {
            let given = PathBuf::from(folder);
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            if given.exists() { given } else { root.join(given) }
        },
    );
    let mut names: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("cannot list the fixtures in {}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|ext| ext == "json") && path.with_extension("safetensors").exists()
        })
        .collect();
    names.sort();
    assert!(!names.is_empty(), "no fixtures in {}", folder.display());
    names.iter().map(|json| Fixture::read(json)).collect()
}

/// A tensor that the model computed.
pub struct Measured {
    /// Its name in the fixture.
    pub name: String,
    /// Its values.
    pub values: Vec<f32>,
    /// The smallest scale that its errors are relative to.
    pub least_scale: f64,
}

impl Measured {
    /// Largest difference from a reference, relative to the reference's scale; infinite where a value is not a number.
    pub fn error(&self, reference: &[f32]) -> f64 {
        assert_eq!(self.values.len(), reference.len(), "{} has another length", self.name);
        let largest = reference.iter().fold(0.0f64, |max, value| max.max(f64::from(value.abs())));
        // Where everything is zero (φ = zero), zeros have to be met to within rounding.
        let scale = largest.max(self.least_scale).max(1e-6);
        let errors = self.values.iter().zip(reference).map(|(a, b)| f64::from((a - b).abs()) / scale);
        errors.fold(0.0, |max: f64, error| if error.is_nan() { f64::INFINITY } else { max.max(error) })
    }
}

#[derive(Default)]
struct Measurements(Vec<Measured>);

impl Measurements {
    fn add(&mut self, name: &str, values: Vec<f32>, least_scale: f64) {
        self.0.push(Measured { name: name.to_owned(), values, least_scale });
    }
}

/// One fixture: a configuration, a batch, parameters, and what the independent implementation computes from them.
pub struct Fixture {
    /// Name of the file.
    pub name: String,
    config: ModelConfig,
    floats: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    integers: BTreeMap<String, (Vec<usize>, Vec<i64>)>,
}

impl Fixture {
    /// Reads a fixture from its description; the tensors lie beside it.
    pub fn read(json: &Path) -> Self {
        let name = json.file_stem().unwrap().to_string_lossy().into_owned();
        let description: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        let mut config = description["config"].clone();
        // How the independent implementation computes it is no matter of the model.
        config.as_object_mut().unwrap().remove("impl");
        let config: ModelConfig = serde_json::from_value(config).unwrap();
        config.check().unwrap();
        let bytes = std::fs::read(json.with_extension("safetensors")).unwrap();
        let (mut floats, mut integers) = (BTreeMap::new(), BTreeMap::new());
        for (name, view) in SafeTensors::deserialize(&bytes).unwrap().iter() {
            let (shape, data) = (view.shape().to_vec(), view.data());
            match view.dtype() {
                Dtype::F32 => {
                    let values =
                        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
                    floats.insert(name.to_owned(), (shape, values));
                }
                Dtype::I64 => {
                    let values =
                        data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
                    integers.insert(name.to_owned(), (shape, values));
                }
                Dtype::U8 => {
                    integers
                        .insert(name.to_owned(), (shape, data.iter().map(|&byte| i64::from(byte)).collect()));
                }
                other => panic!("{name} has unexpected type {other:?}"),
            }
        }
        Self { name, config, floats, integers }
    }

    fn floats(&self, name: &str) -> &[f32] {
        &self.floats.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name)).1
    }

    fn integers(&self, name: &str) -> &[i64] {
        &self.integers.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.name)).1
    }

    fn features(&self, name: &str, rows: usize) -> Features {
        if let Some((shape, values)) = self.integers.get(name) {
            let columns = shape.get(1).copied().unwrap_or(1);
            Features::categories(rows, columns, values.iter().map(|&v| v as u32).collect()).unwrap()
        } else if let Some((shape, values)) = self.floats.get(name) {
            Features::numbers(rows, shape.get(1).copied().unwrap_or(1), values.clone()).unwrap()
        } else {
            Features::none(rows)
        }
    }

    /// The graphs of the fixture, edges in the order given, and where each given edge of the fixture went.
    fn batch(&self) -> Batch {
        let graph_of_node = self.integers("in.batch");
        let edge_index = self.integers("in.edge_index");
        let num_edges = edge_index.len() / 2;
        let num_graphs = self.floats["in.eigvals"].0[0];
        let offsets: Vec<usize> =
            (0..=num_graphs).map(|g| graph_of_node.iter().filter(|&&of| (of as usize) < g).count()).collect();
        let node_features = self.features("in.x", graph_of_node.len());
        let edge_features = self.features("in.edge_attr", num_edges);
        let graphs: Vec<Graph> = (0..num_graphs)
            .map(|graph| {
                let nodes = offsets[graph]..offsets[graph + 1];
                let edges = self.edges_of(graph);
                let ends = |edge: usize| {
                    [edge_index[edge], edge_index[num_edges + edge]]
                        .map(|node| (node as usize - nodes.start) as u32)
                };
                Graph::new(
                    nodes.len(),
                    edges.iter().map(|&edge| ends(edge)).collect(),
                    node_features.select_rows(nodes.clone()),
                    edge_features.select_rows(edges.iter().copied()),
                )
                .unwrap()
            })
            .collect();
        Batch::of_graphs(&graphs.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Edges of one graph as positions in the fixture's edge list.
    fn edges_of(&self, graph: usize) -> Vec<usize> {
        let (graph_of_node, edge_index) = (self.integers("in.batch"), self.integers("in.edge_index"));
        (0..edge_index.len() / 2)
            .filter(|&e| graph_of_node[edge_index[e] as usize] as usize == graph)
            .collect()
    }

    /// For every edge in the model's order, its position in the fixture's edge list.
    fn edge_order(&self, batch: &Batch) -> Vec<usize> {
        let by_graph: Vec<usize> =
            (0..batch.layout.num_graphs()).flat_map(|graph| self.edges_of(graph)).collect();
        batch.layout.topology().given_order.iter().map(|&given| by_graph[given as usize]).collect()
    }

    fn input(&self, batch: &Batch, device: &Device) -> ModelInput {
        let pairs = self.config.stored_eigenpairs();
        let exist: Vec<usize> = self
            .integers("in.exist")
            .chunks(pairs)
            .map(|row| row.iter().map(|&flag| flag as usize).sum())
            .collect();
        let batch = Batch {
            eigenvalues: self.floats("in.eigvals").to_vec(),
            eigenvectors: self.floats("in.eigvecs").to_vec(),
            num_eigenpairs: exist.clone(),
            usable_eigenpairs: exist,
            random_walk: self.floats.get("in.rwse").map_or_else(Vec::new, |(_, values)| values.clone()),
            log_degree: self.floats("in.logdeg").to_vec(),
            ..batch.clone()
        };
        let mut input = ModelInput::new(&self.config, batch, device).unwrap();
        input.eigenvalues = input.eigenvalues.require_grad();
        input.eigenvectors = input.eigenvectors.require_grad();
        input.random_walk = input.random_walk.map(Tensor::require_grad);
        input.log_degree = input.log_degree.map(Tensor::require_grad);
        for features in [&mut input.nodes, &mut input.edges] {
            if let FeatureInput::Numbers(numbers) = features {
                *numbers = numbers.clone().require_grad();
            }
        }
        input
    }

    /// The model with the fixture's parameters and running statistics.
    fn model(&self, device: &Device) -> GraphMinNet {
        let model = GraphMinNet::new(&self.config, 0, device).unwrap();
        let expected: usize = self
            .floats
            .iter()
            .filter(|(name, _)| name.starts_with("param."))
            .map(|(_, (_, v))| v.len())
            .sum();
        assert_eq!(weights::count_parameters(&model), expected, "{}: number of parameters", self.name);
        let tensors = self.floats.iter().filter_map(|(name, (shape, values))| {
            let name = name.strip_prefix("param.").or_else(|| name.strip_prefix("buffer."))?;
            Some(weights::NamedTensor { name: name.to_owned(), shape: shape.clone(), values: values.clone() })
        });
        weights::replace(model, tensors).unwrap()
    }

    fn tensor(&self, name: &str, device: &Device) -> Tensor<2> {
        let (shape, values) = &self.floats[name];
        let columns = shape.get(1).copied().unwrap_or(1);
        Tensor::from_data(TensorData::new(values.clone(), [values.len() / columns, columns]), device)
    }

    /// Everything that the model computes of this fixture on a device (one that records for gradients).
    pub fn measure(&self, device: &Device) -> Vec<Measured> {
        let mut all = Measurements::default();
        self.measure_spectrum_and_block(device, &mut all);
        self.measure_model("eval", device, &mut all);
        self.measure_model("train", device, &mut all);
        all.0
    }

    /// What the independent implementation found.
    pub fn reference(&self, name: &str) -> Vec<f32> {
        match self.integers.get(name) {
            Some((_, flags)) => flags.iter().map(|&flag| flag as f32).collect(),
            None => self.floats(name).to_vec(),
        }
    }

    fn measure_spectrum_and_block(&self, device: &Device, all: &mut Measurements) {
        let model = self.model(device);
        let batch = self.batch();
        let input = self.input(&batch, device);
        let spectrum = model.spectrum(&input);
        for (name, phi) in [("pe.phi_a", &spectrum.phi_a), ("pe.phi_c", &spectrum.phi_c)] {
            let columns_first = match self.config.layout {
                graphminnet::config::Layout::Channel => phi.clone(),
                graphminnet::config::Layout::Eigen => phi.clone().transpose(),
            };
            all.add(name, values(columns_first), LEAST);
        }
        if self.config.lap_dim > 0 {
            all.add("pe.p", values(spectrum.positions.clone()), LEAST);
            all.add("pe.valid", values(input.valid.clone()), LEAST);
        }

        let x = self.tensor("block.h_in", device).require_grad();
        let block = model.layers()[0].block().unwrap();
        let output = block.forward(x.clone(), &input, &spectrum, &self.config, 0, Pass::Eval);
        all.add("block.out", values(output.clone()), LEAST);
        let gradients = (output * self.tensor("block.loss_weight", device)).sum().backward();
        let least = 1e-2 * self.largest("block.grad");
        let grad = x.grad(&gradients).map_or_else(|| vec![0.0; x.shape().num_elements()], values);
        all.add("block.grad_h_in", grad, least);
        self.add_gradients("block.grad.", weights::named_gradients(block, &gradients), least, all);
    }

    fn measure_model(&self, mode: &str, device: &Device, all: &mut Measurements) {
        let model = self.model(device);
        let batch = self.batch();
        let input = self.input(&batch, device);
        let pass = if mode == "train" { Pass::Train { seed: 0 } } else { Pass::Eval };
        let order = self.edge_order(&batch);

        let trace = model.forward_traced(&input, pass);
        all.add(&format!("{mode}.out"), values(trace.output.clone()), LEAST);
        for (layer, nodes) in trace.nodes.iter().enumerate() {
            all.add(&format!("{mode}.nodes.{layer}"), values(nodes.clone()), LEAST);
        }
        let name = format!("{mode}.edges");
        if let (Some(edges), true) = (&trace.edges, self.floats.contains_key(&name)) {
            all.add(&name, unsort(&values(edges.clone()), &order), LEAST);
        }
        let loss = (trace.output * self.tensor("loss_weight", device)).sum();
        all.add(&format!("{mode}.loss"), values(loss.clone()), LEAST);

        let gradients = loss.backward();
        let least = 1e-2 * self.largest(&format!("{mode}.grad"));
        let prefix = format!("{mode}.grad.");
        self.add_gradients(&prefix, weights::named_gradients(&model, &gradients), least, all);
        self.add_input_gradients(mode, &input, &order, &gradients, least, all);

        if mode == "train" {
            let after = weights::named_tensors(&model);
            for tensor in after.into_iter().filter(|tensor| !tensor.is_parameter()) {
                all.add(&format!("train.buffer_after.{}", tensor.name), tensor.values, LEAST);
            }
            // A traced pass and a plain pass predict the same.
            all.add("train.out", values(self.model(device).forward(&input, pass)), LEAST);
        }
    }

    fn add_gradients(
        &self,
        prefix: &str,
        found: Vec<(String, Option<Vec<f32>>)>,
        least_scale: f64,
        all: &mut Measurements,
    ) {
        let expected = self.floats.keys().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(found.len(), expected, "{}: number of gradients {prefix}", self.name);
        for (name, gradient) in found {
            let name = format!("{prefix}{name}");
            let gradient = gradient.unwrap_or_else(|| vec![0.0; self.floats(&name).len()]);
            all.add(&name, gradient, least_scale);
        }
    }

    fn add_input_gradients(
        &self,
        mode: &str,
        input: &ModelInput,
        order: &[usize],
        gradients: &Gradients,
        least_scale: f64,
        all: &mut Measurements,
    ) {
        let numbers = |features: &FeatureInput| match features {
            FeatureInput::Numbers(numbers) => Some(numbers.clone()),
            _ => None,
        };
        let inputs = [
            ("x", numbers(&input.nodes)),
            ("edge_attr", numbers(&input.edges)),
            ("eigvals", Some(input.eigenvalues.clone())),
            ("eigvecs", Some(input.eigenvectors.clone())),
            ("rwse", input.random_walk.clone()),
            ("logdeg", input.log_degree.clone()),
        ];
        for (key, tensor) in inputs {
            let name = format!("{mode}.grad_in.{key}");
            let Some((_, reference)) = self.floats.get(&name) else { continue };
            let found = tensor.and_then(|tensor| tensor.grad(gradients)).map(values);
            let mut found = found.unwrap_or_else(|| vec![0.0; reference.len()]);
            if key == "edge_attr" {
                found = unsort(&found, order);
            }
            all.add(&name, found, least_scale);
        }
    }

    /// Largest absolute value over all tensors whose name starts with `prefix`.
    fn largest(&self, prefix: &str) -> f64 {
        let tensors = self.floats.iter().filter(|(name, _)| name.starts_with(prefix));
        tensors.flat_map(|(_, (_, values))| values).fold(0.0, |max, value| max.max(f64::from(value.abs())))
    }
}

/// Rows in the model's edge order back in the order of the fixture.
fn unsort(rows: &[f32], order: &[usize]) -> Vec<f32> {
    let width = if order.is_empty() { 0 } else { rows.len() / order.len() };
    let mut unsorted = vec![0.0; rows.len()];
    for (position, &given) in order.iter().enumerate() {
        unsorted[given * width..(given + 1) * width]
            .copy_from_slice(&rows[position * width..(position + 1) * width]);
    }
    unsorted
}
