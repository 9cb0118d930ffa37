//! Whether two decimal texts are the same integer.
//!
//! Knows digits only. Must never go through a binary floating-point number, and must never do more work than its texts
//! are long: `1e999999999` costs eleven steps.

use std::cmp::Ordering;

/// What two texts are to each other, read as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    Equal,
    Different,
    /// One of them is no number of JSON's grammar, or has a fraction, or has more than 10^18 digits.
    NotAnInteger,
}

/// Compares the text of a header with the token of a body, exactly.
///
/// Both are read by JSON's grammar for numbers (RFC 8259, section 6): clients write an integer in decimal ("Value
/// Encoding"), and `42.0` equals `42` ("Server Validation", note on integers). So `4.2e1` is 42, minus zero is zero;
/// `042`, `+42`, `42.` and ` 42` are no numbers.
pub fn integers_equal(header: &str, body: &str) -> Equality {
    match (Integer::parse(header), Integer::parse(body)) {
        (Some(header), Some(body)) if header.equals(&body) => Equality::Equal,
        (Some(_), Some(_)) => Equality::Different,
        _ => Equality::NotAnInteger,
    }
}

/// The one spelling of an integer by which it is routed: plain digits, a minus where it is negative. `None` for what is no
/// integer, and for more digits than anyone routes by.
pub fn canonical(text: &str) -> Option<String> {
    let integer = Integer::parse(text)?;
    let zeros = usize::try_from(integer.power).ok().filter(|zeros| *zeros <= MAX_CANONICAL)?;
    let digits: String = integer.digits().map(|digit| char::from(*digit)).collect();
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let sign = if integer.negative { "-" } else { "" };
    (digits.len() + zeros <= MAX_CANONICAL).then(|| format!("{sign}{digits}{}", "0".repeat(zeros)))
}

/// Digits of a canonical spelling; a 64-bit integer has 19.
const MAX_CANONICAL: usize = 40;

/// `digits` (whole, then fraction, zeros at both ends left out) times ten to the `power`; no digits are zero.
struct Integer<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    power: i64,
}

/// The longest exponent that is looked at, in digits: any of that many fit an `i64` with room for a text's length.
const EXPONENT_DIGITS: usize = 18;

impl<'a> Integer<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (whole, rest) = digits(rest)?;
        if whole.len() > 1 && whole.first() == Some(&b'0') {
            return None;
        }
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => digits(rest)?,
            rest => (&[][..], rest),
        };
        let exponent = match rest {
            [] => Exponent::Small(0),
            [b'e' | b'E', rest @ ..] => Exponent::parse(rest)?,
            _ => return None,
        };
        Self::build(negative, whole, fraction, exponent)
    }

    /// Strips zeros from both ends, and tells integers from fractions.
    fn build(negative: bool, whole: &'a [u8], fraction: &'a [u8], exponent: Exponent) -> Option<Self> {
        let after_point = fraction.len();
        let fraction = without_trailing_zeros(fraction);
        let whole_end = if fraction.is_empty() { without_trailing_zeros(whole) } else { whole };
        let stripped = (after_point - fraction.len()) + (whole.len() - whole_end.len());
        let whole = without_leading_zeros(whole_end);
        let fraction = if whole.is_empty() { without_leading_zeros(fraction) } else { fraction };
        if whole.is_empty() && fraction.is_empty() {
            return Some(Self { negative: false, whole, fraction, power: 0 });
        }
        let Exponent::Small(exponent) = exponent else { return None };
        let power = exponent + i64::try_from(stripped).ok()? - i64::try_from(after_point).ok()?;
        (power >= 0).then_some(Self { negative, whole, fraction, power })
    }

    fn equals(&self, other: &Self) -> bool {
        let digits = |number: &Self| number.whole.len() + number.fraction.len();
        self.negative == other.negative
            && self.power == other.power
            && digits(self) == digits(other)
            && self.digits().cmp(other.digits()) == Ordering::Equal
    }

    fn digits(&self) -> impl Iterator<Item = &'a u8> + use<'a> {
        self.whole.iter().chain(self.fraction)
    }
}

/// The power of ten behind an `e`.
#[derive(Clone, Copy)]
enum Exponent {
    Small(i64),
    /// More than 18 digits: with any digit but zero before it, no integer that anyone writes down.
    Huge,
}

impl Exponent {
    fn parse(text: &[u8]) -> Option<Self> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] | rest => (false, rest),
        };
        let (all, []) = digits(rest)? else { return None };
        let digits = without_leading_zeros(all);
        if digits.len() > EXPONENT_DIGITS {
            return Some(Self::Huge);
        }
        let size = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Some(Self::Small(if negative { -size } else { size }))
    }
}

/// One digit or more, and what follows them.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 { None } else { text.split_at_checked(end) }
}

fn without_leading_zeros(mut digits: &[u8]) -> &[u8] {
    while let [b'0', rest @ ..] = digits {
        digits = rest;
    }
    digits
}

fn without_trailing_zeros(mut digits: &[u8]) -> &[u8] {
    while let [rest @ .., b'0'] = digits {
        digits = rest;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::Equality::{Different, Equal, NotAnInteger};
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_of_an_integer_has_one_canonical_form() {
        for (text, expected) in [
            ("42", "42"),
            ("42.0", "42"),
            ("4.2e1", "42"),
            ("420e-1", "42"),
            ("-0", "0"),
            ("0e9", "0"),
            ("-7.00", "-7"),
            ("1e3", "1000"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["42.5", "042", "x", "", "1e41", "1e999999999999", "1e-1"] {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert_eq!(canonical(&"9".repeat(40)).map(|text| text.len()), Some(40));
    }

    #[test]
    fn a_table_of_spellings() {
        let cases = [
            ("42", "42", Equal),
            ("42.0", "42", Equal),
            ("42", "42.000", Equal),
            ("4.2e1", "42", Equal),
            ("4.2E+1", "42", Equal),
            ("420e-1", "42", Equal),
            ("0.042e3", "42", Equal),
            ("100", "1e2", Equal),
            ("1e+21", "1000000000000000000000", Equal),
            ("-7", "-7", Equal),
            ("-0", "0", Equal),
            ("-0.0e5", "0", Equal),
            ("0e99999999999999999999999", "0", Equal),
            ("0e-99999999999999999999999", "0", Equal),
            ("1e0000000000000000000000000002", "100", Equal),
            ("1e999999999", "1e999999999", Equal),
            ("10e999999998", "1e999999999", Equal),
            ("9007199254740991", "9007199254740991", Equal),
            ("9007199254740993", "9007199254740992", Different),
            ("123456789012345678901234567890", "123456789012345678901234567891", Different),
            ("1e999999999", "1e999999998", Different),
            ("42", "-42", Different),
            ("42", "43", Different),
            ("42", "420", Different),
            ("42", "4.2e2", Different),
            ("101", "11", Different),
            ("42.5", "42.5", NotAnInteger),
            ("1e-1", "1e-1", NotAnInteger),
            ("1e-999999999999999999999", "0", NotAnInteger),
            ("1e99999999999999999999", "1e99999999999999999999", NotAnInteger),
            ("42abc", "42", NotAnInteger),
            ("042", "42", NotAnInteger),
            ("-", "0", NotAnInteger),
            ("", "0", NotAnInteger),
            ("+42", "42", NotAnInteger),
            (" 42", "42", NotAnInteger),
            ("42.", "42", NotAnInteger),
            (".5e1", "5", NotAnInteger),
            ("4e", "4", NotAnInteger),
            ("4e+", "4", NotAnInteger),
            ("4e1.0", "40", NotAnInteger),
            ("0x2a", "42", NotAnInteger),
            ("--1", "1", NotAnInteger),
            ("\u{664}\u{662}", "42", NotAnInteger),
            ("true", "1", NotAnInteger),
            ("NaN", "NaN", NotAnInteger),
        ];
        for (header, body, expected) in cases {
            assert_eq!(integers_equal(header, body), expected, "{header:?} beside {body:?}");
            assert_eq!(integers_equal(body, header), expected, "{body:?} beside {header:?}");
        }
    }

    #[test]
    fn long_texts_are_compared_in_one_pass() {
        let zeros = "0".repeat(1_000_000);
        assert_eq!(integers_equal(&format!("1{zeros}"), "1e1000000"), Equal);
        assert_eq!(integers_equal(&format!("0.{zeros}1e1000001"), "1"), Equal);
        assert_eq!(integers_equal(&format!("1{zeros}.5"), "1"), NotAnInteger);
    }

    /// The value of a spelling, by whole powers of ten; `None` where it is no integer.
    fn value(whole: &str, fraction: &str, exponent: i32, negative: bool) -> Option<BigInt> {
        let all: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let shift = exponent - i32::try_from(fraction.len()).unwrap();
        let power = BigInt::from(10).pow(shift.unsigned_abs());
        let size = match shift {
            0.. => all * power,
            _ if &all % &power == BigInt::ZERO => all / power,
            _ => return None,
        };
        Some(if negative { -size } else { size })
    }

    fn spelling() -> impl Strategy<Value = (String, Option<BigInt>)> {
        ("0|[1-9][0-9]{0,8}|[1-9]0{0,12}", "[0-9]{0,4}|0{0,6}|[0-9]0{1,5}", -14_i32..=14, any::<bool>(), 0_u8..4)
            .prop_map(|(whole, fraction, exponent, negative, form)| {
                let sign = if negative { "-" } else { "" };
                let point = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
                let (tail, exponent) = match form {
                    0 => (String::new(), 0),
                    1 => (format!("e{exponent}"), exponent),
                    2 if exponent >= 0 => (format!("E+{exponent}"), exponent),
                    _ => (format!("E{}00{}", if exponent < 0 { "-" } else { "" }, exponent.unsigned_abs()), exponent),
                };
                let value = value(&whole, &fraction, exponent, negative);
                (format!("{sign}{whole}{point}{tail}"), value)
            })
    }

    /// Writes the same integer in another way.
    fn respelled(value: &BigInt, zeros: u32, shift: u32) -> String {
        let scaled = value * BigInt::from(10).pow(shift);
        let fraction = if zeros == 0 { String::new() } else { format!(".{}", "0".repeat(zeros as usize)) };
        format!("{scaled}{fraction}e-{shift}")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn agrees_with_big_integers((a, a_value) in spelling(), (b, b_value) in spelling()) {
            let expected = match (a_value, b_value) {
                (Some(a), Some(b)) if a == b => Equal,
                (Some(_), Some(_)) => Different,
                _ => NotAnInteger,
            };
            prop_assert_eq!(integers_equal(&a, &b), expected, "{} beside {}", a, b);
        }

        #[test]
        fn every_spelling_of_an_integer_is_equal((text, value) in spelling(), zeros in 0_u32..6, shift in 0_u32..20) {
            let Some(value) = value else { return Ok(()) };
            let other = respelled(&value, zeros, shift);
            prop_assert_eq!(integers_equal(&text, &other), Equal, "{} beside {}", text, other);
            let near = respelled(&(value + 1), zeros, shift);
            prop_assert_eq!(integers_equal(&text, &near), Different, "{} beside {}", text, near);
        }

        #[test]
        fn grammar_is_json(text in "[-+0-9.eE ]{0,12}") {
            let lawful = serde_json::from_str::<Box<serde_json::value::RawValue>>(&text)
                .is_ok_and(|raw| raw.get() == text);
            if !lawful {
                prop_assert_eq!(integers_equal(&text, "1"), NotAnInteger, "{:?}", text);
            } else if !text.contains(['.', 'e', 'E']) {
                prop_assert_eq!(integers_equal(&text, &text), Equal, "{:?}", text);
            }
        }
    }
}
