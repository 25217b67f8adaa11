//! The call of RatingService that bots make. The stub has the others.

use super::{Client, ask};
use crate::errors::Error;
use crate::proto;

impl Client {
    /// Returns the ratings of a player's versions, the newest first, in a variant; with an empty one, in all games
    /// together. A player without rated games has none. Refusals: PLAYER_NOT_FOUND, GAME_UNKNOWN, PARAMETER_INVALID.
    pub async fn get_rating(&self, player: &str, game: &str) -> Result<proto::GetRatingResponse, Error> {
        let request = proto::GetRatingRequest {
            player: player.to_owned(),
            game: game.to_owned(),
            ..proto::GetRatingRequest::default()
        };
        ask!(self, Yes, ratings.get_rating(request)).await
    }
}
