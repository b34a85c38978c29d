//! What happened, a line each.

use std::fmt::Write as _;

/// The lines of a run. Writing them costs more than the run itself, so a run has none until somebody wants to read them: the same
/// seed makes the same lines again.
#[derive(Default)]
pub struct Trace {
    text: Option<String>,
}

impl Trace {
    /// A trace that keeps its lines.
    #[must_use]
    pub fn kept() -> Self {
        Self { text: Some(String::new()) }
    }

    /// Adds a line. Its text is made only if somebody keeps it.
    pub(crate) fn line(&mut self, at_us: u64, line: impl FnOnce() -> String) {
        if let Some(text) = &mut self.text {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:>5}.{:06} s  {}", at_us / 1_000_000, at_us % 1_000_000, line());
        }
    }

    /// The whole text; empty if nobody kept it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The last lines.
    #[must_use]
    pub fn tail(&self, lines: usize) -> &str {
        let text = self.text();
        let mut starts = text.rmatch_indices('\n').map(|(at, _)| at + 1).skip(lines);
        starts.next().map_or(text, |start| &text[start..])
    }

    /// The last lines that speak of any of these.
    #[must_use]
    pub fn about<'a>(&'a self, words: &'a [String], lines: usize) -> Vec<&'a str> {
        let speaks = |line: &&str| words.iter().any(|word| line.contains(word.as_str()));
        let mut found: Vec<&str> = self.text().lines().filter(speaks).collect();
        found.split_off(found.len().saturating_sub(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines_and_all_of_a_short_text() {
        let mut trace = Trace::kept();
        for number in 0..5 {
            trace.line(number, || format!("line {number}"));
        }
        assert_eq!(trace.tail(2), "    0.000003 s  line 3\n    0.000004 s  line 4\n");
        assert_eq!(trace.tail(9), trace.text());
        assert_eq!(trace.about(&["line 1".to_owned(), "line 4".to_owned()], 1), ["    0.000004 s  line 4"]);
        assert_eq!(Trace::default().tail(3), "");
    }
}
