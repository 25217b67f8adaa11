//! The calls of PlayerService that bots make. The stub has those of administrators.

use super::{Client, ask, collect, new_request_id};
use crate::errors::Error;
use crate::proto;
use crate::values::{Challenge, Terms};

impl Client {
    /// Makes a player; the answer has its first token, which is shown only now. An invitation is needed where the
    /// server says so, and empty elsewhere. Refusals: PLAYER_EXISTS, REGISTRATION_CLOSED, ARGUMENT_INVALID,
    /// RATE_LIMITED.
    pub async fn register_player(
        &self,
        name: &str,
        about: &str,
        invitation: &str,
    ) -> Result<proto::RegisterPlayerResponse, Error> {
        let request = proto::RegisterPlayerRequest {
            name: name.to_owned(),
            about: about.to_owned(),
            invitation: invitation.to_owned(),
        };
        if self.connection().addresses.listed.len() > 1 {
            // A request that is not repeated goes to an address that answers.
            if let Err(error @ Error::ConnectionFailed(..)) = self.server_info().await {
                return Err(error);
            }
        }
        ask!(self, No, players.register_player(request)).await
    }

    /// Returns the caller, and the scopes of its token. Refusals: TOKEN_INVALID.
    pub async fn myself(&self) -> Result<proto::GetPlayerResponse, Error> {
        ask!(self, Yes, players.get_player(proto::GetPlayerRequest::default())).await
    }

    /// Returns a player. Refusals: PLAYER_NOT_FOUND.
    pub async fn get_player(&self, name: &str) -> Result<proto::Player, Error> {
        let answer = ask!(self, Yes, players.get_player(proto::GetPlayerRequest { name: name.to_owned() })).await?;
        Ok(answer.player.unwrap_or_default())
    }

    /// Returns players by name, at most so many.
    pub async fn list_players(&self, most: usize) -> Result<Vec<proto::Player>, Error> {
        collect(most, |page_size, page_token| async move {
            let page =
                ask!(self, Yes, players.list_players(proto::ListPlayersRequest { page_size, page_token })).await?;
            Ok((page.players, page.next_page_token))
        })
        .await
    }

    /// Challenges a player. Needs scope play. Refusals: PLAYER_NOT_FOUND, PLAYER_SUSPENDED, GAME_UNKNOWN,
    /// PARAMETER_INVALID, ARGUMENT_INVALID.
    pub async fn create_challenge(&self, opponent: &str, terms: Terms) -> Result<Challenge, Error> {
        let request = proto::CreateChallengeRequest {
            request_id: new_request_id(),
            opponent: opponent.to_owned(),
            terms: Some(terms),
        };
        Ok(ask!(self, Yes, players.create_challenge(request)).await?.challenge.unwrap_or_default())
    }

    /// Accepts a challenge to the caller, or any seek, and returns the match; may be repeated. Needs scope play.
    /// Refusals: CHALLENGE_NOT_FOUND, PLAYER_SUSPENDED (the challenger is).
    pub async fn accept_challenge(&self, challenge_id: &str) -> Result<proto::Match, Error> {
        let request = proto::AcceptChallengeRequest { challenge_id: challenge_id.to_owned() };
        Ok(ask!(self, Yes, players.accept_challenge(request)).await?.r#match.unwrap_or_default())
    }

    /// Declines a challenge for a reason of at most 200 characters, or withdraws the caller's own challenge or seek.
    /// Needs scope play. Refusals: CHALLENGE_NOT_FOUND.
    pub async fn decline_challenge(&self, challenge_id: &str, reason: &str) -> Result<(), Error> {
        let request =
            proto::DeclineChallengeRequest { challenge_id: challenge_id.to_owned(), reason: reason.to_owned() };
        ask!(self, Yes, players.decline_challenge(request)).await.map(drop)
    }

    /// Makes a challenge that any player may accept; the first gets the match. Refusals: as for
    /// [`Client::create_challenge`].
    pub async fn create_seek(&self, terms: Terms) -> Result<Challenge, Error> {
        let request = proto::CreateSeekRequest { request_id: new_request_id(), terms: Some(terms) };
        Ok(ask!(self, Yes, players.create_seek(request)).await?.seek.unwrap_or_default())
    }

    /// Returns the open challenges to and by the caller, and all open seeks, oldest first, at most so many.
    pub async fn list_challenges(&self, most: usize) -> Result<Vec<Challenge>, Error> {
        collect(most, |page_size, page_token| async move {
            let request = proto::ListChallengesRequest { page_size, page_token };
            let page = ask!(self, Yes, players.list_challenges(request)).await?;
            Ok((page.challenges, page.next_page_token))
        })
        .await
    }
}
