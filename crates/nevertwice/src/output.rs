//! Standard output of the commands that report. Its reader may leave before the end (`nevertwice journal inspect ... | head -1`):
//! then the rest is not written, and that is no failure. `serve` prints its one line itself.

use std::error::Error;
use std::io::{ErrorKind, Write, stdout};

/// Lets `write` report on standard output, until it has or the reader has left.
pub(crate) fn report(write: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    into(&mut stdout().lock(), write)
}

fn into(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let written = write(out).and_then(|()| Ok(out.flush()?));
    written.or_else(|error| if has_left(error.as_ref()) { Ok(()) } else { Err(error) })
}

fn has_left(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes nothing.
    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_reader_that_left_is_no_failure() {
        let told = |kind| into(&mut Closed(kind), |out| Ok(writeln!(out, "a line")?));
        assert!(told(ErrorKind::BrokenPipe).is_ok());
        assert!(told(ErrorKind::StorageFull).is_err());
        assert!(into(&mut Vec::new(), |_| Err("the journal can't be read".into())).is_err());
    }
}
