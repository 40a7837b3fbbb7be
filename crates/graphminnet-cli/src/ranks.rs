//! One command in several processes: `mpirun -n 4 graphminnet train …`.
//!
//! Rank 0 is the command. The others have read the same arguments, but only do what rank 0 asks for, and say nothing unless
//! they fail. A process that fails or panics ends all of them, because the others would wait for it for ever.

#[cfg(feature = "mpi")]
mod mpi;

use crate::cmd::train::execute::Context;
use crate::failure::Failure;
#[cfg(any(feature = "lab", feature = "mpi"))]
use graphminnet_data::exchange::Exchange;
use std::process::ExitCode;
#[cfg(any(feature = "lab", feature = "mpi"))]
use std::sync::Arc;

/// Does the same work on all processes that `mpirun` or `srun` started.
///
/// # Errors
///
/// Those of the work, if no other process waits for this one. Does not return otherwise.
#[cfg(feature = "lab")]
pub fn on_all(
    work: impl FnOnce(Arc<dyn Exchange>) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    #[cfg(feature = "mpi")]
    if let Some(world) = mpi::World::join()? {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let world = Arc::new(world);
        let exchange: Arc<dyn Exchange> = Arc::clone(&world) as _;
        return match catch_unwind(AssertUnwindSafe(|| work(exchange))) {
            Ok(Err(failure)) if world.size() > 1 => {
                let code = failure.code();
                failure.report();
                world.abort(code)
            }
            Ok(done) => done,
            Err(_) => world.abort(101),
        };
    }
    work(Arc::new(graphminnet_data::exchange::Alone))
}

/// Does some work as the only process.
#[cfg(not(feature = "mpi"))]
pub fn together(
    context: &Context,
    work: impl FnOnce(&Context) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    work(context)
}

/// Does some work as one of the processes that `mpirun` or `srun` started, or as the only one.
///
/// # Errors
///
/// Those of the work, if no other process waits for this one. Does not return otherwise.
#[cfg(feature = "mpi")]
pub fn together(
    context: &Context,
    work: impl FnOnce(&Context) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    use crate::ui::say::{Verbosity, say};
    use graphminnet::train::{Resources, assist, dismiss};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let Some(world) = mpi::World::join()? else { return work(context) };
    let world = Arc::new(world);
    let exchange: Arc<dyn Exchange> = Arc::clone(&world) as _;
    if exchange.is_alone() {
        return work(context);
    }
    let resources = Resources { exchange: Arc::clone(&exchange), ..context.resources.clone() };
    let context = Context {
        resources,
        interrupt: context.interrupt.clone(),
        command: context.command.clone(),
        ..*context
    };
    let rank = exchange.rank();
    // Processes that want different things are not ranks of one command.
    let asked = exchange.collect(context.command.join("\0").into_bytes());
    if let Some(other) = asked.iter().position(|command| *command != asked[0]) {
        return match rank {
            0 => Err(Failure::usage(format!(
                "rank {other} was started with other arguments than rank 0; give all ranks the same, or start programs \
                 that have nothing to do with each other without MPI (srun --mpi=none)"
            ))),
            _ => Ok(ExitCode::SUCCESS),
        };
    }
    let quiet = world.traffic();
    let ended = catch_unwind(AssertUnwindSafe(|| match rank {
        0 => work(&context),
        _ => Ok(assist(&context.resources, context.interrupt.heed()).map(|()| ExitCode::SUCCESS)?),
    }));
    let code = match ended {
        Ok(Ok(code)) => {
            if rank == 0 {
                dismiss(&context.resources);
            }
            code
        }
        // Nothing was begun: the others wait to be asked.
        Ok(Err(failure)) if rank == 0 && world.traffic() == quiet => {
            dismiss(&context.resources);
            return Err(failure);
        }
        Ok(Err(failure)) => {
            if rank > 0 {
                say!("rank {rank} of {} failed:", exchange.size());
            }
            let code = failure.code();
            failure.report();
            world.abort(code)
        }
        Err(_) => world.abort(101),
    };
    if context.verbosity >= Verbosity::Verbose {
        say!("rank {rank} of {}: {}", exchange.size(), world.traffic());
    }
    Ok(code)
}
