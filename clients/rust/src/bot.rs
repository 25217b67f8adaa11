//! The interface of bots: one method, from a turn to a choice, and optional callbacks.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use crate::errors::{ArbiterError, BotError};
use crate::profile::Profile;
use crate::proto;
use crate::turn::Turn;
use crate::values::{Challenge, ChallengeClosed, DrawOffer, FinishedMatch, LiveMatch, TournamentCall};

const CERTAIN: i32 = 1_000;
const MOST_LINE_MOVES: usize = 32;
const LONGEST_LINE: usize = 500;

/// A bot. Only [`choose`](Bot::choose) and [`profile`](Bot::profile) have to be written.
///
/// `choose` and `refused` are async (`async fn` in an `impl` does it), the other methods plain ones. Each call has a thread
/// of its own in the tokio runtime, so that the stream stays alive however long the bot computes between two awaits; calls
/// of different matches run at once: what belongs to one match is best kept in its [memory](LiveMatch::with_memory), what
/// belongs to all behind a lock. One bot may be played by several runs, if it is behind an [`Arc`].
pub trait Bot: Send + Sync + 'static {
    /// Describes the bot and the matches that it wants. It is called once, at the start of a run.
    fn profile(&self) -> Profile;

    /// Returns the choice for a turn. An error, or a panic, costs the match (see [`OnError`](crate::OnError)); but
    /// where it is an [`Error`](crate::Error) that passes, because the server was away, the bot is asked again.
    ///
    /// The future is dropped, at its next await, when the choice is not needed any more: the match has ended, a later
    /// turn has come, or the run is over. Code that does not await sees [`Turn::over`].
    fn choose(&self, turn: &Turn) -> impl Future<Output = Result<Choice, BotError>> + Send;

    /// Returns another choice for a turn after the first one was refused; `None` (the default) calls `choose` once
    /// more, with `turn.refused` set. If that choice is refused too, the bot resigns the match.
    fn refused(
        &self,
        turn: &Turn,
        refusal: &ArbiterError,
    ) -> impl Future<Output = Result<Option<Choice>, BotError>> + Send {
        let _ = (turn, refusal);
        ready(Ok(None))
    }

    /// Called when a match has started, or when the bot continues one after a restart; before its first turn. No clock
    /// of the match starts before it has returned, or at most `Policy.ready_ms` later. For a match of the bot against
    /// itself it is called twice, once for each seat.
    fn started(&self, live: &Arc<LiveMatch>) {
        let _ = live;
    }

    /// Called when a match has ended. After it returns, the client acknowledges the result to the server.
    fn ended(&self, finished: &FinishedMatch) {
        let _ = finished;
    }

    /// Returns whether to accept the opponent's draw offer. By default no.
    fn draw_offered(&self, offer: &DrawOffer) -> bool {
        let _ = offer;
        false
    }

    /// Answers a challenge. By default the profile decides.
    fn challenged(&self, challenge: &Challenge) -> Answer {
        let _ = challenge;
        Answer::ByProfile
    }

    /// Answers the open seek of another player; called only if the profile accepts seeks. By default the profile
    /// decides. It may be called again for a seek that is still open.
    fn sought(&self, seek: &Challenge) -> Answer {
        let _ = seek;
        Answer::ByProfile
    }

    /// Answers the call of a tournament that the bot may enter; called only if the profile enters tournaments. By
    /// default the profile decides.
    fn called(&self, tournament: &TournamentCall) -> Answer {
        let _ = tournament;
        Answer::ByProfile
    }

    /// Called when a challenge or seek of the bot's own is no longer open.
    fn challenge_closed(&self, closed: &ChallengeClosed) {
        let _ = closed;
    }
}

/// Has a pointer to a bot be a bot.
macro_rules! points_to_a_bot {
    ([$($bot:ident)?] $trait:ident, $pointer:ty) => {
        impl<$($bot: Bot)?> Bot for $pointer {
            fn profile(&self) -> Profile {
                $trait::profile(&**self)
            }

            async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
                $trait::choose(&**self, turn).await
            }

            async fn refused(&self, turn: &Turn, refusal: &ArbiterError) -> Result<Option<Choice>, BotError> {
                $trait::refused(&**self, turn, refusal).await
            }

            fn started(&self, live: &Arc<LiveMatch>) {
                $trait::started(&**self, live);
            }

            fn ended(&self, finished: &FinishedMatch) {
                $trait::ended(&**self, finished);
            }

            fn draw_offered(&self, offer: &DrawOffer) -> bool {
                $trait::draw_offered(&**self, offer)
            }

            fn challenged(&self, challenge: &Challenge) -> Answer {
                $trait::challenged(&**self, challenge)
            }

            fn sought(&self, seek: &Challenge) -> Answer {
                $trait::sought(&**self, seek)
            }

            fn called(&self, tournament: &TournamentCall) -> Answer {
                $trait::called(&**self, tournament)
            }

            fn challenge_closed(&self, closed: &ChallengeClosed) {
                $trait::challenge_closed(&**self, closed);
            }
        }
    };
}

points_to_a_bot!([B] Bot, Arc<B>);
points_to_a_bot!([] AnyBot, Box<dyn AnyBot>);
points_to_a_bot!([] AnyBot, Arc<dyn AnyBot>);

/// A future of a bot's, behind a pointer.
pub(crate) type Answering<'a, A> = Pin<Box<dyn Future<Output = Result<A, BotError>> + Send + 'a>>;

/// A bot of any type, for a program that chooses among several: every [`Bot`] is one, and a `Box<dyn AnyBot>` or an
/// `Arc<dyn AnyBot>` is a [`Bot`] again. ([`Bot`] itself can't be behind `dyn`, because its async methods have futures of
/// types of their own.) Its methods are those of [`Bot`].
#[allow(missing_docs)]
pub trait AnyBot: Send + Sync + 'static {
    fn profile(&self) -> Profile;
    fn choose<'a>(&'a self, turn: &'a Turn) -> Answering<'a, Choice>;
    fn refused<'a>(&'a self, turn: &'a Turn, refusal: &'a ArbiterError) -> Answering<'a, Option<Choice>>;
    fn started(&self, live: &Arc<LiveMatch>);
    fn ended(&self, finished: &FinishedMatch);
    fn draw_offered(&self, offer: &DrawOffer) -> bool;
    fn challenged(&self, challenge: &Challenge) -> Answer;
    fn sought(&self, seek: &Challenge) -> Answer;
    fn called(&self, tournament: &TournamentCall) -> Answer;
    fn challenge_closed(&self, closed: &ChallengeClosed);
}

impl<B: Bot> AnyBot for B {
    fn profile(&self) -> Profile {
        Bot::profile(self)
    }

    fn choose<'a>(&'a self, turn: &'a Turn) -> Answering<'a, Choice> {
        Box::pin(Bot::choose(self, turn))
    }

    fn refused<'a>(&'a self, turn: &'a Turn, refusal: &'a ArbiterError) -> Answering<'a, Option<Choice>> {
        Box::pin(Bot::refused(self, turn, refusal))
    }

    fn started(&self, live: &Arc<LiveMatch>) {
        Bot::started(self, live);
    }

    fn ended(&self, finished: &FinishedMatch) {
        Bot::ended(self, finished);
    }

    fn draw_offered(&self, offer: &DrawOffer) -> bool {
        Bot::draw_offered(self, offer)
    }

    fn challenged(&self, challenge: &Challenge) -> Answer {
        Bot::challenged(self, challenge)
    }

    fn sought(&self, seek: &Challenge) -> Answer {
        Bot::sought(self, seek)
    }

    fn called(&self, tournament: &TournamentCall) -> Answer {
        Bot::called(self, tournament)
    }

    fn challenge_closed(&self, closed: &ChallengeClosed) {
        Bot::challenge_closed(self, closed);
    }
}

/// What `choose` may return. A text, or a [`Move`], becomes one with `into()`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Choice {
    /// Play a move.
    Move(Move),
    /// Offer a draw, and play a move.
    OfferDraw(Move),
    /// Claim the draw that `turn.draw_claim` names.
    ClaimDraw,
    /// Resign the match.
    Resign,
}

impl<M: Into<Move>> From<M> for Choice {
    fn from(r#move: M) -> Choice {
        Choice::Move(r#move.into())
    }
}

/// A move with the bot's comment, which opponents see after the end of the match. It is made of a text:
/// `Move::from("a1").with_evaluation(612).with_line(["a1", "b2"])`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Move {
    /// The move's text.
    pub text: String,
    /// The score that the bot expects, in permille: 0 lost, 500 even, 1000 won. Another number is left out.
    pub evaluation: Option<i32>,
    /// The moves that it expects, beginning with its own. The server cuts it after 32 moves or 500 characters.
    pub line: Vec<String>,
}

with_fields!(Move {
    one with_evaluation evaluation: i32;
    many with_line line: String;
});

impl Move {
    /// Returns the comment on the move, without the parts that do not fit: a comment must not cost the move.
    pub(crate) fn comment(&self) -> Option<proto::MoveComment> {
        let evaluation = self.evaluation.filter(|score| (0..=CERTAIN).contains(score));
        let fits = |text: &&String| text.is_ascii() && text.len() <= LONGEST_LINE;
        let line: Vec<String> = self.line.iter().take(MOST_LINE_MOVES).take_while(fits).cloned().collect();
        (evaluation.is_some() || !line.is_empty()).then_some(proto::MoveComment {
            evaluation,
            line,
            ..Default::default()
        })
    }
}

impl From<String> for Move {
    fn from(text: String) -> Move {
        Move { text, ..Move::default() }
    }
}

impl From<&str> for Move {
    fn from(text: &str) -> Move {
        text.to_owned().into()
    }
}

/// The answer to a challenge, a seek or a tournament's call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The profile decides: games, time controls, opponents, most matches, and whether it accepts at all.
    ByProfile,
    /// Accept, or enter.
    Accept,
    /// Decline a challenge, with a reason for its challenger; ignore a seek or a tournament.
    Decline(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_does_not_fit_costs_nothing() {
        let said = |evaluation, line: &[&str]| {
            let line = line.iter().map(|text| (*text).to_owned()).collect();
            Move { text: "a1".into(), evaluation, line }.comment()
        };
        let long = "x".repeat(501);
        assert_eq!(said(None, &[]), None);
        assert_eq!(said(Some(-1), &[]), None);
        assert_eq!(said(Some(1_001), &["é"]), None);
        assert_eq!(said(None, &[&long]), None);
        let kept = said(Some(0), &["a1", "é", "b2"]).expect("something fits");
        assert_eq!((kept.evaluation, kept.line), (Some(0), vec!["a1".to_owned()]));
        assert_eq!(said(Some(500), &["a"; 40]).map(|comment| comment.line.len()), Some(32));
    }

    #[test]
    fn a_choice_is_made_of_a_text_or_a_move() {
        let plain = Choice::Move(Move { text: "a1".into(), ..Move::default() });
        assert_eq!(Choice::from("a1"), plain);
        assert_eq!(Choice::from("a1".to_owned()), plain);
        assert_eq!(Choice::from(Move::from("a1")), plain);
    }
}
