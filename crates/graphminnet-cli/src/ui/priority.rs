//! Giving way to everything else on the machine.

/// Puts this process at the lowest priority.
///
/// Linux shares the processor between sessions first and within them second, so that a low priority alone has no effect
/// between two terminals: the process begins a session of its own, whose share is lowered too. Ctrl-C of the terminal then
/// does not reach it; who starts it must end it. What the system does not allow is left as it is: only the speed of others
/// depends on it.
#[cfg(unix)]
pub fn give_way() {
    const LOWEST: i32 = 19;
    if rustix::process::setsid().is_ok() {
        let _ = std::fs::write("/proc/self/autogroup", LOWEST.to_string());
    }
    let _ = rustix::process::setpriority_process(None, LOWEST);
}

/// Here there is no such call.
#[cfg(not(unix))]
pub fn give_way() {}
