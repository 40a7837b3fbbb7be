//! The systems of the paper's table of results that can be run here. Most have the same encoders, heads and protocol,
//! with other branches inside the layers; some are models of their own ([`crate::systems`]).

use super::ReproError;
use crate::paper;
use crate::systems::NAMES;
use graphminnet::config::{ConfigError, EdgeEncoderKind, Override, Recipe};

/// Whether a system is a model of its own, with its own configuration files.
pub fn is_own_model(system: &str) -> bool {
    NAMES.contains(&system)
}

/// Fails if a system is not runnable.
///
/// # Errors
///
/// [`ReproError::Unknown`].
pub fn check(system: &str) -> Result<(), ReproError> {
    if paper::systems().any(|name| name == system) {
        return Ok(());
    }
    let known = paper::systems().collect::<Vec<_>>().join(", ");
    Err(ReproError::Unknown { what: "the system", name: system.escape_debug().to_string(), known })
}

/// How a recipe is changed to become a system that is no model of its own.
///
/// GIN(E) reads edge features where the data has them; GraphGPS keeps the recipe's local branch beside attention, as its
/// own published configurations do.
///
/// # Errors
///
/// [`ReproError::Unknown`] if the system is not known, [`ReproError::Usage`] if it is a model of its own.
pub fn changes(system: &str, recipe: &Recipe) -> Result<Vec<Override>, ReproError> {
    let has_edges = !matches!(recipe.model.edge_encoder, EdgeEncoderKind::Dummy | EdgeEncoderKind::None);
    let texts: &[&str] = match system {
        "gcn" => &["model.local=gcn", "model.global=none"],
        "gin" if has_edges => &["model.local=gine", "model.global=none"],
        "gin" => &["model.local=gin", "model.global=none"],
        "gat" => &["model.local=gat", "model.global=none"],
        "gatedgcn" => &["model.local=gatedgcn", "model.global=none"],
        "graphgps" => &["model.global=attention"],
        "gssc" => &["model.global=gssc"],
        "graphminnet" => &[],
        other => {
            check(other)?;
            return Err(ReproError::Usage(format!(
                "{} is a model of its own, not a variant of GraphMinNet; `repro table1` trains it",
                paper::title(other)
            )));
        }
    };
    let parsed: Result<Vec<Override>, ConfigError> = texts.iter().map(|text| Override::parse(text)).collect();
    Ok(parsed?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet::config::{GlobalKind, LocalKind, with_overrides};

    #[test]
    fn systems_differ_in_their_branches_only() {
        let recipe = Recipe::named("zinc").unwrap();
        for (system, local, global) in [
            ("gin", LocalKind::Gine, GlobalKind::None),
            ("graphgps", LocalKind::Gine, GlobalKind::Attention),
            ("gssc", LocalKind::Gine, GlobalKind::Gssc),
            ("graphminnet", LocalKind::Gine, GlobalKind::Graphminnet),
        ] {
            let changes = changes(system, &recipe).unwrap();
            let made = with_overrides("zinc", Recipe::table("zinc").unwrap(), &changes).unwrap();
            assert_eq!((made.model.local, made.model.global), (local, global), "{system}");
            assert_eq!(made.train, recipe.train);
        }
        assert!(changes("grit", &recipe).is_err());
    }
}
