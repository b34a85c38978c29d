//! Why a JWT is not taken.

use nevertwice_api::ErrorCode;

use super::compact::JWT_BYTES_MAX;
use crate::refusal::Refusal;

/// Why a JWT is not taken. Nothing of what was presented is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    TooLong,
    Malformed,
    Type,
    Extension,
    Algorithm,
    KeyUnknown,
    KeyUnclear,
    Signature,
    Issuer,
    Audience,
    Subject,
    NoEnd,
    Early,
    Expired,
}

impl Wrong {
    /// What is wrong, as a sentence without its full stop.
    fn words(self) -> String {
        let words = match self {
            Self::TooLong => return format!("The JWT has more than {JWT_BYTES_MAX} bytes"),
            Self::Malformed => {
                "The JWT is not three parts in base64url, the first two of them JSON objects with the members that are needed"
            }
            Self::Type => "The JWT's `typ` says that it is for something else: `JWT` and `at+jwt` are taken",
            Self::Extension => "The JWT's `crit` demands an extension, and none is known here",
            Self::Algorithm => "The JWT is not signed by an algorithm that is allowed here",
            Self::KeyUnknown => "The JWT is not signed by a key that is known here",
            Self::KeyUnclear => "The JWT does not say by `kid` which key has signed it, and several fit",
            Self::Signature => "The JWT's signature is not that of its key",
            Self::Issuer => "The JWT was not issued by the issuer that is taken here",
            Self::Audience => "The JWT is not meant for this server: its `aud` names others",
            Self::Subject => "The JWT's subject is missing, reserved, or not 1 to 128 visible ASCII characters",
            Self::NoEnd => "The JWT has no end: `exp` is missing or no instant",
            Self::Early => "The JWT's time has not begun",
            Self::Expired => "The JWT is genuine, and its time is over",
        };
        words.to_owned()
    }

    pub(super) fn refusal(self) -> Refusal {
        let code = if self == Self::Expired { ErrorCode::CredentialsExpired } else { ErrorCode::CredentialsInvalid };
        Refusal::new(code, self.words(), "Get another JWT from its issuer, and send the request again with the same idempotency key")
    }
}
