//! The calls of TournamentService that bots make. The stub has those of organisers.

use super::{Client, ask, collect, new_request_id};
use crate::errors::Error;
use crate::proto;

impl Client {
    /// Returns the current state of a tournament. Refusals: TOURNAMENT_NOT_FOUND.
    pub async fn get_tournament(&self, tournament_id: &str) -> Result<proto::Tournament, Error> {
        let request = proto::GetTournamentRequest { tournament_id: tournament_id.to_owned() };
        Ok(ask!(self, Yes, tournaments.get_tournament(request)).await?.tournament.unwrap_or_default())
    }

    /// Returns the newest tournaments, at most so many, that pass the filters of a request (its page is not looked at).
    pub async fn list_tournaments(
        &self,
        filters: &proto::ListTournamentsRequest,
        most: usize,
    ) -> Result<Vec<proto::TournamentSummary>, Error> {
        collect(most, |page_size, page_token| async move {
            let request = proto::ListTournamentsRequest { page_size, page_token, ..filters.clone() };
            let page = ask!(self, Yes, tournaments.list_tournaments(request)).await?;
            Ok((page.tournaments, page.next_page_token))
        })
        .await
    }

    /// Enters the caller. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED, PLAYER_SUSPENDED, ARGUMENT_INVALID,
    /// SCOPE_MISSING.
    pub async fn enter_tournament(&self, tournament_id: &str) -> Result<proto::Entrant, Error> {
        let request = proto::EnterTournamentRequest {
            request_id: new_request_id(),
            tournament_id: tournament_id.to_owned(),
            ..proto::EnterTournamentRequest::default()
        };
        Ok(ask!(self, Yes, tournaments.enter_tournament(request)).await?.entrant.unwrap_or_default())
    }

    /// Withdraws the caller: games that it has not begun are lost. Refusals: TOURNAMENT_NOT_FOUND, TOURNAMENT_CLOSED,
    /// SCOPE_MISSING.
    pub async fn withdraw_from_tournament(&self, tournament_id: &str) -> Result<proto::Entrant, Error> {
        let request = proto::WithdrawFromTournamentRequest {
            request_id: new_request_id(),
            tournament_id: tournament_id.to_owned(),
            player: String::new(),
        };
        Ok(ask!(self, Yes, tournaments.withdraw_from_tournament(request)).await?.entrant.unwrap_or_default())
    }

    /// Returns the current standings of a tournament. Refusals: TOURNAMENT_NOT_FOUND.
    pub async fn get_standings(&self, tournament_id: &str) -> Result<proto::GetStandingsResponse, Error> {
        let request = proto::GetStandingsRequest { tournament_id: tournament_id.to_owned(), ..Default::default() };
        ask!(self, Yes, tournaments.get_standings(request)).await
    }
}
