//! The World Cup of 2026 as input: 1,248 players to list, 104 matches and 308 goals to replay.
//!
//! [`Squads`] and [`Matches`] read `data/worldcup2026` (embedded in the program, or any text of the same shape).
//! [`Timeline`] puts the goals in the order in which they fell and says, for each, whom it concerns.
//!
//! # Who scored? The rule
//!
//! The two files spell names differently. A scorer is looked up **only in the squad of the team he plays for** (for an
//! own goal, the other side's). The steps below are tried in order; the first step that finds anybody decides. If it finds
//! exactly one player, the goal is his. If it finds several, the goal is **unresolved** (`ambiguous`) and later steps are
//! not asked; if no step finds anybody, it is **unresolved** (`absent`). An unresolved goal is listed with its reason and
//! moves no price. There is no table of players anywhere.
//!
//! 1. **exact**: the same characters.
//! 2. **folded**: equal after folding. Upper case becomes lower case; accented and special letters become plain ones
//!    (`Ø` o, `å` a, `ł` l, `ı` i, `ß` ss, `æ` ae, ...; combining marks vanish); apostrophes and full stops vanish; hyphens
//!    and spaces only separate words, so `In-Beom`, `In beom` and `Inbeom` are one.
//! 3. **words**: the words of the one name are all among the words of the other, in any order (`Son` for
//!    `Son Heung-min`, `Heung-min Son`). A squad name of a single word must be the first word of the longer one
//!    (`Diney Borges` for `Diney`, but not `João Pedro` for `Pedro`). At least one shared word has three letters.
//! 4. **short form**: as many words, and word by word either equal, or the shorter is the start of the longer with three
//!    letters or more (`Maxi Araújo` for `Maximiliano Araújo`), or one of them is an initial (`J. Álvarez`). At least one
//!    pair is equal, with three letters or more.
//! 5. **spelling**: as many words, equal after evening out how one sound is written in different transcriptions:
//!    `ou` and `oo` as u, `ph` as f, `ck`, `c` and `q` as k, `y` as i, `w` as v, `ae`, `oe`, `ue` as a, o, u, and doubled letters
//!    as one (`Mousa Al-Tamari` for `Musa Al-Taamari`, `Zico` for `Ziko`).
//! 6. **one letter**: as many words, all equal but one of six letters or more, which differs by one letter replaced, added
//!    or left out (`Stephan Eustáquio` for `Stephen Eustáquio`). At least one equal word has four letters.
//!
//! A surname alone never overrules a first name that contradicts it: `Jordan Ayew` is not `André Ayew`.
//!
//! Teams are matched by name, folded, after a table of two aliases: `USA` is `United States`, and `&` reads `and`.
//!
//! # Own goals
//!
//! An own goal counts for the side that did not shoot it. It moves nobody's price, whether or not its scorer is known.

mod error;
mod fold;
mod matches;
mod resolve;
mod squads;
mod timeline;

pub use error::DataError;
pub use fold::{Folded, fold_letter, fold_words};
pub use matches::{Goal, Match, Matches, Minute, Side};
pub use resolve::{Resolution, Rule, Unresolved, resolve};
pub use squads::{Player, PlayingPosition, Squad, Squads};
pub use timeline::{Counts, GoalEvent, Timeline, Whose};
