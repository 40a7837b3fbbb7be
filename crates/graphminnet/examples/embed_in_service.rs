//! A model inside a service: JSON Lines in over TCP, a line with the prediction, or the reason why there is none, out.

use graphminnet::Ensemble;
use graphminnet::data::{Format, ReadOptions, RowReader};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn answer(ensemble: &Ensemble, stream: TcpStream) -> Result<(), Failure> {
    let options = ReadOptions { format: Some(Format::Jsonl), ..ensemble.description().read_options() };
    let mut out = stream.try_clone()?;
    let mut rows = RowReader::from_stream(Box::new(stream), "request", &options)?;
    let mut some = rows.next_rows(256)?;
    while !some.is_empty() {
        for (row, answer) in some.iter().zip(ensemble.answer(&some).iter()) {
            match answer {
                Ok(answer) => writeln!(out, "{}: {:?}", row.id, answer.values())?,
                Err(reason) => writeln!(out, "{}: {reason}", row.id)?,
            }
        }
        some = rows.next_rows(256)?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundles/v1");
    let ensemble = Ensemble::load(&[folder.join("model.gmn")])?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut client, mut said) = (TcpStream::connect(listener.local_addr()?)?, String::new());
    let server = std::thread::spawn(move || answer(&ensemble, listener.accept()?.0));
    let graphs = std::fs::read_to_string(folder.join("graphs.jsonl"))?;
    writeln!(client, "{graphs}{{\"edges\": [[0, 1]]}}")?;
    client.shutdown(Shutdown::Write)?;
    client.read_to_string(&mut said)?;
    print!("{said}");
    server.join().map_err(|_| "the service failed")?
}
