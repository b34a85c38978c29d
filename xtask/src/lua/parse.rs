//! A script as its parts: header, keys, arguments, and the code before and after `-- commit`.

/// A line that brings in a file of `lib`.
const INCLUDE: &str = "-- include ";
pub(super) const CHECK: &str = "-- check";
pub(super) const COMMIT: &str = "-- commit";

/// What a header must tell, in this order.
pub(super) const SECTIONS: &[&str] = &["Mirrors:", "KEYS:", "ARGV:", "Replies:", "Writes:", "Bound:"];

/// A file, by its lines; line numbers begin at 1.
#[derive(Clone, Debug)]
pub(super) struct File<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
}

/// One line of code, without its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) code: &'a str,
}

impl<'a> File<'a> {
    /// The name without folder and ending.
    pub(super) fn name(&self) -> &'a str {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        file.strip_suffix(".lua").unwrap_or(file)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Where a line stands that is exactly this.
    pub(super) fn lines_that_are(&self, wanted: &str) -> Vec<usize> {
        self.lines().filter(|(_, line)| *line == wanted).map(|(number, _)| number).collect()
    }

    /// The lines with code on them.
    pub(super) fn code(&self) -> Vec<Line<'a>> {
        let code = self.lines().map(|(number, line)| Line { number, code: without_comment(line) });
        code.filter(|line| !line.code.trim().is_empty()).collect()
    }

    /// The files of `lib` that it brings in, with the line that does.
    pub(super) fn includes(&self) -> Vec<(usize, &'a str)> {
        self.lines().filter_map(|(number, line)| Some((number, line.strip_prefix(INCLUDE)?))).collect()
    }

    /// The names that a section of the header declares: lines `--   name: what it is`.
    pub(super) fn declared(&self, section: &str) -> Vec<&'a str> {
        let begin = format!("-- {section}");
        let inside = self.text.lines().skip_while(|line| !line.starts_with(&begin)).skip(1);
        let entries = inside.take_while(|line| line.starts_with("--   "));
        entries.filter_map(|line| line.strip_prefix("--   ")?.split_once(':').map(|(name, _)| name)).collect()
    }
}

/// The words of a line: names, numbers, strings, and each other sign for itself.
pub(super) fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            letter if is_of_a_word(letter) => rest.find(|sign| !is_of_a_word(sign)).unwrap_or(rest.len()),
            _ if rest.starts_with("..") => 2,
            sign => sign.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

fn is_of_a_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// A line without what follows `--`, unless that stands in a string.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, sign) in line.char_indices() {
        match quote {
            Some(open) if sign == open => quote = None,
            Some(_) => {}
            None if sign == '\'' || sign == '"' => quote = Some(sign),
            None if line[at..].starts_with("--") || (at == 0 && line.starts_with("#!")) => return &line[..at],
            None => {}
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_comments_are_told_apart() {
        assert_eq!(
            words("local a = f('b -- c', x[1]) .. 'd'"),
            ["local", "a", "=", "f", "(", "'b -- c'", ",", "x", "[", "1", "]", ")", "..", "'d'"]
        );
        assert_eq!(without_comment("a = '--' -- b"), "a = '--' ");
        assert_eq!(without_comment("#!lua flags=no-writes"), "");
    }

    #[test]
    fn a_header_declares_names() {
        let text = "#!lua\n-- Does it.\n-- KEYS:\n--   one: a hash\n--   two: a stream\n-- ARGV:\n--   at_ms: ms\n--     more of it\nlocal x = 1\n";
        let file = File { path: "lua/do_it.lua", text };
        assert_eq!((file.name(), file.declared("KEYS:"), file.declared("ARGV:")), ("do_it", vec!["one", "two"], vec!["at_ms"]));
    }
}
