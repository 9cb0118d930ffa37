//! Durations as the file writes them: an integer and `ms`, `s`, `m` or `h`.
//!
//! Must accept one spelling only: a bare number could be seconds to one reader and milliseconds to another.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::complaint::Fault;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Reads a duration and holds it against its range.
pub(super) fn parse(text: &str, range: RangeInclusive<Duration>) -> Result<Duration, Fault> {
    let Some(duration) = read(text) else {
        let message = format!("\"{text}\" is not a duration");
        return Err(match text.trim().parse::<i64>() {
            Ok(number) => Fault::new(message, format!("write {}", suggest(number))),
            Err(_) => Fault::new(message, "write an integer and a unit: \"250ms\", \"5s\", \"2m\" or \"1h\""),
        });
    };
    if range.contains(&duration) {
        return Ok(duration);
    }
    let help = format!("write a duration from \"{}\" to \"{}\"", show(*range.start()), show(*range.end()));
    Err(Fault::new(format!("\"{text}\" is out of range"), help))
}

/// What someone may have meant by a number without a unit.
pub(super) fn suggest(number: i64) -> String {
    let number = number.max(1);
    format!("the unit too: \"{number}s\" for seconds, \"{number}ms\" for milliseconds")
}

/// The shortest spelling that `parse` reads back.
pub(super) fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (unit, factor) in UNITS.iter().rev() {
        let factor = u128::from(*factor);
        if millis.is_multiple_of(factor) && millis >= factor {
            return format!("{}{unit}", millis / factor);
        }
    }
    "0s".to_owned()
}

fn read(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: RangeInclusive<Duration> = Duration::ZERO..=Duration::MAX;

    #[test]
    fn one_number_and_one_unit_is_a_duration() {
        for (text, millis) in [("250ms", 250), ("5s", 5_000), ("2m", 120_000), ("1h", 3_600_000), ("0s", 0)] {
            assert_eq!(parse(text, ANY), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        for text in
            ["", "5", "s", "5 s", " 5s", "-5s", "+5s", "1.5s", "5S", "5sec", "1m30s", "٣s", "99999999999999999999s"]
        {
            assert!(parse(text, ANY).is_err(), "{text}");
        }
        assert!(parse("18446744073709551615h", ANY).is_err(), "past 64 bits");
    }

    #[test]
    fn what_is_shown_reads_back() {
        for millis in [0, 1, 999, 1_000, 1_500, 60_000, 90_000, 3_600_000, 5_400_000, 86_400_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse(&show(duration), ANY), Ok(duration), "{millis} ms");
        }
        assert_eq!(show(Duration::from_secs(300)), "5m");
    }
}
