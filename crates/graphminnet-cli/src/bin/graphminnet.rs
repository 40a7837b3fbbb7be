//! The `graphminnet` command.

fn main() -> std::process::ExitCode {
    graphminnet_cli::run()
}
