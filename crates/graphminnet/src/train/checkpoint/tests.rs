//! States are saved whole, found again, and refused where they are damaged.

use super::*;
use std::fs;

fn checkpoint(step: u64) -> Checkpoint {
    let mut state = TrainState::new(0, "config".into(), "data".into());
    state.global_step = step;
    state.sums.loss = 0.1 + 0.2;
    let bytes = |tag: &str| format!("{tag} of step {step}").repeat(50).into_bytes();
    Checkpoint {
        model: bytes("model"),
        optimizer: bytes("optimizer"),
        best: Some(bytes("best")),
        average: Some(bytes("average")),
        carried: Some(bytes("carried")),
        seen: Some(bytes("seen")),
        state,
    }
}

fn three_saved() -> (tempfile::TempDir, Checkpoints) {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().join("state"));
    assert!(checkpoints.load().unwrap().is_none());
    for step in 1..=3 {
        checkpoints.save(&checkpoint(step)).unwrap();
    }
    (folder, checkpoints)
}

#[test]
fn the_newest_state_comes_back_and_two_are_kept() {
    let (_folder, checkpoints) = three_saved();
    assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(3), vec![])));
    assert_eq!(checkpoints.names(), ["step-00000003", "step-00000002"]);
}

#[test]
fn a_kill_between_the_first_state_and_its_name_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().join("state"));
    checkpoints.save(&checkpoint(1)).unwrap();
    fs::remove_file(checkpoints.folder.join(CURRENT)).unwrap();
    assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(1), vec![])));
}

#[test]
fn a_step_with_more_digits_is_a_later_one() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(folder.path().join("state"));
    for step in [99_999_998, 99_999_999, 100_000_000] {
        checkpoints.save(&checkpoint(step)).unwrap();
    }
    assert_eq!(checkpoints.names(), ["step-100000000", "step-99999999"]);
}

#[test]
fn saving_a_state_again_keeps_it() {
    let (_folder, checkpoints) = three_saved();
    checkpoints.save(&checkpoint(3)).unwrap();
    assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(3), vec![])));
    assert_eq!(checkpoints.names().len(), 2);
}

/// Damages every file in several ways; the state before must be used, and the damage named.
#[test]
fn every_kind_of_damage_is_noticed_and_the_previous_state_is_used() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [(&str, Damage); 5] = [
        ("emptied", |_| Vec::new()),
        ("cut in half", |bytes| bytes[..bytes.len() / 2].to_vec()),
        ("one byte short", |bytes| bytes[..bytes.len() - 1].to_vec()),
        ("one bit flipped", |bytes| {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        }),
        ("zeroed", |bytes| vec![0; bytes.len()]),
    ];
    for file in [MODEL, OPTIMIZER, BEST, AVERAGE, STATE, MANIFEST] {
        for (what, damage) in damages {
            let (_folder, checkpoints) = three_saved();
            let path = checkpoints.folder.join("step-00000003").join(file);
            fs::write(&path, damage(&fs::read(&path).unwrap())).unwrap();
            let (loaded, problems) = checkpoints.load().unwrap().unwrap();
            assert_eq!(loaded, checkpoint(2), "{file} {what}");
            assert_eq!(problems.len(), 1, "{file} {what}");
            // The next save replaces the damaged state.
            checkpoints.save(&checkpoint(3)).unwrap();
            assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(3), vec![])), "{file} {what}");
        }
        let (_folder, checkpoints) = three_saved();
        fs::remove_file(checkpoints.folder.join("step-00000003").join(file)).unwrap();
        assert_eq!(checkpoints.load().unwrap().unwrap().0, checkpoint(2), "{file} removed");
    }
}

#[test]
fn swapped_files_and_swapped_states_are_noticed() {
    let (_folder, checkpoints) = three_saved();
    let path = |step: u64, file: &str| checkpoints.folder.join(format!("step-{step:08}")).join(file);
    fs::copy(path(2, MODEL), path(3, MODEL)).unwrap();
    assert_eq!(checkpoints.load().unwrap().unwrap().0, checkpoint(2));

    let (_folder, checkpoints) = three_saved();
    let state = |step: u64| checkpoints.folder.join(format!("step-{step:08}"));
    fs::rename(state(3), checkpoints.folder.join("aside")).unwrap();
    fs::rename(state(2), state(3)).unwrap();
    fs::rename(checkpoints.folder.join("aside"), state(2)).unwrap();
    let problems = checkpoints.load().unwrap_err();
    assert_eq!(problems.len(), 2);
}

#[test]
fn without_the_pointer_the_newest_intact_state_is_used_and_that_is_said() {
    for pointer in [None, Some("step-00000009"), Some("../../elsewhere"), Some("")] {
        let (_folder, checkpoints) = three_saved();
        match pointer {
            None => fs::remove_file(checkpoints.folder.join(CURRENT)).unwrap(),
            Some(text) => fs::write(checkpoints.folder.join(CURRENT), text).unwrap(),
        }
        let (loaded, problems) = checkpoints.load().unwrap().unwrap();
        assert_eq!(loaded, checkpoint(3));
        assert_eq!(problems.len(), 1);
    }
}

#[test]
fn leftovers_of_a_killed_save_are_ignored_and_then_removed() {
    let (_folder, checkpoints) = three_saved();
    let leftover = checkpoints.folder.join("step-00000004.tmp-1");
    fs::create_dir(&leftover).unwrap();
    fs::write(leftover.join(MODEL), b"half").unwrap();
    assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(3), vec![])));
    checkpoints.save(&checkpoint(4)).unwrap();
    assert!(!leftover.exists());
}

#[test]
fn a_state_that_was_never_pointed_at_is_replaced() {
    let (_folder, checkpoints) = three_saved();
    // Killed between the renaming of state 4 and the pointer: state 3 is resumed and comes to 4 again.
    let mut orphan = checkpoint(4);
    orphan.state.metrics_length = 77;
    checkpoints.save(&orphan).unwrap();
    fs::write(checkpoints.folder.join(CURRENT), "step-00000003\n").unwrap();
    checkpoints.save(&checkpoint(4)).unwrap();
    assert_eq!(checkpoints.load().unwrap(), Some((checkpoint(4), vec![])));
}

#[test]
fn a_failed_save_is_an_error_and_leaves_the_old_states() {
    let (_folder, checkpoints) = three_saved();
    // The name of the new state is taken by a file that is not a folder.
    fs::write(checkpoints.folder.join("step-00000004"), b"").unwrap();
    assert!(checkpoints.save(&checkpoint(4)).is_err());
    assert_eq!(checkpoints.load().unwrap().unwrap().0, checkpoint(3));
}
