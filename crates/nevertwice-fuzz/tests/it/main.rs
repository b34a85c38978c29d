//! The fuzz targets without a fuzzer, one binary.

mod fuzzer;
mod replay;
