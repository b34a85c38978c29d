//! The squads: who can be listed, and under which instrument name.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{DataError, fold_words};

/// Where a player plays; his base price depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum PlayingPosition {
    /// Goalkeeper.
    #[serde(rename = "GK")]
    Goalkeeper,
    /// Defender.
    #[serde(rename = "DF")]
    Defender,
    /// Midfielder.
    #[serde(rename = "MF")]
    Midfielder,
    /// Forward.
    #[serde(rename = "FW")]
    Forward,
}

/// One player of one squad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    /// The stable name of his instrument: team code and shirt number, such as `ARG-10`.
    pub instrument: String,
    /// His name as the squad list spells it.
    pub name: String,
    /// His shirt number.
    pub number: u32,
    /// Where he plays.
    pub playing_position: PlayingPosition,
}

/// One team's players.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Squad {
    /// The team's name as the squad list spells it.
    pub team: String,
    /// Its code, such as `ARG`.
    pub code: String,
    /// Its group, `A` to `L`.
    pub group: String,
    /// Its players in the order of the list.
    pub players: Vec<Player>,
}

/// All squads of the tournament.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Squads {
    teams: Vec<Squad>,
}

impl Squads {
    /// The squads of 2026, as they are embedded in the program.
    pub fn embedded() -> Result<Self, DataError> {
        Self::parse(include_str!("../../../../data/worldcup2026/squads.json"))
    }

    /// Reads squads from the text of a `squads.json`.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let files: Vec<SquadFile> =
            serde_json::from_str(text).map_err(|error| DataError::Json { file: "squads.json", detail: error.to_string() })?;
        let mut seen = BTreeSet::new();
        let mut teams = Vec::with_capacity(files.len());
        for file in files {
            let plain = file.code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
            if !plain || !(1..=8).contains(&file.code.len()) {
                return Err(DataError::TeamCode { code: file.code });
            }
            let mut players = Vec::with_capacity(file.players.len());
            for player in file.players {
                let instrument = format!("{}-{}", file.code, player.number);
                if !seen.insert(instrument.clone()) {
                    return Err(DataError::DoubledInstrument { instrument });
                }
                players.push(Player { instrument, name: player.name, number: player.number, playing_position: player.playing_position });
            }
            teams.push(Squad { team: file.team, code: file.code, group: file.group, players });
        }
        Ok(Self { teams })
    }

    /// The squads in the order of the file.
    pub fn teams(&self) -> &[Squad] {
        &self.teams
    }

    /// All players, team by team.
    pub fn players(&self) -> impl Iterator<Item = &Player> {
        self.teams.iter().flat_map(|squad| squad.players.iter())
    }

    /// The squad of a team, however `matches.json` spells it.
    pub fn of_team(&self, team: &str) -> Option<&Squad> {
        let wanted = team_words(team);
        self.teams.iter().find(|squad| team_words(&squad.team) == wanted)
    }
}

/// A team's name in comparable words: the aliases first, then folded.
fn team_words(team: &str) -> Vec<String> {
    /// Names that the two files spell differently: (as in the matches, as in the squads).
    const ALIASES: [(&str, &str); 1] = [("USA", "United States")];
    let name = ALIASES.iter().find(|(alias, _)| *alias == team).map_or(team, |(_, name)| name);
    fold_words(&name.replace('&', " and "))
}

#[derive(Deserialize)]
struct SquadFile {
    team: String,
    code: String,
    group: String,
    players: Vec<PlayerFile>,
}

#[derive(Deserialize)]
struct PlayerFile {
    number: u32,
    #[serde(rename = "position")]
    playing_position: PlayingPosition,
    name: String,
}
