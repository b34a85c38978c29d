//! Folding of names: what remains of a name when case, accents, hyphens and apostrophes are taken away.

/// The plain lower-case letters of one character, or nothing for a mark that only separates or decorates.
///
/// Covers Latin with its extensions A and the letters of B that names use; any other letter is kept in lower case, so that
/// two names in another script still compare.
pub fn fold_letter(letter: char) -> Folded {
    let plain = match letter {
        'a'..='z' | '0'..='9' => return Folded::Char(letter),
        'A'..='Z' => return Folded::Char(letter.to_ascii_lowercase()),
        'À'..='Å' | 'à'..='å' | 'Ā'..='ą' | 'Ǎ' | 'ǎ' | 'Ạ'..='ặ' => "a",
        'Æ' | 'æ' | 'Ǽ' | 'ǽ' => "ae",
        'Ç' | 'ç' | 'Ć'..='č' => "c",
        'Ð' | 'ð' | 'Ď'..='đ' => "d",
        'È'..='Ë' | 'è'..='ë' | 'Ē'..='ě' | 'Ẹ'..='ệ' | 'Ə' | 'ə' => "e",
        'Ĝ'..='ģ' | 'Ǧ' | 'ǧ' => "g",
        'Ĥ'..='ħ' => "h",
        'Ì'..='Ï' | 'ì'..='ï' | 'Ĩ'..='ı' | 'Ǐ' | 'ǐ' | 'Ỉ'..='ị' => "i",
        'Ĳ' | 'ĳ' => "ij",
        'Ĵ' | 'ĵ' => "j",
        'Ķ'..='ĸ' => "k",
        'Ĺ'..='ł' => "l",
        'Ñ' | 'ñ' | 'Ń'..='ŋ' => "n",
        'Ò'..='Ö' | 'Ø' | 'ò'..='ö' | 'ø' | 'Ō'..='ő' | 'Ǒ' | 'ǒ' | 'Ơ' | 'ơ' | 'Ọ'..='ợ' => "o",
        'Œ' | 'œ' => "oe",
        'Ŕ'..='ř' => "r",
        'Ś'..='š' | 'Ș' | 'ș' | 'ſ' => "s",
        'ß' | 'ẞ' => "ss",
        'Ţ'..='ŧ' | 'Ț' | 'ț' => "t",
        'Þ' | 'þ' => "th",
        'Ù'..='Ü' | 'ù'..='ü' | 'Ũ'..='ų' | 'Ǔ' | 'ǔ' | 'Ư' | 'ư' | 'Ụ'..='ự' => "u",
        'Ŵ' | 'ŵ' => "w",
        'Ý' | 'ý' | 'ÿ' | 'Ÿ' | 'Ŷ' | 'ŷ' | 'Ỳ'..='ỹ' => "y",
        'Ź'..='ž' => "z",
        // Combining marks, apostrophes of every shape, full stops: they decorate.
        '\u{300}'..='\u{36f}' | '\'' | '’' | '‘' | 'ʼ' | 'ʻ' | '`' | '´' | '.' => "",
        other if other.is_alphanumeric() => return Folded::Other(other),
        _ => return Folded::Break,
    };
    Folded::Text(plain)
}

/// What one character folds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// A plain letter or digit.
    Char(char),
    /// Several plain letters, or none.
    Text(&'static str),
    /// A letter that the table does not know, to be kept in lower case.
    Other(char),
    /// The end of a word.
    Break,
}

/// The words of a name, folded, without empty ones.
pub fn fold_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        let Some(word) = words.last_mut() else {
            continue;
        };
        match fold_letter(letter) {
            Folded::Char(plain) => word.push(plain),
            Folded::Text(plain) => word.push_str(plain),
            Folded::Other(other) => word.extend(other.to_lowercase()),
            Folded::Break => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// One word with every sound written one way (step 5 of the rule).
pub(super) fn even_spelling(word: &str) -> String {
    const SOUNDS: [(&str, &str); 8] =
        [("ou", "u"), ("oo", "u"), ("ph", "f"), ("ck", "k"), ("ae", "a"), ("oe", "o"), ("ue", "u"), ("qu", "k")];
    let mut rest = word;
    let mut even = String::with_capacity(word.len());
    while let Some(first) = rest.chars().next() {
        let (sound, taken) = match SOUNDS.iter().find(|(written, _)| rest.starts_with(written)) {
            Some((written, sound)) => (sound.chars().next().unwrap_or(first), written.len()),
            None => (
                match first {
                    'c' | 'q' => 'k',
                    'y' => 'i',
                    'w' => 'v',
                    other => other,
                },
                first.len_utf8(),
            ),
        };
        if !even.ends_with(sound) {
            even.push(sound);
        }
        rest = rest.get(taken..).unwrap_or("");
    }
    even
}

/// Whether two words differ by exactly one letter replaced, added or left out.
pub(super) fn one_letter_apart(left: &str, right: &str) -> bool {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let (short, long) = if left.len() <= right.len() { (&left, &right) } else { (&right, &left) };
    let head = short.iter().zip(long.iter()).take_while(|(a, b)| a == b).count();
    let tail = short.iter().rev().zip(long.iter().rev()).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => head < short.len() && head + 1 + tail >= short.len(),
        1 => head + tail >= short.len(),
        _ => false,
    }
}
