//! One file per operation or family.

mod activation;
mod adamw;
mod dropout;
mod gated_convolution;
mod gine;
mod global_block;
mod lap_pe;
mod linear;
mod norms;
mod pool;
mod rows;
mod spectral_product;
