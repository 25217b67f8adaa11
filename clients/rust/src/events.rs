//! The events of a runner: from the stream, from the bot's choices, and for the end of the run.

use std::sync::Arc;

use crate::bot::Choice;
use crate::errors::{BotError, Error};
use crate::proto::play_item::Item;
use crate::turn::Turn;
use crate::values::LiveMatch;

/// The events of a runner, which it handles one after the other.
pub(crate) enum Event {
    /// An item of the server has arrived.
    Item(Box<Item>),
    /// A choice has ended.
    Chosen(Chosen),
    /// The bot has considered a draw offer.
    Offer { place: Place, accept: bool },
    /// The bot has handled an end.
    EndTold { number: u64 },
    /// The run ends with an error.
    Failed(Error),
    /// The run ends.
    Stop,
}

/// The result of a choice.
pub(crate) struct Chosen {
    pub(crate) place: Place,
    pub(crate) number: u64,
    pub(crate) ply: i32,
    /// The turn as the bot was asked about it; `None` where it failed before.
    pub(crate) turn: Option<Arc<Turn>>,
    pub(crate) choice: Result<Choice, BotError>,
}

/// Which seat of which match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) match_id: String,
    pub(crate) seat: i32,
}

impl Place {
    pub(crate) fn of(live: &LiveMatch) -> Place {
        Place { match_id: live.match_id.clone(), seat: live.seat }
    }
}
