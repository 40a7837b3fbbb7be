//! From how many hops away a prediction's gradient comes.

use super::{ExplainError, Explainer, Target, copies_at_once};
use crate::config::LevelKind;
use crate::model::Encoded;
use crate::nn::Pass;
use crate::ops::values;
use graphminnet_data::spectral::PreparedGraph;
use serde::Serialize;
use std::collections::VecDeque;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeOptions {
    /// Nodes `u` per graph, evenly spread over its nodes; all if there are fewer.
    pub nodes: usize,
    /// Which prediction, as for [`Explainer::explain`]; the node is ignored.
    pub output: Option<usize>,
}

impl Default for RangeOptions {
    fn default() -> Self {
        Self { nodes: 16, output: None }
    }
}

/// Shares of the gradient by hop distance, averaged over graphs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RangeReport {
    /// The share from each distance, from 0 on.
    pub shares: Vec<f64>,
    /// The share from nodes that no path leads to.
    pub unreachable: f64,
    /// The share of node pairs at each distance: what an even spread over all nodes would give.
    pub pairs: Vec<f64>,
    /// The share of node pairs that no path connects.
    pub unreachable_pairs: f64,
    /// Graphs that were measured; those whose prediction has no gradient are left out.
    pub graphs: usize,
    /// Nodes `u` that were measured.
    pub nodes: usize,
}

impl RangeReport {
    /// The share from more than this many hops away, unreachable nodes included.
    pub fn beyond(&self, hops: usize) -> f64 {
        self.shares.iter().skip(hops + 1).sum::<f64>() + self.unreachable
    }

    /// The mean distance of what is reachable, in hops.
    pub fn mean_hops(&self) -> f64 {
        let reachable: f64 = self.shares.iter().sum();
        let weighted: f64 = self.shares.iter().enumerate().map(|(hops, share)| hops as f64 * share).sum();
        if reachable > 0.0 { weighted / reachable } else { 0.0 }
    }

    /// Adds the shares of one more graph, all of which sum to 1.
    fn add(&mut self, graph: &Self) {
        let add = |sums: &mut Vec<f64>, values: &[f64]| {
            sums.resize(sums.len().max(values.len()), 0.0);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        add(&mut self.shares, &graph.shares);
        add(&mut self.pairs, &graph.pairs);
        self.unreachable += graph.unreachable;
        self.unreachable_pairs += graph.unreachable_pairs;
        self.graphs += 1;
        self.nodes += graph.nodes;
    }

    fn divide(&mut self, by: f64) {
        let all = self.shares.iter_mut().chain(&mut self.pairs);
        all.chain([&mut self.unreachable, &mut self.unreachable_pairs]).for_each(|value| *value /= by);
    }
}

impl Explainer {
    /// Measures where the gradients of the predictions for some graphs come from; every graph counts the same.
    ///
    /// # Errors
    ///
    /// [`ExplainError`] if a graph does not fit the model or the output does not exist.
    pub fn range(
        &self,
        graphs: &[&PreparedGraph],
        options: RangeOptions,
    ) -> Result<RangeReport, ExplainError> {
        let mut report = RangeReport::default();
        for graph in graphs {
            if let Some(one) = self.range_of(graph, options)? {
                report.add(&one);
            }
        }
        if report.graphs > 0 {
            report.divide(report.graphs as f64);
        }
        Ok(report)
    }

    /// One graph; `None` if no gradient arrives anywhere.
    fn range_of(
        &self,
        graph: &PreparedGraph,
        options: RangeOptions,
    ) -> Result<Option<RangeReport>, ExplainError> {
        let (count, hidden) = (graph.graph.num_nodes(), self.config().hidden);
        let chosen = spread(count, options.nodes);
        if chosen.is_empty() {
            return Ok(None);
        }
        let directions = self.directions(graph, &chosen, options.output)?;
        let mut report = RangeReport { nodes: chosen.len(), ..RangeReport::default() };
        let neighbours = graph.graph.undirected_neighbours();
        let (node_values, edge_values) = self.encoded_values(graph)?;
        let at_once = copies_at_once(graph);
        for (nodes, directions) in chosen.chunks(at_once).zip(directions.chunks(at_once)) {
            let (input, _) = self.copies(graph, nodes.len())?;
            let repeated = |values: &[f32]| values.repeat(nodes.len());
            let x = self.table(repeated(&node_values)).require_grad();
            let edges = edge_values.as_ref().map(|values| self.table(repeated(values)));
            let last = self.model.embed_encoded(Encoded { nodes: x.clone(), edges }, &input, Pass::Eval);
            // Copy number k is asked about node u_k alone.
            let mut weights = vec![0.0; nodes.len() * count * hidden];
            for (copy, (node, direction)) in nodes.iter().zip(directions).enumerate() {
                let start = (copy * count + node) * hidden;
                if let Some(place) = weights.get_mut(start..start + hidden) {
                    place.copy_from_slice(direction);
                }
            }
            let gradients = (last * self.table(weights)).sum().backward();
            let gradient = x.grad(&gradients).map(values).unwrap_or_default();
            for (copy, &node) in gradient.chunks(count * hidden).zip(nodes) {
                let hops = hops_from(node, &neighbours, count);
                for (slopes, hops) in copy.chunks(hidden).zip(&hops) {
                    let length = slopes.iter().map(|slope| f64::from(*slope).powi(2)).sum::<f64>().sqrt();
                    put(&mut report.shares, &mut report.unreachable, *hops, length);
                }
                for hops in hops {
                    put(&mut report.pairs, &mut report.unreachable_pairs, hops, 1.0);
                }
            }
        }
        let total = report.shares.iter().sum::<f64>() + report.unreachable;
        if !total.is_finite() {
            return Err(ExplainError::NonFinite { what: "gradient" });
        }
        if total <= 0.0 {
            return Ok(None);
        }
        let pairs = report.pairs.iter().sum::<f64>() + report.unreachable_pairs;
        report.shares.iter_mut().chain([&mut report.unreachable]).for_each(|share| *share /= total);
        report.pairs.iter_mut().chain([&mut report.unreachable_pairs]).for_each(|share| *share /= pairs);
        Ok(Some(report))
    }

    /// `∂y/∂h_u` for every chosen node: of its own prediction at node level, of the graph's otherwise.
    fn directions(
        &self,
        graph: &PreparedGraph,
        chosen: &[usize],
        output: Option<usize>,
    ) -> Result<Vec<Vec<f32>>, ExplainError> {
        let hidden = self.config().hidden;
        let (input, encoded) = self.copies(graph, 1)?;
        let last = values(self.model.embed_encoded(encoded, &input, Pass::Eval));
        let h = self.table(last).require_grad();
        let outputs = self.model.predict(h.clone(), &input);
        let sum = match self.config().level {
            level @ (LevelKind::Edge | LevelKind::Pair) => return Err(ExplainError::NotOfLevel { level }),
            LevelKind::Graph => {
                let output = self.output(graph, Target { node: None, output }, 0)?;
                outputs.narrow(1, output, 1).sum()
            }
            // The head looks at every node on its own, so one pass serves them all.
            LevelKind::Node => {
                let columns = self.config().out_dim;
                let mut mask = vec![0.0f32; graph.graph.num_nodes() * columns];
                for &node in chosen {
                    let output = self.output(graph, Target { node: Some(node), output }, node)?;
                    if let Some(place) = mask.get_mut(node * columns + output) {
                        *place = 1.0;
                    }
                }
                let shape = [graph.graph.num_nodes(), columns];
                let mask = burn::tensor::TensorData::new(mask, shape);
                (outputs * burn::tensor::Tensor::<2>::from_data(mask, &self.device)).sum()
            }
        };
        let gradient = h.grad(&sum.backward()).map(values).unwrap_or_default();
        let row = |node: &usize| gradient.get(node * hidden..(node + 1) * hidden);
        Ok(chosen.iter().map(|node| row(node).map_or_else(|| vec![0.0; hidden], <[f32]>::to_vec)).collect())
    }
}

fn put(shares: &mut Vec<f64>, unreachable: &mut f64, hops: Option<usize>, value: f64) {
    match hops {
        None => *unreachable += value,
        Some(hops) => {
            shares.resize(shares.len().max(hops + 1), 0.0);
            shares[hops] += value;
        }
    }
}

/// Up to `wanted` of `count` nodes, evenly spread.
fn spread(count: usize, wanted: usize) -> Vec<usize> {
    let wanted = wanted.min(count);
    (0..wanted).map(|at| at * count / wanted).collect()
}

/// The number of hops from a node to every node, directions ignored; `None` where no path leads.
fn hops_from(node: usize, (offsets, neighbours): &(Vec<u32>, Vec<u32>), count: usize) -> Vec<Option<usize>> {
    let mut hops = vec![None; count];
    hops[node] = Some(0);
    let mut queue = VecDeque::from([(node, 0)]);
    while let Some((node, distance)) = queue.pop_front() {
        for &other in &neighbours[offsets[node] as usize..offsets[node + 1] as usize] {
            let place = &mut hops[other as usize];
            if place.is_none() {
                *place = Some(distance + 1);
                queue.push_back((other as usize, distance + 1));
            }
        }
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::Graph;

    #[test]
    fn nodes_are_spread_and_hops_counted() {
        assert_eq!(spread(10, 3), [0, 3, 6]);
        assert_eq!(spread(2, 5), [0, 1]);
        assert!(spread(0, 5).is_empty());
        let graph = Graph::from_edges(4, vec![[0, 1], [2, 1]]).unwrap();
        let hops = hops_from(0, &graph.undirected_neighbours(), 4);
        assert_eq!(hops, [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn what_is_beyond_and_the_mean_are_those_of_the_shares() {
        let report = RangeReport { shares: vec![0.5, 0.25, 0.25], ..RangeReport::default() };
        assert_eq!((report.beyond(0), report.beyond(1), report.beyond(9)), (0.5, 0.25, 0.0));
        assert_eq!(report.mean_hops(), 0.75);
    }
}
