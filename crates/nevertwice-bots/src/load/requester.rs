//! Something that can do one request after another.

/// How one request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With a whole reply of this status.
    Status(u16),
    /// Without one: the connection could not be opened, or broke.
    Broken,
}

/// Something that can do one request after another.
pub trait Requester: Send + 'static {
    /// Does the `number`-th request of the whole run (numbers are never given twice in one run).
    fn one(&mut self, number: u64) -> impl Future<Output = Answer> + Send;
}
