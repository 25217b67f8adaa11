//! The values for a bot: its matches, and their ends. Everything else is a message of the protocol ([`crate::proto`]).

mod live;

use std::collections::HashMap;
use std::sync::Arc;

pub use live::LiveMatch;
pub(crate) use live::joined;

use crate::proto;
pub use crate::proto::legal_moves_request::At;
pub use crate::proto::{
    CellContent, Challenge, ChallengeClosed, Clock, LegalMove, LineOfPlay as Line, MatchPly, RecentMove, ResultKind,
    Terms, TournamentCall,
};

/// The opponent offers a draw.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DrawOffer {
    /// The match in which it is offered.
    pub live: Arc<LiveMatch>,
}

/// A match of the bot has ended, perhaps while it was away. In a match of the bot against itself `seat` is 1.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FinishedMatch {
    /// The match's id.
    pub match_id: String,
    /// The canonical variant.
    pub game: String,
    /// The bot's seat.
    pub seat: i32,
    /// The opponent.
    pub opponent: String,
    /// How it ended.
    pub result: proto::Result,
    /// The position's text at the end.
    pub position: String,
    /// The match as the bot played it; `None` if this run never saw it live.
    pub live: Option<Arc<LiveMatch>>,
}

impl FinishedMatch {
    pub(crate) fn new(message: proto::MatchEnded, live: Option<Arc<LiveMatch>>) -> FinishedMatch {
        FinishedMatch {
            match_id: message.match_id,
            game: message.game,
            seat: message.seat,
            opponent: message.opponent,
            result: message.result.unwrap_or_default(),
            position: message.position,
            live,
        }
    }

    /// Returns the bot's points: 1, ½ or 0, or `None` if the match is void.
    pub fn score(&self) -> Option<f64> {
        self.result.score(self.seat)
    }
}

impl proto::Result {
    /// Returns a seat's points: 1, ½ or 0, or `None` if the match is void.
    pub fn score(&self, seat: i32) -> Option<f64> {
        match self.kind() {
            ResultKind::Win => Some(if self.winner == seat { 1.0 } else { 0.0 }),
            ResultKind::Draw => Some(0.5),
            ResultKind::Void | ResultKind::Unspecified => None,
        }
    }
}

impl proto::Board {
    /// Returns the contents of a board, such as that of a turn, as rows of cells in reading order; `None` where nothing is
    /// known of a cell.
    pub fn array<'a>(&self, contents: &'a [CellContent]) -> Vec<Vec<Option<&'a CellContent>>> {
        let by_name: HashMap<&str, &CellContent> = contents.iter().map(|it| (it.cell.as_str(), it)).collect();
        let row = |line: &proto::CellLine| line.cells.iter().map(|cell| by_name.get(cell.as_str()).copied()).collect();
        self.lines.iter().map(row).collect()
    }
}

impl Line {
    /// Returns the line from a game's initial position, without moves.
    pub fn of(game: impl Into<String>) -> Line {
        Line { game: game.into(), position: String::new(), moves: Vec::new() }
    }

    /// Returns this line with one move more.
    pub fn then(&self, text: impl Into<String>) -> Line {
        let mut line = self.clone();
        line.moves.push(text.into());
        line
    }
}

impl From<&Line> for At {
    fn from(line: &Line) -> At {
        At::Line(line.clone())
    }
}

impl From<Line> for At {
    fn from(line: Line) -> At {
        At::Line(line)
    }
}

impl From<MatchPly> for At {
    fn from(place: MatchPly) -> At {
        At::Match(place)
    }
}
