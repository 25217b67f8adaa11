//! The calls of ServerService and GameService: what the server is, which games it has, and their rules. None of these
//! needs a token.

use super::{Client, ask, collect};
use crate::channel::Again;
use crate::errors::Error;
use crate::proto;
use crate::values::{At, LegalMove, Line};

impl Client {
    /// Returns the server's versions, capabilities, limits and public keys.
    pub async fn server_info(&self) -> Result<proto::GetServerInfoResponse, Error> {
        ask!(self, Yes, service.get_server_info(proto::GetServerInfoRequest {})).await
    }

    /// Returns the games, in the server's order.
    pub async fn list_games(&self) -> Result<Vec<proto::GameSummary>, Error> {
        collect(10_000, |page_size, page_token| async move {
            let page = ask!(self, Yes, games.list_games(proto::ListGamesRequest { page_size, page_token })).await?;
            Ok((page.games, page.next_page_token))
        })
        .await
    }

    /// Returns everything about one variant, such as `pods(size=5)`. Refusals: GAME_UNKNOWN, PARAMETER_INVALID.
    pub async fn get_game(&self, game: &str) -> Result<proto::GetGameResponse, Error> {
        ask!(self, Yes, games.get_game(proto::GetGameRequest { game: game.to_owned() })).await
    }

    /// Returns the legal moves in a match at a ply ([`MatchPly`](crate::MatchPly)), or at the end of a line of play
    /// ([`Line`]), in bytewise order.
    ///
    /// Refusals: MATCH_NOT_FOUND, PLY_MISMATCH, GAME_UNKNOWN, PARAMETER_INVALID, POSITION_MALFORMED, MOVE_MALFORMED,
    /// MOVE_ILLEGAL (fact ply: which move of the line), BUDGET_SPENT, RATE_LIMITED, READER_TOO_SLOW.
    pub async fn legal_moves(&self, at: impl Into<At>) -> Result<Vec<LegalMove>, Error> {
        self.list_legal_moves(at.into(), false).await
    }

    /// Returns the legal moves with their visible parts; otherwise as [`Client::legal_moves`].
    pub async fn legal_moves_with_steps(&self, at: impl Into<At>) -> Result<Vec<LegalMove>, Error> {
        self.list_legal_moves(at.into(), true).await
    }

    async fn list_legal_moves(&self, at: At, with_steps: bool) -> Result<Vec<LegalMove>, Error> {
        let request = proto::LegalMovesRequest { at: Some(at), with_steps };
        self.connection
            .ask(request, Again::Yes, |request| {
                let mut stub = self.games();
                async move {
                    let mut chunks = stub.legal_moves(request).await?.into_inner();
                    let mut moves = Vec::new();
                    while let Some(chunk) = chunks.message().await? {
                        moves.extend(chunk.moves);
                    }
                    Ok(moves)
                }
            })
            .await
    }

    /// Plays a line and returns the positions from a ply on, with or without their boards, and the outcome. Refusals:
    /// as for [`Client::legal_moves`].
    pub async fn play_moves(
        &self,
        line: &Line,
        from_ply: usize,
        with_board: bool,
    ) -> Result<proto::PlayMovesResponse, Error> {
        let from_ply = i32::try_from(from_ply).unwrap_or(i32::MAX);
        let request = proto::PlayMovesRequest { line: Some(line.clone()), from_ply, with_board };
        ask!(self, Yes, games.play_moves(request)).await
    }
}
