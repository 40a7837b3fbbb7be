//! One file per operation.

mod dropout;
mod gated;
mod linear;
mod norms;
mod spectral_product;
