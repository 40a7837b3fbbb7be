//! The usual fields of targets.

use crate::formats::jsonl::AS_SAID;
use crate::formats::jsonl::parse::Line;
use crate::formats::jsonl::values::{Cell, Rows, Target};
use crate::{Level, ReadOptions};

/// The usual fields of a line that can hold targets.
#[derive(Default)]
pub(in crate::formats::jsonl) struct Fields {
    target: Option<Target>,
    of_nodes: Option<Rows>,
    of_edges: Option<Rows>,
    of_pairs: Option<Rows>,
    has_pairs: bool,
}

impl Fields {
    pub(super) fn take(line: &mut Line) -> Self {
        Self {
            target: line.target.take(),
            of_nodes: line.node_target.take(),
            of_edges: line.edge_target.take(),
            of_pairs: line.pair_target.take(),
            has_pairs: line.pairs.is_some(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.target.is_none() && self.of_nodes.is_none() && self.of_edges.is_none() && self.of_pairs.is_none()
    }

    /// Whether `target` is a list of values, which may be those of the graph or one for each node.
    pub(in crate::formats::jsonl) fn is_flat(&self) -> bool {
        matches!(self.target, Some(Target::Flat(_)))
    }

    /// The field of this name alone, where the line has it: another one is not what was asked for.
    pub(super) fn only(self, name: &str) -> Self {
        let none = Self { has_pairs: self.has_pairs, ..Self::default() };
        match name {
            "target" | "y" if self.target.is_some() => Self { target: self.target, ..none },
            "node_target" if self.of_nodes.is_some() => Self { of_nodes: self.of_nodes, ..none },
            "edge_target" if self.of_edges.is_some() => Self { of_edges: self.of_edges, ..none },
            "pair_target" | "edge_label" if self.of_pairs.is_some() => {
                Self { of_pairs: self.of_pairs, ..none }
            }
            _ => self,
        }
    }

    /// A list of values in `target` as one target for each node, as in a field of any other name that is asked for.
    pub(super) fn one_target(mut self, num_nodes: usize, asked: Option<Level>) -> Self {
        let is_of_nodes = |cells: &Vec<Cell>| {
            cells.len() == num_nodes && (asked == Some(Level::Node) || asked.is_none() && num_nodes > 1)
        };
        self.target = match self.target {
            Some(Target::Flat(cells)) if is_of_nodes(&cells) => {
                Some(Target::Nested(Rows { rows: num_nodes, columns: 1, cells }))
            }
            other => other,
        };
        self
    }

    /// Level and rows of the targets; `None` if the line has none.
    ///
    /// The level that was asked for decides which field is looked at; otherwise the first one that is there.
    pub(in crate::formats::jsonl) fn targets(
        self,
        num_nodes: usize,
        num_edges: usize,
        options: &ReadOptions,
    ) -> (Level, Option<Rows>) {
        let asked = options.asked_level();
        if let (true, Some(level)) = (options.ignore_targets, asked) {
            return (level, None);
        }
        let Self { target, of_nodes, of_edges, of_pairs, has_pairs } = self;
        let is_asked = |level: Level| asked.is_none_or(|asked| asked == level);
        match (of_nodes, of_edges, of_pairs) {
            // Targets of nodes have always come first, whatever was asked for.
            (Some(rows), ..) if !matches!(asked, Some(Level::Edge | Level::Pair)) => {
                return (Level::Node, Some(rows));
            }
            (_, Some(rows), _) if is_asked(Level::Edge) && (asked.is_some() || target.is_none()) => {
                return (Level::Edge, Some(rows));
            }
            (_, _, Some(rows)) if is_asked(Level::Pair) && (asked.is_some() || target.is_none()) => {
                return (Level::Pair, Some(rows));
            }
            _ => {}
        }
        let usual = if has_pairs && target.is_none() { Level::Pair } else { Level::Graph };
        let level = asked.unwrap_or(usual);
        match target {
            None => (level, None),
            Some(Target::Flat(cells)) if cells.is_empty() => (level, None),
            Some(Target::Nested(rows)) => match asked {
                Some(level @ (Level::Edge | Level::Pair)) => (level, Some(rows)),
                _ => (Level::Node, Some(rows)),
            },
            Some(Target::Flat(cells)) => {
                let per_node = asked
                    .map_or_else(|| is_per_node(&cells, num_nodes, options), |level| level == Level::Node);
                let level = match asked {
                    // How many there are is checked as in every format.
                    Some(level @ (Level::Node | Level::Edge)) if options.rules >= AS_SAID => level,
                    Some(Level::Edge) if cells.len() == num_edges => Level::Edge,
                    Some(Level::Pair) => Level::Pair,
                    _ if per_node && cells.len() == num_nodes => Level::Node,
                    _ => Level::Graph,
                };
                let rows = if level == Level::Graph { 1 } else { cells.len() };
                (level, Some(Rows { rows, columns: cells.len() / rows.max(1), cells }))
            }
        }
    }
}

/// Targets that a graph may well have: a flat list of more, as long as the graph has nodes, has one for each node.
const FEW_TARGETS: usize = 64;

fn is_per_node(cells: &[Cell], num_nodes: usize, options: &ReadOptions) -> bool {
    options.rules >= 3 && cells.len() > FEW_TARGETS && cells.len() == num_nodes
}
