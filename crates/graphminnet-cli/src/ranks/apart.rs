//! Processes that were started together, but that MPI does not join: each would do all of the work.

/// How starters tell a process how many were started, and which one it is.
const STARTERS: [(&str, &str); 3] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

/// What the first of several processes says that are alone nevertheless; the others say nothing.
pub fn apart(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let number = |name| variable(name)?.parse::<u64>().ok();
    let starter = |(size, rank)| Some((number(size)?, number(rank)?));
    let (size, rank) = STARTERS.into_iter().filter_map(starter).find(|(size, _)| *size > 1)?;
    let advice = if cfg!(feature = "mpi") {
        "start them with the MPI that this program was built with (`srun --mpi=list`, then `srun --mpi=pmix` or \
         `--mpi=pmi2`)"
    } else {
        "this program was built without MPI (`cargo install --path crates/graphminnet-cli --features mpi`)"
    };
    (rank == 0).then(|| {
        format!(
            "warning: {size} processes were started together but know nothing of each other, and each does all of \
             the work; to work together: {advice}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn the_first_of_several_processes_says_that_they_are_alone() {
        let said = |variables: &[(&str, &str)]| {
            apart(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")]), None);
        assert_eq!(said(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")]), None);
        assert_eq!(said(&[("SLURM_STEP_NUM_TASKS", "many"), ("SLURM_PROCID", "0")]), None);
        for (size, rank) in super::STARTERS {
            let text = said(&[(size, "3"), (rank, "0")]).unwrap();
            assert!(text.starts_with("warning: 3 processes were started together"), "{text}");
        }
    }
}
