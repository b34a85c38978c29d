//! Why the input could not be read.

/// Why a file of the tournament could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataError {
    /// The text is not the JSON that is expected.
    Json {
        /// Which of the two files.
        file: &'static str,
        /// What the JSON reader said.
        detail: String,
    },
    /// A date, a time or a minute that cannot be read.
    Instant {
        /// The text as it stands in the file.
        text: String,
    },
    /// Two players would get one instrument name.
    DoubledInstrument {
        /// That name.
        instrument: String,
    },
    /// A team code that is not one to eight capital letters or digits.
    TeamCode {
        /// That code.
        code: String,
    },
}

impl std::fmt::Display for DataError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json { file, detail } => write!(out, "{file} cannot be read: {detail}"),
            Self::Instant { text } => write!(out, "not a date, time or minute: \"{text}\""),
            Self::DoubledInstrument { instrument } => {
                write!(out, "two players would be listed as {instrument}")
            }
            Self::TeamCode { code } => write!(out, "not a team code: \"{code}\""),
        }
    }
}

impl std::error::Error for DataError {}
