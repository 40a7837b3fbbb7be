//! Times the kernels at the shapes of the paper's datasets: `cargo bench -p graphminnet-kernels [-- filter]`.
//!
//! Each line is the least time of many runs, on all threads of the global pool.

use graphminnet_kernels::linear::{Activation, LinearGradients, LinearShape, linear, linear_backward};
use std::time::{Duration, Instant};

/// Repeatable values in (-1, 1).
fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / 2_147_483_648.0 - 1.0
        })
        .collect()
}

struct Bench {
    filter: Option<String>,
}

impl Bench {
    fn run(&self, name: &str, flop: f64, mut work: impl FnMut() + Send) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            return;
        }
        work();
        let (mut best, mut runs, start) = (Duration::MAX, 0, Instant::now());
        while runs < 5 || (start.elapsed() < Duration::from_millis(400) && runs < 5000) {
            let begin = Instant::now();
            work();
            best = best.min(begin.elapsed());
            runs += 1;
        }
        let seconds = best.as_secs_f64();
        println!("{name:<44} {:>9.1} us {:>7.1} GFLOP/s", seconds * 1e6, flop / seconds / 1e9);
    }
}

fn linear_shapes(bench: &Bench) {
    for (rows, inputs, outputs) in [
        (740, 64, 64),
        (740, 64, 128),
        (740, 128, 64),
        (1872, 36, 72),
        (19328, 100, 100),
        (19328, 100, 200),
        (39296, 100, 100),
        (39296, 100, 200),
        (68800, 36, 36),
        (7664, 96, 192),
    ] {
        let shape = LinearShape { rows, inputs, outputs };
        let (x, weight, bias) = (values(rows * inputs, 1), values(inputs * outputs, 2), values(outputs, 3));
        let dy = values(rows * outputs, 4);
        let mut y = vec![0.0; rows * outputs];
        let (mut dx, mut dw, mut db) = (x.clone(), weight.clone(), bias.clone());
        let flop = 2.0 * (rows * inputs * outputs) as f64;
        let name = format!("{rows}x{inputs}x{outputs}");
        bench.run(&format!("linear fwd {name}"), flop, || {
            linear(shape, &x, &weight, Some(&bias), Activation::None, &mut y);
        });
        bench.run(&format!("linear dx {name}"), flop, || {
            let gradients = LinearGradients { input: Some(&mut dx), ..Default::default() };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
        bench.run(&format!("linear dw {name}"), flop, || {
            let gradients = LinearGradients { weight: Some(&mut dw), bias: Some(&mut db), input: None };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
    }
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let bench = Bench { filter };
    rayon::ThreadPoolBuilder::new().build().expect("a thread pool").install(|| {
        linear_shapes(&bench);
    });
}
