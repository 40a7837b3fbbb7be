//! The model against an independent float64 implementation: values, running statistics and every gradient.
//!
//! Runs every `*.safetensors` + `*.json` pair in `tests/fixtures/golden`, or in the folder that the environment
//! variable `GRAPHMINNET_GOLDEN` names.

use burn::tensor::{Device, Gradients, Tensor, TensorData};
use graphminnet::data::{Features, Graph, GraphBatch};
use graphminnet::model::{Encodings, FeatureInput, GraphMinNet, ModelInput};
use graphminnet::nn::Pass;
use graphminnet::{ModelConfig, weights};
use safetensors::SafeTensors;
use safetensors::tensor::Dtype;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Largest difference, relative to the scale of the tensor, that counts as equal (see the fixtures' README).
const TOLERANCE: f64 = 5e-4;

#[test]
fn every_fixture_agrees_in_values_statistics_and_gradients() {
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
    let mut failures = Vec::new();
    for json in &names {
        let fixture = Fixture::read(json);
        let mut report = Report::default();
        fixture.check_spectrum_and_block(&mut report);
        fixture.check_model("eval", &mut report);
        fixture.check_model("train", &mut report);
        let (worst, at) = report.worst();
        println!("{:32} {:4} tensors, worst {worst:.1e} ({at})", fixture.name, report.errors.len());
        assert!(
            report.errors.len() > 50,
            "{}: only {} tensors were compared",
            fixture.name,
            report.errors.len()
        );
        failures.extend(report.failures().map(|line| format!("{}: {line}", fixture.name)));
    }
    assert!(failures.is_empty(), "{} tensors differ:\n{}", failures.len(), failures.join("\n"));
}

/// Relative errors by tensor name.
#[derive(Default)]
struct Report {
    errors: Vec<(String, f64)>,
}

impl Report {
    fn compare(&mut self, name: &str, ours: &[f32], reference: &[f32], least_scale: f64) {
        assert_eq!(ours.len(), reference.len(), "{name} has another length");
        let largest = reference.iter().fold(0.0f64, |max, value| max.max(f64::from(value.abs())));
        // Where everything is zero (φ = zero), zeros have to be met to within rounding.
        let scale = largest.max(least_scale).max(1e-6);
        let error = ours.iter().zip(reference).map(|(a, b)| f64::from((a - b).abs()) / scale).fold(
            0.0,
            |max: f64, e| {
                if e.is_nan() { f64::INFINITY } else { max.max(e) }
            },
        );
        self.errors.push((name.to_owned(), error));
    }

    fn worst(&self) -> (f64, &str) {
        self.errors
            .iter()
            .map(|(name, error)| (*error, name.as_str()))
            .fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a })
    }

    fn failures(&self) -> impl Iterator<Item = String> + '_ {
        self.errors
            .iter()
            .filter(|(_, error)| *error > TOLERANCE)
            .map(|(name, error)| format!("{name} off by {error:.2e}"))
    }
}

struct Fixture {
    name: String,
    config: ModelConfig,
    floats: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    integers: BTreeMap<String, (Vec<usize>, Vec<i64>)>,
}

impl Fixture {
    fn read(json: &Path) -> Self {
        let name = json.file_stem().unwrap().to_string_lossy().into_owned();
        let description: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        let config: ModelConfig = serde_json::from_value(description["config"].clone()).unwrap();
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
    fn batch(&self) -> GraphBatch {
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
        GraphBatch::new(&graphs.iter().collect::<Vec<_>>()).unwrap()
    }

    /// Edges of one graph as positions in the fixture's edge list.
    fn edges_of(&self, graph: usize) -> Vec<usize> {
        let (graph_of_node, edge_index) = (self.integers("in.batch"), self.integers("in.edge_index"));
        (0..edge_index.len() / 2)
            .filter(|&e| graph_of_node[edge_index[e] as usize] as usize == graph)
            .collect()
    }

    /// For every edge in the model's order, its position in the fixture's edge list.
    fn edge_order(&self, batch: &GraphBatch) -> Vec<usize> {
        let by_graph: Vec<usize> = (0..batch.num_graphs()).flat_map(|graph| self.edges_of(graph)).collect();
        batch.topology().given_order.iter().map(|&given| by_graph[given as usize]).collect()
    }

    fn input(&self, batch: &GraphBatch, device: &Device) -> ModelInput {
        let pairs = self.config.stored_eigenpairs();
        let exist: Vec<usize> = self
            .integers("in.exist")
            .chunks(pairs)
            .map(|row| row.iter().map(|&flag| flag as usize).sum())
            .collect();
        let empty: Vec<f32> = Vec::new();
        let encodings = Encodings {
            eigenvalues: self.floats("in.eigvals"),
            eigenvectors: self.floats("in.eigvecs"),
            num_eigenpairs: &exist,
            usable_eigenpairs: &exist,
            random_walk: self.floats.get("in.rwse").map_or(&empty, |(_, values)| values),
            log_degree: self.floats("in.logdeg"),
        };
        let mut input = ModelInput::new(&self.config, batch, encodings, device).unwrap();
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

    fn check_spectrum_and_block(&self, report: &mut Report) {
        let device = Device::flex().autodiff();
        let model = self.model(&device);
        let batch = self.batch();
        let input = self.input(&batch, &device);
        let spectrum = model.spectrum(&input);
        for (name, phi) in [("pe.phi_a", &spectrum.phi_a), ("pe.phi_c", &spectrum.phi_c)] {
            let columns_first = match self.config.layout {
                graphminnet::config::Layout::Channel => phi.clone(),
                graphminnet::config::Layout::Eigen => phi.clone().transpose(),
            };
            report.compare(name, &values(columns_first), self.floats(name), 1e-3);
        }
        if self.config.lap_dim > 0 {
            report.compare("pe.p", &values(spectrum.positions.clone()), self.floats("pe.p"), 1e-3);
            let valid: Vec<f32> = self.integers("pe.valid").iter().map(|&flag| flag as f32).collect();
            report.compare("pe.valid", &values(input.valid.clone()), &valid, 1e-3);
        }

        let x = self.tensor("block.h_in", &device).require_grad();
        let block = model.layers()[0].block().unwrap();
        let output = block.forward(x.clone(), &input, &spectrum, &self.config, 0, Pass::Eval);
        report.compare("block.out", &values(output.clone()), self.floats("block.out"), 1e-3);
        let gradients = (output * self.tensor("block.loss_weight", &device)).sum().backward();
        let least = 1e-2 * self.largest("block.grad");
        let grad = x.grad(&gradients).map_or_else(|| vec![0.0; x.shape().num_elements()], values);
        report.compare("block.grad_h_in", &grad, self.floats("block.grad_h_in"), least);
        self.compare_gradients("block.grad.", weights::named_gradients(block, &gradients), least, report);
    }

    fn check_model(&self, mode: &str, report: &mut Report) {
        let device = Device::flex().autodiff();
        let model = self.model(&device);
        let batch = self.batch();
        let input = self.input(&batch, &device);
        let pass = if mode == "train" { Pass::Train { seed: 0 } } else { Pass::Eval };
        let order = self.edge_order(&batch);

        let trace = model.forward_traced(&input, pass);
        report.compare(
            &format!("{mode}.out"),
            &values(trace.output.clone()),
            self.floats(&format!("{mode}.out")),
            1e-3,
        );
        for (layer, nodes) in trace.nodes.iter().enumerate() {
            let name = format!("{mode}.nodes.{layer}");
            report.compare(&name, &values(nodes.clone()), self.floats(&name), 1e-3);
        }
        let name = format!("{mode}.edges");
        if let (Some(edges), Some((_, reference))) = (&trace.edges, self.floats.get(&name)) {
            report.compare(&name, &unsort(&values(edges.clone()), &order), reference, 1e-3);
        }
        let loss = (trace.output * self.tensor("loss_weight", &device)).sum();
        let name = format!("{mode}.loss");
        report.compare(&name, &values(loss.clone()), self.floats(&name), 1e-3);

        let gradients = loss.backward();
        let least = 1e-2 * self.largest(&format!("{mode}.grad"));
        let prefix = format!("{mode}.grad.");
        self.compare_gradients(&prefix, weights::named_gradients(&model, &gradients), least, report);
        self.compare_input_gradients(mode, &input, &order, &gradients, least, report);

        if mode == "train" {
            let after = weights::named_tensors(&model);
            for tensor in after.iter().filter(|tensor| !tensor.is_parameter()) {
                let name = format!("train.buffer_after.{}", tensor.name);
                report.compare(&name, &tensor.values, self.floats(&name), 1e-3);
            }
            // A traced pass and a plain pass predict the same.
            let plain = values(self.model(&device).forward(&input, pass));
            report.compare("train.out (plain)", &plain, self.floats("train.out"), 1e-3);
        }
    }

    fn compare_gradients(
        &self,
        prefix: &str,
        found: Vec<(String, Option<Vec<f32>>)>,
        least_scale: f64,
        report: &mut Report,
    ) {
        let expected = self.floats.keys().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(found.len(), expected, "{}: number of gradients {prefix}", self.name);
        for (name, gradient) in found {
            let name = format!("{prefix}{name}");
            let reference = self.floats(&name);
            let gradient = gradient.unwrap_or_else(|| vec![0.0; reference.len()]);
            report.compare(&name, &gradient, reference, least_scale);
        }
    }

    fn compare_input_gradients(
        &self,
        mode: &str,
        input: &ModelInput,
        order: &[usize],
        gradients: &Gradients,
        least_scale: f64,
        report: &mut Report,
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
            report.compare(&name, &found, reference, least_scale);
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

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}
