//! Finding the player that a scorer's name means, by the rule in the [module documentation](super), never by a guess.

use super::fold::{even_spelling, one_letter_apart};
use super::{Player, Squad, fold_words};

/// The step of the rule that found a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The same characters.
    Exact,
    /// Equal without case, accents, hyphens and apostrophes.
    Folded,
    /// The words of one name are all among those of the other.
    Words,
    /// Word by word equal, shortened or an initial.
    ShortForm,
    /// Equal when every sound is written one way.
    Spelling,
    /// One long word differs by one letter.
    OneLetter,
}

impl Rule {
    /// The steps in the order in which they are tried.
    pub const ALL: [Self; 6] = [Self::Exact, Self::Folded, Self::Words, Self::ShortForm, Self::Spelling, Self::OneLetter];

    /// Its name in lists and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Folded => "folded",
            Self::Words => "words",
            Self::ShortForm => "short form",
            Self::Spelling => "spelling",
            Self::OneLetter => "one letter",
        }
    }

    fn holds(self, scorer: &Name<'_>, player: &Name<'_>) -> bool {
        match self {
            Self::Exact => scorer.text == player.text,
            Self::Folded => !scorer.words.is_empty() && scorer.words.concat() == player.words.concat(),
            Self::Words => share_words(&scorer.words, &player.words),
            Self::ShortForm => short_form(&scorer.words, &player.words),
            Self::Spelling => spelled_alike(&scorer.words, &player.words),
            Self::OneLetter => one_letter(&scorer.words, &player.words),
        }
    }
}

/// Why a goal has no player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// The team is not among the squads.
    UnknownTeam,
    /// No step of the rule found anybody.
    Absent,
    /// A step found several.
    Ambiguous {
        /// That step.
        rule: Rule,
        /// The instruments of those it found.
        instruments: Vec<String>,
    },
}

impl std::fmt::Display for Unresolved {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownTeam => write!(out, "the team is not among the squads"),
            Self::Absent => write!(out, "nobody of the squad has a name like it"),
            Self::Ambiguous { rule, instruments } => {
                write!(out, "several fit by the step \"{}\": {}", rule.name(), instruments.join(", "))
            }
        }
    }
}

/// A player and the step that found him.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The player.
    pub player: &'a Player,
    /// The step of the rule.
    pub rule: Rule,
}

/// Finds the player of `squad` whom `scorer` means.
pub fn resolve<'a>(squad: &'a Squad, scorer: &str) -> Result<Resolution<'a>, Unresolved> {
    let scorer = Name::of(scorer);
    let names: Vec<(Name<'a>, &'a Player)> = squad.players.iter().map(|player| (Name::of(&player.name), player)).collect();
    for rule in Rule::ALL {
        let found: Vec<&Player> = names.iter().filter(|(name, _)| rule.holds(&scorer, name)).map(|(_, player)| *player).collect();
        match found.as_slice() {
            [] => {}
            [player] => return Ok(Resolution { player, rule }),
            several => {
                let instruments = several.iter().map(|player| player.instrument.clone()).collect();
                return Err(Unresolved::Ambiguous { rule, instruments });
            }
        }
    }
    Err(Unresolved::Absent)
}

struct Name<'a> {
    text: &'a str,
    words: Vec<String>,
}

impl<'a> Name<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, words: fold_words(text) }
    }
}

fn letters(word: &str) -> usize {
    word.chars().count()
}

fn share_words(scorer: &[String], player: &[String]) -> bool {
    let within = |few: &[String], many: &[String]| {
        few.len() <= many.len() && few.iter().all(|word| many.contains(word)) && few.iter().any(|word| letters(word) >= 3)
    };
    if player.len() == 1 && scorer.len() > 1 {
        return scorer.first() == player.first() && within(player, scorer);
    }
    within(scorer, player) || within(player, scorer)
}

fn short_form(scorer: &[String], player: &[String]) -> bool {
    let shortened = |left: &String, right: &String| {
        let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        long.starts_with(short.as_str()) && (letters(short) >= 3 || letters(short) == 1)
    };
    scorer.len() == player.len()
        && scorer.iter().zip(player).all(|(left, right)| left == right || shortened(left, right))
        && scorer.iter().zip(player).any(|(left, right)| left == right && letters(left) >= 3)
}

fn spelled_alike(scorer: &[String], player: &[String]) -> bool {
    !scorer.is_empty()
        && scorer.len() == player.len()
        && scorer.iter().zip(player).all(|(left, right)| even_spelling(left) == even_spelling(right))
}

fn one_letter(scorer: &[String], player: &[String]) -> bool {
    if scorer.len() != player.len() {
        return false;
    }
    let mut apart = scorer.iter().zip(player).filter(|(left, right)| left != right);
    let (Some((left, right)), None) = (apart.next(), apart.next()) else {
        return false;
    };
    letters(left).min(letters(right)) >= 6
        && one_letter_apart(left, right)
        && scorer.iter().zip(player).any(|(left, right)| left == right && letters(left) >= 4)
}
