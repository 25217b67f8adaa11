//! Opening books: moves from the start of a game that are known beforehand. `clients/README.md` describes the file.

use std::collections::HashMap;
use std::path::Path;

use crate::errors::{ArbiterError, Error};
use crate::turn::Turn;

const ALLOWED: &str = "GAME MOVE MOVE …";

/// Lines of moves by variant: `OpeningBook::load("openings.txt")?.move_for(turn)`.
#[derive(Clone, Debug, Default)]
pub struct OpeningBook {
    lines: HashMap<String, Vec<Vec<String>>>,
}

impl OpeningBook {
    /// Returns the book in a text. Fails with PARAMETER_INVALID for a line without moves.
    pub fn parse(text: &str) -> Result<OpeningBook, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let mut book = OpeningBook::default();
        for (number, line) in text.split('\n').enumerate() {
            let mut words = line.split_whitespace().map(str::to_owned);
            let Some(game) = words.next().filter(|game| !game.starts_with('#')) else { continue };
            let moves: Vec<String> = words.collect();
            if moves.is_empty() {
                let place = format!("opening book, line {}", number + 1);
                let message =
                    format!("line {} of the opening book has no move after {game:?}: expected {ALLOWED}", number + 1);
                return Err(ArbiterError::invalid(&game, &place, ALLOWED, message).into());
            }
            book.lines.entry(game).or_default().push(moves);
        }
        Ok(book)
    }

    /// Returns the book in a file. Fails with PARAMETER_INVALID if it can't be read, is not UTF-8, or is no book.
    pub fn load(path: impl AsRef<Path>) -> Result<OpeningBook, Error> {
        let path = path.as_ref().display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let message = format!("the opening book {path} can't be read: {error}");
            ArbiterError::invalid(&path, "opening book", "a text in UTF-8", message)
        })?;
        OpeningBook::parse(&text)
    }

    /// Returns the moves that the book has after those played, each once, in the order of the book.
    pub fn moves(&self, game: &str, played: &[String]) -> Vec<&str> {
        let mut found = Vec::new();
        for line in self.lines.get(game).into_iter().flatten() {
            if line.starts_with(played)
                && let Some(next) = line.get(played.len())
                && !found.contains(&next.as_str())
            {
                found.push(next);
            }
        }
        found
    }

    /// Returns one of the moves for a turn by lot; `None`: think. A match from a position of its own is in no book.
    pub fn move_for(&self, turn: &Turn) -> Option<&str> {
        if !turn.live.start_position().is_empty() {
            return None;
        }
        fastrand::choice(self.moves(&turn.game, &turn.moves))
    }
}
