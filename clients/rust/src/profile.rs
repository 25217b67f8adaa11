//! The profile of a bot: its description, and the matches that it wants.

use crate::errors::{ArbiterError, Error};
use crate::proto;
use crate::time_control::{canonical, same};
use crate::values::{Challenge, Terms, TournamentCall};

const SEATS: i32 = 2;
const READY: &str = "ready"; // the capability of a client that says when its bot is ready for a match

/// Optional content of each turn; it costs time on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extras {
    /// The board, cell by cell.
    pub board: bool,
    /// The number of legal moves.
    pub legal_move_count: bool,
    /// The legal moves, if there are at most this many.
    pub legal_moves_up_to: i32,
    /// The visible parts of each legal move.
    pub steps: bool,
}

with_fields!(Extras {
    one with_board board: bool;
    one with_legal_move_count legal_move_count: bool;
    one with_legal_moves_up_to legal_moves_up_to: i32;
    one with_steps steps: bool;
});

/// The profile of a bot. Start from `Profile::named("…")` and change what matters, `.with_games(["pods"])`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The bot's name, for people; the player's too where no other is given.
    pub name: String,
    /// The bot's version; versions are rated apart.
    pub version: String,
    /// The games or variants that it plays: `pods` stands for all its variants. Empty for all.
    pub games: Vec<String>,
    /// The time controls that it accepts in challenges, seeks and tournaments, compared by meaning. Empty for all. With
    /// a text that is none, a run ends at its start (`PARAMETER_INVALID`).
    pub time_controls: Vec<String>,
    /// The players whose challenges and seeks it accepts. Empty for all.
    pub opponents: Vec<String>,
    /// Whether it plays only rated matches, or only unrated ones. `None` for both.
    pub rated: Option<bool>,
    /// The seat that challenges and seeks must give it: 1 or 2; 0 for any, and for the lot.
    pub seat: i32,
    /// The lowest rating of a challenger in the game. With such a limit, the client asks for it (`GetRating`).
    pub least_rating: Option<f64>,
    /// The highest one.
    pub most_rating: Option<f64>,
    /// How many matches it plays at once; 0 for no limit. At the limit it declines challenges, leaves seeks alone and
    /// withdraws its own.
    pub most_matches: u32,
    /// Whether it accepts challenges that suit.
    pub accept_challenges: bool,
    /// Whether it accepts open seeks of others that suit.
    pub accept_seeks: bool,
    /// Terms of seeks to keep open while there is room for a match.
    pub seeks: Vec<Terms>,
    /// Whether it enters every tournament that suits, when it is called.
    pub enter_tournaments: bool,
    /// Its capabilities beyond the first version of the protocol, by name.
    pub capabilities: Vec<String>,
    /// The optional content of its turns.
    pub extras: Extras,
}

with_fields!(Profile {
    one with_version version: String;
    one with_rated rated: bool;
    one with_seat seat: i32;
    one with_least_rating least_rating: f64;
    one with_most_rating most_rating: f64;
    one with_most_matches most_matches: u32;
    one with_accept_challenges accept_challenges: bool;
    one with_accept_seeks accept_seeks: bool;
    one with_enter_tournaments enter_tournaments: bool;
    one with_extras extras: Extras;
    many with_games games: String;
    many with_time_controls time_controls: String;
    many with_opponents opponents: String;
    many with_seeks seeks: Terms;
    many with_capabilities capabilities: String;
});

impl Profile {
    /// Returns the profile of a bot of that name: version 1, all games, all challenges accepted, nothing else.
    pub fn named(name: impl Into<String>) -> Profile {
        Profile {
            name: name.into(),
            version: "1".to_owned(),
            games: Vec::new(),
            time_controls: Vec::new(),
            opponents: Vec::new(),
            rated: None,
            seat: 0,
            least_rating: None,
            most_rating: None,
            most_matches: 0,
            accept_challenges: true,
            accept_seeks: false,
            seeks: Vec::new(),
            enter_tournaments: false,
            capabilities: Vec::new(),
            extras: Extras::default(),
        }
    }

    pub(crate) fn hello(&self) -> proto::ClientHello {
        let extras = proto::TurnExtras {
            board: self.extras.board,
            legal_move_count: self.extras.legal_move_count,
            legal_moves_up_to: self.extras.legal_moves_up_to,
            steps: self.extras.steps,
        };
        proto::ClientHello {
            protocol_version: "1.0".to_owned(),
            software: "arbiter-client-rust".to_owned(),
            software_version: env!("CARGO_PKG_VERSION").to_owned(),
            bot_name: self.name.clone(),
            bot_version: self.version.clone(),
            capabilities: [READY].into_iter().map(str::to_owned).chain(self.capabilities.iter().cloned()).collect(),
            games: self.games.clone(),
            most_matches: i32::try_from(self.most_matches).unwrap_or(0),
            extras: Some(extras),
            seeks: self.accept_seeks,
            tournaments: self.enter_tournaments,
        }
    }
}

impl Profile {
    /// Returns whether the bot plays a variant: it, or its game, is in `games`, or `games` is empty.
    pub fn plays(&self, variant: &str) -> bool {
        let game = variant.split('(').next().unwrap_or(variant);
        self.games.is_empty() || self.games.iter().any(|own| own == variant || own == game)
    }

    /// Returns whether the bot plays at a time control: `60s` in `time_controls` stands for `1m` too.
    pub fn plays_at(&self, time_control: &str) -> bool {
        self.time_controls.is_empty() || self.time_controls.iter().any(|own| same(own, time_control))
    }

    /// Fails with the arbiter's refusal for what is no time control: with it, the bot would wait for a match in vain.
    pub(crate) fn check_time_controls(&self) -> Result<(), Error> {
        let sought = self.seeks.iter().map(|terms| &terms.time_control).filter(|control| !control.is_empty());
        for what in self.time_controls.iter().chain(sought) {
            if let Err(mistake) = canonical(what) {
                let name = if self.name.is_empty() { "the bot" } else { &self.name };
                let message = format!("{name}: {}", mistake.message);
                return Err(ArbiterError::invalid(what, "time", mistake.allowed, message).into());
            }
        }
        Ok(())
    }

    /// Returns whether it depends on a challenger's rating whether the profile excludes a challenge.
    pub(crate) fn limits_ratings(&self) -> bool {
        self.least_rating.is_some() || self.most_rating.is_some()
    }

    /// Returns the reason why the profile excludes a challenge or seek of a player with a rating in the game, if it has
    /// one; without regard to the number of matches.
    pub(crate) fn objection(&self, challenge: &Challenge, rating: Option<f64>) -> Option<String> {
        let terms = challenge.terms.clone().unwrap_or_default();
        if !self.plays(&terms.game) {
            return Some(format!("this bot plays {}", self.games.join(", ")));
        }
        if !self.plays_at(&terms.time_control) {
            return Some(format!("this bot plays at {}", self.time_controls.join(", ")));
        }
        if let Some(rated) = self.rated.filter(|rated| *rated != terms.rated) {
            return Some(format!("this bot plays {} matches only", if rated { "rated" } else { "unrated" }));
        }
        if self.seat != 0 && terms.seat != SEATS + 1 - self.seat {
            return Some(format!("this bot plays as seat {} only", self.seat));
        }
        if !among(&self.opponents, &challenge.challenger) {
            return Some(format!("this bot plays against {}", self.opponents.join(", ")));
        }
        if let Some(least) = self.least_rating.filter(|least| rating.is_none_or(|rating| rating < *least)) {
            return Some(format!("this bot plays against ratings of at least {least}"));
        }
        let most = self.most_rating.filter(|most| rating.is_none_or(|rating| rating > *most))?;
        Some(format!("this bot plays against ratings of at most {most}"))
    }

    pub(crate) fn suits(&self, call: &TournamentCall) -> bool {
        let rated = self.rated.is_none_or(|rated| rated == call.rated);
        rated && call.games.iter().all(|game| self.plays(game)) && self.plays_at(&call.time_control)
    }
}

fn among(accepted: &[String], value: &str) -> bool {
    accepted.is_empty() || accepted.iter().any(|each| each == value)
}
