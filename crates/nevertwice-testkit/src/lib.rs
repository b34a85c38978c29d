//! Conformance suites, fault doubles and fixtures for the tests of nevertwice. Never a normal dependency of the product.

pub mod clock;
pub mod codes;
pub mod conformance;
pub mod key_store;
pub mod key_store_principals;
pub mod postgres;
pub mod redis;
pub mod release;
pub mod sparse;
pub mod storage;
pub mod stub;
