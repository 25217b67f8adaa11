//! Write a bot for an Arbiter server: one method, from a turn to a move. The client does the rest: it connects,
//! registers the player, answers pings while the bot thinks, comes back after a lost connection, sends every move
//! exactly once, and plays several matches at a time.
//!
//! ```no_run
#![cfg_attr(feature = "cli", doc = include_str!("../samples/first_move.rs"))]
//! ```
//!
//! A bot implements [`Bot`] and gets each [`Turn`]; [`run`] plays it with [`Options`]; [`Client`] makes every other
//! call, and watches matches. The README has it all on a few pages.
//!
//! Features, both on by default: `cli` is the command line of bots (`cli::main`), `tls` transport security.

#[macro_use]
mod fields;

mod addresses;
mod backoff;
mod bot;
mod calling;
mod channel;
#[cfg(feature = "cli")]
pub mod cli;
mod client;
mod credentials;
mod environment;
mod errors;
mod events;
mod hooks;
mod local_match;
#[cfg(feature = "cli")]
mod log;
mod opening_book;
mod options;
mod outage;
mod outbox;
mod plain_text;
mod playing;
mod policies;
mod profile;
mod runner;
mod seeking;
mod session;
mod slots;
mod think_time;
mod time_control;
mod turn;
mod values;
#[cfg(test)]
mod vectors;

/// The protocol's messages and stubs, as `.proto` files describe them. They are public: what a server tells is read from
/// them, and calls without a method of their own take them.
///
/// The protocol only adds. Its enums are non-exhaustive, so that a new reason or event breaks no `match`. Its messages
/// are not: Rust would then let nobody outside this crate write one, not even with `..Default::default()`, and generated
/// messages have no builders. So end each message with `..Default::default()` and each pattern with `..`: with these a
/// new field breaks no code.
#[allow(missing_docs, clippy::all)]
pub mod proto {
    include!("generated/arbiter.v1.rs"); // by tools/
}

pub use addresses::DEFAULT_SERVER;
pub use backoff::Backoff;
pub use bot::{Answer, AnyBot, Bot, Choice, Move};
pub use channel::{Authenticated, Bearer, Tls};
pub use client::{Client, Event, News, Observation, Observed};
pub use credentials::Credentials;
pub use errors::{ArbiterError, BotError, Error, Reason};
pub use hooks::Hooks;
pub use local_match::{LocalOptions, local_match};
pub use opening_book::OpeningBook;
pub use options::{OnError, Options};
pub use plain_text::plain_text;
pub use playing::{block_on, play, play_until, run};
pub use profile::{Extras, Profile};
pub use think_time::{EXPECTED_PLIES, think_time_ms};
pub use tonic::Code;
pub use turn::Turn;
pub use values::{
    At, CellContent, Challenge, ChallengeClosed, Clock, DrawOffer, FinishedMatch, LegalMove, Line, LiveMatch, MatchPly,
    RecentMove, ResultKind, Terms, TournamentCall,
};
