//! A turn: all that a bot needs to choose its move.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::client::Client;
use crate::errors::{ArbiterError, Error};
use crate::proto;
use crate::think_time::think_time_ms;
use crate::values::{CellContent, Clock, LegalMove, Line, LiveMatch, MatchPly, RecentMove};

/// The bot is to move.
#[derive(Clone)]
#[non_exhaustive]
pub struct Turn {
    /// The match: who plays, and what the bot keeps of it.
    pub live: Arc<LiveMatch>,
    /// The canonical variant.
    pub game: String,
    /// The bot's seat: the one to move, 1 or 2.
    pub seat: i32,
    /// The number of moves played before this turn.
    pub ply: i32,
    /// The position's text.
    pub position: String,
    /// All moves before this turn, with those of the opening.
    pub moves: Arc<Vec<String>>,
    /// The last moves: at least those since the bot's last turn on this stream.
    pub last_moves: Vec<RecentMove>,
    /// The clocks, by seat; empty without a time control.
    pub clocks: Vec<Clock>,
    /// When the bot's clock started, UTC, milliseconds since 1970, on the server's clock.
    pub started_ms: i64,
    /// When the turn was handed over, on the same clock.
    pub now_ms: i64,
    /// The longest think before the flag falls, in milliseconds from `started_ms`; 0 without a limit. See
    /// [`Turn::time_left`].
    pub available_ms: i64,
    /// The reason for which the bot may claim a draw; empty if it may not.
    pub draw_claim: String,
    /// Whether the opponent's draw offer stands.
    pub draw_offered: bool,
    /// The opponent.
    pub opponent: String,
    /// The board, if the bot's extras request it.
    pub board: Vec<CellContent>,
    /// The number of legal moves, if the bot's extras request it and it is known.
    pub legal_move_count: Option<i64>,
    /// The legal moves that came with the turn, as the bot's extras ask for them; [`Turn::legal_moves`] has them always.
    pub carried: Vec<LegalMove>,
    /// The revision of the event that made it a turn.
    pub revision: i64,
    /// Why the bot's first choice for this turn was refused, when it is asked again.
    pub refused: Option<ArbiterError>,
    received: Instant,
    left: watch::Receiver<bool>,
    client: Client,
}

/// A turn's message, when it arrived, and the flag that a later turn has replaced it.
#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) message: proto::Turn,
    pub(crate) received: Instant,
    pub(crate) left: watch::Receiver<bool>,
}

impl Turn {
    pub(crate) fn new(told: Told, live: Arc<LiveMatch>, moves: Arc<Vec<String>>, client: Client) -> Turn {
        let message = told.message;
        Turn {
            live,
            game: message.game,
            seat: message.seat,
            ply: message.ply,
            position: message.position,
            moves,
            last_moves: message.last_moves,
            clocks: message.clocks,
            started_ms: message.started_ms,
            now_ms: message.now_ms,
            available_ms: message.available_ms,
            draw_claim: message.draw_claim,
            draw_offered: message.draw_offered,
            opponent: message.opponent,
            board: message.board,
            legal_move_count: message.legal_move_count,
            carried: message.legal_moves,
            revision: message.revision,
            refused: None,
            received: told.received,
            left: told.left,
            client,
        }
    }

    /// Returns the line of play that leads to this turn, to ask [`Client::play_moves`] or [`Client::legal_moves`] about.
    pub fn line(&self) -> Line {
        Line { moves: self.moves.to_vec(), position: self.live.start_position(), ..Line::of(&self.game) }
    }

    /// Returns how long the bot may still think, from now, before its flag falls; `None` without a limit.
    pub fn time_left(&self) -> Option<Duration> {
        let available = u64::try_from(self.available_ms).ok().filter(|available| *available > 0)?;
        let waited = u64::try_from(self.now_ms - self.started_ms).unwrap_or(0);
        let thought = Duration::from_millis(waited) + self.received.elapsed();
        Some(Duration::from_millis(available).saturating_sub(thought))
    }

    /// Returns how long to think for this move from now; `None` without a time limit. `clients/README.md` has the rules.
    ///
    /// `expected_plies`: to the end of the game, of both players ([`EXPECTED_PLIES`](crate::EXPECTED_PLIES) where nothing
    /// is known). `matches`: how many think in this process.
    pub fn think_time(&self, expected_plies: u32, matches: u32) -> Option<Duration> {
        let left_ms = self.time_left()?.as_secs_f64() * 1_000.0;
        let clock = usize::try_from(self.seat - 1).ok().and_then(|seat| self.clocks.get(seat));
        let main_ms = clock.map_or(left_ms, |clock| left_ms.min(clock.remaining_ms as f64));
        let moves_left = clock.map_or(0, |clock| u32::try_from(clock.moves_left).unwrap_or(0));
        let control = self.live.time_control();
        let ms = think_time_ms(&control, left_ms, main_ms, moves_left, expected_plies, matches);
        Some(Duration::from_secs_f64(ms / 1_000.0))
    }

    /// Returns how long ago the turn arrived.
    pub(crate) fn age(&self) -> Duration {
        self.received.elapsed()
    }

    /// Returns whether the choice is no longer wanted: the match is over, a later turn has come, or the bot stops.
    pub fn over(&self) -> bool {
        self.live.over() || *self.left.borrow()
    }

    /// Waits until the choice is no longer wanted.
    pub(crate) async fn until_over(&self) {
        let mut left = self.left.clone();
        let _ = left.wait_for(|left| *left).await; // or the seat is gone, and with it the match
    }

    /// Returns the legal moves in bytewise order: those that came with the turn, or else the server's answer.
    pub async fn legal_moves(&self) -> Result<Vec<LegalMove>, Error> {
        if !self.carried.is_empty() {
            return Ok(self.carried.clone());
        }
        let place = MatchPly { match_id: self.live.match_id.clone(), ply: Some(self.ply) };
        self.client.legal_moves(place).await
    }

    /// Returns the client that the bot plays through, for questions to the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the same turn for another choice after a refusal.
    pub(crate) fn again(&self, refusal: ArbiterError, left: watch::Receiver<bool>) -> Turn {
        Turn { refused: Some(refusal), left, ..self.clone() }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Turn(ply {} of {:?}: {:?})", self.ply, self.live, self.position)
    }
}
