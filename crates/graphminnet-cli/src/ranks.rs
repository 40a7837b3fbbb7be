//! One command in several processes: `mpirun -n 4 graphminnet train …`.
//!
//! In training, rank 0 is the command. The others have read the same arguments, but only do what rank 0 asks for, and say
//! nothing unless they fail. A process that fails or panics ends all of them, because the others would wait for it for ever.
//!
//! Work that can be cut into shards needs no such bond: every rank does its own shard, and what the others did is kept if
//! one fails.

mod apart;
#[cfg(feature = "mpi")]
mod mpi;

use crate::cmd::shards::Sharded;
use crate::cmd::train::execute::Context;
use crate::failure::Failure;
use crate::ui::say::say;
use graphminnet_data::exchange::Exchange;
use std::process::ExitCode;
use std::sync::Arc;

/// Warns if other processes were started with this one that it knows nothing of.
fn warn_if_apart() {
    if let Some(warning) = apart::apart(|name| std::env::var(name).ok()) {
        say!("{warning}");
    }
}

/// Does the same work on all processes that `mpirun` or `srun` started.
///
/// # Errors
///
/// Those of the work, if no other process waits for this one. Does not return otherwise.
pub fn on_all(
    work: impl FnOnce(Arc<dyn Exchange>) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    #[cfg(feature = "mpi")]
    if let Some(world) = mpi::World::join()? {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let world = Arc::new(world);
        let exchange: Arc<dyn Exchange> = Arc::clone(&world) as _;
        if let Some(ended) = refuse_strangers(&*exchange) {
            return ended;
        }
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
    warn_if_apart();
    work(Arc::new(graphminnet_data::exchange::Alone))
}

/// Does all of some work, or the shard of it that the arguments name.
#[cfg(not(feature = "mpi"))]
pub fn in_shards(mut arguments: impl Sharded) -> Result<ExitCode, Failure> {
    if arguments.shards().shard().is_none() {
        warn_if_apart();
    }
    arguments.run()
}

/// Does all of some work, or the shard of it that the arguments name, or, among several processes that were started
/// together, the shard of this rank. When all are done, rank 0 puts the results together.
///
/// # Errors
///
/// Those of the work. A rank that fails says so itself, and the others finish their shards.
#[cfg(feature = "mpi")]
pub fn in_shards(mut arguments: impl Sharded) -> Result<ExitCode, Failure> {
    use graphminnet_data::Shard;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    if arguments.shards().shard().is_some() {
        return arguments.run();
    }
    let world = mpi::World::join()?.filter(|world| world.size() > 1);
    let Some(world) = world else {
        warn_if_apart();
        return arguments.run();
    };
    let exchange: &dyn Exchange = &world;
    if let Some(ended) = refuse_strangers(exchange) {
        return ended;
    }
    let (rank, size) = (exchange.rank(), exchange.size());
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    arguments.shards().set(Some(Shard::new(number(rank + 1), number(size)).map_err(Failure::usage)?));
    let code = match catch_unwind(AssertUnwindSafe(|| arguments.run())) {
        Ok(Ok(_)) => 0,
        Ok(Err(failure)) => {
            say!("rank {rank} of {size} failed:");
            let code = failure.code();
            failure.report();
            code
        }
        Err(_) => world.abort(101),
    };
    let codes = exchange.collect(vec![code]);
    let failed = codes.iter().zip(1..).filter(|(code, _)| **code != [0]);
    let failed: Vec<String> = failed.map(|(_, number): (_, u32)| format!("{number}/{size}")).collect();
    arguments.shards().set(None);
    match (rank, failed.is_empty()) {
        (0, true) => arguments.join(),
        (0, false) => {
            say!(
                "the results of the other shards are kept; start the command without `mpirun` and with --shard for \
                 each that failed ({}), then join the parts",
                failed.join(", ")
            );
            Ok(ExitCode::from(codes.iter().flatten().copied().find(|code| *code != 0).unwrap_or(1)))
        }
        _ => Ok(ExitCode::from(code)),
    }
}

/// Processes that want different things are not ranks of one command: rank 0 says so, and all end.
#[cfg(feature = "mpi")]
fn refuse_strangers(exchange: &dyn Exchange) -> Option<Result<ExitCode, Failure>> {
    let asked = exchange.collect(crate::cmd::command_line().join("\0").into_bytes());
    let other = asked.iter().position(|command| *command != asked[0])?;
    Some(match exchange.rank() {
        0 => Err(Failure::usage(format!(
            "rank {other} was started with other arguments than rank 0; give all ranks the same, or start programs \
             that have nothing to do with each other without MPI (srun --mpi=none)"
        ))),
        _ => Ok(ExitCode::SUCCESS),
    })
}

/// Does some work as the only process.
#[cfg(not(feature = "mpi"))]
pub fn together(
    context: &Context,
    work: impl FnOnce(&Context) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    warn_if_apart();
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
    use crate::ui::say::Verbosity;
    use graphminnet::train::{assist, dismiss};
    use graphminnet_data::fs::peak_memory;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let world = mpi::World::join()?.filter(|world| world.size() > 1);
    let Some(world) = world else {
        warn_if_apart();
        return work(context);
    };
    let world = Arc::new(world);
    let exchange: Arc<dyn Exchange> = Arc::clone(&world) as _;
    let mut context = context.clone();
    context.resources.exchange = Arc::clone(&exchange);
    let rank = exchange.rank();
    if let Some(ended) = refuse_strangers(&*exchange) {
        return ended;
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
        let memory = peak_memory().map(|bytes| format!(", {:.3} GB of memory at most", bytes as f64 / 1e9));
        say!("rank {rank} of {}: {}{}", exchange.size(), world.traffic(), memory.unwrap_or_default());
    }
    Ok(code)
}
