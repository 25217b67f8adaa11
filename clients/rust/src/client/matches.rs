//! The calls of MatchService, but for watching. The stub has those that move in a match without a Play stream.

use super::{Client, ask, collect, new_request_id};
use crate::channel::Again;
use crate::errors::Error;
use crate::proto;

impl Client {
    /// Makes a match; seat 1 comes first in `players`. Needs scope organise. A request without an id gets one; fields
    /// that are left at their default have the server's.
    ///
    /// Refusals: GAME_UNKNOWN, PARAMETER_INVALID, PLAYER_NOT_FOUND, PLAYER_SUSPENDED, ARGUMENT_INVALID, MOVE_MALFORMED,
    /// MOVE_ILLEGAL, REQUEST_ID_REUSED, SCOPE_MISSING.
    pub async fn create_match(&self, mut request: proto::CreateMatchRequest) -> Result<proto::Match, Error> {
        if request.request_id.is_empty() {
            request.request_id = new_request_id();
        }
        let answer = ask!(self, Yes, matches.create_match(request)).await?;
        Ok(answer.r#match.unwrap_or_default())
    }

    /// Returns the current state of a match, with or without its moves. Refusals: MATCH_NOT_FOUND.
    pub async fn get_match(&self, match_id: &str, with_moves: bool) -> Result<proto::Match, Error> {
        let request = proto::GetMatchRequest { match_id: match_id.to_owned(), with_moves };
        let answer = ask!(self, Yes, matches.get_match(request)).await?;
        Ok(answer.r#match.unwrap_or_default())
    }

    /// Returns the newest matches, at most so many, that pass the filters of a request (its page is not looked at),
    /// without position, moves and clocks. Refusals: ARGUMENT_INVALID.
    pub async fn list_matches(
        &self,
        filters: &proto::ListMatchesRequest,
        most: usize,
    ) -> Result<Vec<proto::Match>, Error> {
        collect(most, |page_size, page_token| async move {
            let request = proto::ListMatchesRequest { page_size, page_token, ..filters.clone() };
            let page = ask!(self, Yes, matches.list_matches(request)).await?;
            Ok((page.matches, page.next_page_token))
        })
        .await
    }

    /// Returns the record of a match: one canonical JSON text a line. Refusals: MATCH_NOT_FOUND, READER_TOO_SLOW.
    pub async fn transcript(&self, match_id: &str) -> Result<Vec<u8>, Error> {
        let request = proto::GetTranscriptRequest { match_id: match_id.to_owned() };
        self.connection
            .ask(request, Again::Yes, |request| {
                let mut stub = self.matches();
                async move {
                    let mut parts = stub.get_transcript(request).await?.into_inner();
                    let mut lines = Vec::new();
                    while let Some(part) = parts.message().await? {
                        lines.extend(part.lines);
                    }
                    Ok(lines)
                }
            })
            .await
    }
}
