fn main() {
    let path = std::env::args().nth(1).unwrap();
    let start = std::time::Instant::now();
    let read = graphminnet_data::data::open(path.as_ref(), &Default::default()).unwrap();
    eprintln!("{} in {:?}", read.dataset.samples.len(), start.elapsed());
}
