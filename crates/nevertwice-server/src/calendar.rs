//! Instants as people write them: RFC 3339 in UTC. The rest of the server counts milliseconds since 1970.

use toml::value::{Date, Datetime, Offset, Time};

const DAY_MS: i64 = 86_400_000;

/// The years that are written with four digits.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=9999;

/// An instant as text, such as `2026-11-30T12:00:00Z`; `None` for what lies outside the years 1970 to 9999.
#[must_use]
pub fn instant_text(at_ms: i64) -> Option<String> {
    datetime(at_ms).map(|datetime| datetime.to_string())
}

/// The instant that a text names: a date and a time with its offset, or a date alone, which is its first moment in UTC.
/// `None` for anything else.
#[must_use]
pub fn instant_of(text: &str) -> Option<i64> {
    let read: Datetime = text.parse().ok()?;
    match read {
        Datetime { date: Some(date), time: None, offset: None } => midnight_ms(date),
        read => at_ms(&read),
    }
}

/// The instant of a date and time with its offset.
pub(crate) fn at_ms(read: &Datetime) -> Option<i64> {
    let Datetime { date: Some(date), time: Some(time), offset: Some(offset) } = read else { return None };
    let offset_ms = match offset {
        Offset::Z => 0,
        Offset::Custom { minutes } => i64::from(*minutes) * 60_000,
    };
    let second = i64::from(time.second.unwrap_or(0));
    let milliseconds = i64::from(time.nanosecond.unwrap_or(0) / 1_000_000);
    let of_day = (i64::from(time.hour) * 60 + i64::from(time.minute)) * 60_000 + second * 1_000 + milliseconds;
    Some(midnight_ms(*date)? + of_day - offset_ms)
}

/// An instant as a date and time in UTC.
pub(crate) fn datetime(at_ms: i64) -> Option<Datetime> {
    let (days, of_day) = (at_ms.div_euclid(DAY_MS), at_ms.rem_euclid(DAY_MS));
    let date = date_of(days)?;
    let (seconds, milliseconds) = (of_day / 1_000, of_day % 1_000);
    let time = Time {
        hour: u8::try_from(seconds / 3_600).ok()?,
        minute: u8::try_from(seconds / 60 % 60).ok()?,
        second: Some(u8::try_from(seconds % 60).ok()?),
        nanosecond: if milliseconds == 0 { None } else { Some(u32::try_from(milliseconds).ok()? * 1_000_000) },
    };
    Some(Datetime { date: Some(date), time: Some(time), offset: Some(Offset::Z) })
}

fn midnight_ms(date: Date) -> Option<i64> {
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    // Years begin in March, so that the day that is there only at times is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let (century, of_century) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_centuries = of_century * 365 + of_century / 4 - of_century / 100 + day_of_year;
    let days = century * 146_097 + day_of_centuries - 719_468;
    YEARS.contains(&i64::from(date.year)).then_some(days * DAY_MS)
}

fn date_of(days: i64) -> Option<Date> {
    let days = days.checked_add(719_468)?;
    let (century, of_centuries) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_century = (of_centuries - of_centuries / 1_460 + of_centuries / 36_524 - of_centuries / 146_096) / 365;
    let day_of_year = of_centuries - (365 * of_century + of_century / 4 - of_century / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = century * 400 + of_century + next;
    if !YEARS.contains(&year) {
        return None;
    }
    Some(Date { year: u16::try_from(year).ok()?, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_world_writes_them() {
        for (at_ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_790_000_000_000, "2026-09-21T14:13:20Z"),
            (1_790_000_000_007, "2026-09-21T14:13:20.007Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(instant_text(at_ms).as_deref(), Some(text));
            assert_eq!(instant_of(text), Some(at_ms));
        }
        assert_eq!(instant_of("2026-09-21T16:13:20+02:00"), Some(1_790_000_000_000));
        assert_eq!(instant_of("2000-02-29"), Some(951_782_400_000));
        assert_eq!(
            (instant_text(-1), instant_text(253_402_300_800_000), instant_text(i64::MIN), instant_text(i64::MAX)),
            (None, None, None, None)
        );
        for text in ["", "soon", "12:00:00", "2026-09-21T14:13:20", "2026-02-30", "2026-13-01T00:00:00Z", "1969-12-31T23:59:59Z"] {
            assert_eq!(instant_of(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_has_its_date_and_no_other() {
        let mut before = String::new();
        for day in 0..30_000 {
            let text = instant_text(day * DAY_MS).expect("a date");
            assert!(text > before, "{before} {text}");
            assert_eq!(instant_of(&text), Some(day * DAY_MS));
            before = text;
        }
    }
}
