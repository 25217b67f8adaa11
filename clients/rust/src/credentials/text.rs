//! The text of a credentials file: JSON, or the TOML of earlier versions. What the file has is all that is read here.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Tokens by server address and player name.
pub(crate) type Entries = BTreeMap<String, BTreeMap<String, String>>;

const EXPECTED: &str = r#"it is no credentials file: expected {"HOST:PORT": {"NAME": "TOKEN"}}"#;

/// Returns the entries of a text, and whether it is of the older kind, TOML; or a sentence on what is wrong.
pub(crate) fn parse(text: &str) -> Result<(Entries, bool), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().chars().next() {
        None => Ok((Entries::new(), false)),
        Some('{') => Ok((json(text).ok_or(EXPECTED)?, false)),
        Some(_) => Ok((toml(text)?, true)),
    }
}

/// Returns the text of a file with these entries.
pub(super) fn write(entries: &Entries) -> String {
    let mut text = String::from("{");
    for (server, players) in entries.iter().filter(|(_, players)| !players.is_empty()) {
        text += if text.len() == 1 { "\n " } else { ",\n " };
        quote(server, &mut text);
        text += ": {";
        for (at, (name, token)) in players.iter().enumerate() {
            text += if at == 0 { "\n  " } else { ",\n  " };
            quote(name, &mut text);
            text += ": ";
            quote(token, &mut text);
        }
        text += "\n }";
    }
    text += if text.len() == 1 { "}\n" } else { "\n}\n" };
    text
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control)); // a text takes everything
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn json(text: &str) -> Option<Entries> {
    let mut reader = Reader(text);
    let mut entries = Entries::new();
    reader.object(|reader, server| {
        let players = entries.entry(server).or_default();
        reader.object(|reader, name| {
            players.insert(name, reader.quoted('"')?);
            Some(())
        })
    })?;
    reader.blanks();
    reader.0.is_empty().then_some(entries)
}

fn toml(text: &str) -> Result<Entries, String> {
    let mut entries = Entries::new();
    let mut server = None;
    for (number, line) in text.lines().enumerate() {
        let mut reader = Reader(line);
        reader.blanks();
        let known = match reader.0.chars().next() {
            None | Some('#') => continue,
            Some('[') => reader.server().map(|found| server = Some(found)),
            Some(_) => reader.entry().and_then(|(name, token)| {
                entries.entry(server.clone()?).or_default().insert(name, token);
                Some(())
            }),
        };
        reader.blanks();
        if known.is_none() || !(reader.0.is_empty() || reader.0.starts_with('#')) {
            return Err(format!("line {} is neither [\"HOST:PORT\"] nor NAME = \"TOKEN\"", number + 1));
        }
    }
    Ok(entries)
}

/// Reads a text from left to right. What is not there as expected is `None`.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn blanks(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// Takes a sign, and the blanks around it, if it is there.
    fn takes(&mut self, sign: char) -> Option<()> {
        self.blanks();
        self.0 = self.0.strip_prefix(sign)?;
        self.blanks();
        Some(())
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, String) -> Option<()>) -> Option<()> {
        self.takes('{')?;
        if self.takes('}').is_some() {
            return Some(());
        }
        loop {
            let name = self.quoted('"')?;
            self.takes(':')?;
            member(self, name)?;
            if self.takes('}').is_some() {
                return Some(());
            }
            self.takes(',')?;
        }
    }

    fn server(&mut self) -> Option<String> {
        self.takes('[')?;
        let server = self.key()?;
        self.takes(']')?;
        Some(server)
    }

    fn entry(&mut self) -> Option<(String, String)> {
        let name = self.key()?;
        self.takes('=')?;
        Some((name, self.quoted('"').or_else(|| self.quoted('\''))?))
    }

    fn key(&mut self) -> Option<String> {
        let bare = self.0.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_');
        match self.0.split_at(bare.unwrap_or(self.0.len())) {
            ("", _) => self.quoted('"').or_else(|| self.quoted('\'')),
            (key, rest) => {
                self.0 = rest;
                Some(key.to_owned())
            }
        }
    }

    /// Returns a text between quotation marks. Between single ones, a backslash is a letter like any other.
    fn quoted(&mut self, mark: char) -> Option<String> {
        let mut letters = self.0.strip_prefix(mark)?.chars();
        let mut text = String::new();
        loop {
            match letters.next()? {
                end if end == mark => break,
                '\\' if mark == '"' => text.push(escaped(&mut letters)?),
                control if control.is_control() && control != '\t' => return None,
                letter => text.push(letter),
            }
        }
        self.0 = letters.as_str();
        Some(text)
    }
}

/// Returns the letter that an escape stands for; beyond U+FFFF, JSON has two of them, and TOML `\U` with eight digits.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<char> {
    match letters.next()? {
        letter @ ('"' | '\\' | '/') => Some(letter),
        'b' => Some('\u{8}'),
        't' => Some('\t'),
        'n' => Some('\n'),
        'f' => Some('\u{c}'),
        'r' => Some('\r'),
        'U' => char::from_u32(hexadecimal(letters, 8)?),
        'u' => match hexadecimal(letters, 4)? {
            high @ 0xd800..0xdc00 => {
                let next = (letters.next()?, letters.next()?);
                let low = hexadecimal(letters, 4)?;
                let pair = next == ('\\', 'u') && (0xdc00..0xe000).contains(&low);
                pair.then(|| char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)))?
            }
            code => char::from_u32(code),
        },
        _ => None,
    }
}

fn hexadecimal(letters: &mut std::str::Chars<'_>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0, |number, _| Some(number * 16 + letters.next()?.to_digit(16)?))
}
