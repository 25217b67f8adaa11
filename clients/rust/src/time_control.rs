//! Time controls, compared by meaning: `60s+2s` is `1m+2s`. The arbiter writes the canonical form, a bot any form.

const ALLOWED: &str = "5m, 5m+3s, 5m+3sd, 5m+3sb, 300ms/move, 300ms/move+10s, 1m+3x10s, 40/30m or none";
const LONGEST_TEXT: usize = 40; // characters
const LONGEST_MS: u64 = 168 * 3_600_000; // of each duration
const MOST_PERIODS: u64 = 100;
const MOST_MOVES: u64 = 1_000;
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]; // in milliseconds

/// Why a text is no time control.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// A sentence for people.
    pub(crate) message: String,
    /// What would be a time control.
    pub(crate) allowed: &'static str,
}

/// Returns the canonical form of a time control: each duration in the largest unit that divides it.
///
/// Fails for a text that is none, as the arbiter does (`arbiter/matches/time_control.py`).
pub(crate) fn canonical(text: &str) -> Result<String, Mistake> {
    let mut reader = Reader { rest: text, form: String::new(), too_long: None };
    if text.chars().count() > LONGEST_TEXT || reader.control().is_none() || !reader.rest.is_empty() {
        let shown: String = text.chars().take(LONGEST_TEXT + 1).collect();
        return Err(Mistake::because(format!("{shown:?} is no time control: expected {ALLOWED}")));
    }
    match reader.too_long {
        Some(time) => Err(Mistake::because(format!("{time} in the time control {text:?} is more than 168h"))),
        None => Ok(reader.form),
    }
}

/// Returns whether two texts are the same time control. Texts that are none are compared as they are.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one == other || matches!((canonical(one), canonical(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns the time in milliseconds that a time control adds for every move: increment, delay, fixed time or period; 0
/// where it adds none, or is none that is known here.
pub(crate) fn each_move_ms(text: &str) -> f64 {
    let Ok(form) = canonical(text) else { return 0.0 };
    let time = match (form.split_once("/move"), form.split_once('+')) {
        (Some((fixed, _)), _) => fixed,
        (None, Some((_, added))) => {
            added.split_once('x').map_or(added, |(_, period)| period).trim_end_matches(['d', 'b'])
        }
        (None, None) => return 0.0,
    };
    let (number, unit) = time.split_at(time.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(time.len()));
    let length = UNITS.into_iter().find(|(known, _)| *known == unit).map_or(0, |(_, length)| length);
    number.parse::<u64>().map_or(0.0, |number| (number * length) as f64)
}

impl Mistake {
    fn because(message: String) -> Mistake {
        Mistake { message, allowed: ALLOWED }
    }
}

/// Reads a time control from left to right, and writes its canonical form. Each part is `None` where it is not there.
struct Reader<'a> {
    rest: &'a str,
    form: String,
    too_long: Option<String>,
}

impl<'a> Reader<'a> {
    fn control(&mut self) -> Option<()> {
        if self.word("none").is_some() {
            return Some(());
        }
        let number = self.number()?;
        if self.rest.starts_with('/') {
            self.count(number, MOST_MOVES)?;
            self.word("/")?;
            let number = self.number()?;
            return self.time(number);
        }
        self.time(number)?;
        if self.word("/move").is_some() {
            return if self.word("+").is_some() { self.number().and_then(|bank| self.time(bank)) } else { Some(()) };
        }
        if self.word("+").is_none() {
            return Some(());
        }
        let number = self.number()?;
        if self.rest.starts_with('x') {
            self.count(number, MOST_PERIODS)?;
            self.word("x")?;
            let number = self.number()?;
            return self.time(number);
        }
        self.time(number)?;
        let _ = self.word("d").or_else(|| self.word("b")); // otherwise it is an increment
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        self.form += word;
        Some(())
    }

    /// Returns the digits of a number of at most nine, without a zero at its beginning.
    fn number(&mut self) -> Option<&'a str> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at(length);
        self.rest = rest;
        ((1..=9).contains(&length) && !number.starts_with('0')).then_some(number)
    }

    fn count(&mut self, number: &str, most: u64) -> Option<()> {
        self.form += number;
        number.parse().is_ok_and(|count: u64| count <= most).then_some(())
    }

    fn time(&mut self, number: &str) -> Option<()> {
        let (unit, length) = UNITS.into_iter().find(|(unit, _)| self.rest.starts_with(unit))?;
        self.rest = &self.rest[unit.len()..];
        let ms = number.parse::<u64>().ok()? * length;
        if ms > LONGEST_MS {
            self.too_long.get_or_insert_with(|| format!("{number}{unit}"));
        }
        let (largest, length) = UNITS.into_iter().rev().find(|(_, length)| ms % length == 0)?;
        self.form += &format!("{}{largest}", ms / length);
        Some(())
    }
}
