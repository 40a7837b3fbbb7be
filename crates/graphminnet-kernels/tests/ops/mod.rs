//! One file per operation or family.

mod adamw;
mod dropout;
mod edge_attention;
mod full_attention;
mod gated_convolution;
mod gine;
mod global_block;
mod lap_pe;
mod linear;
mod norms;
mod not_a_number;
mod pairs;
mod pool;
mod rows;
mod selective_scan;
mod spectral_product;
