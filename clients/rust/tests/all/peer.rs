//! A scripted peer: a real gRPC server whose every word is the test's own.

use std::time::Duration;

use arbiter_client::proto::move_answer::Answer;
use arbiter_client::proto::play_act::Act;
use arbiter_client::proto::play_item::Item;
use arbiter_client::proto::*;
use arbiter_client::{Code, Reason};
use prost::Message;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tonic::Status;

pub use crate::services::Peer;

/// The player whose stream it always is.
pub const PLAYER: &str = "alice";
const WAIT: Duration = Duration::from_secs(600); // only a test that hangs takes that long, however busy the machine

/// Waits for something that must happen soon.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT, what).await.expect("it happens soon")
}

/// Returns a refusal as the arbiter writes it.
pub fn refusal(reason: Reason, code: Code, facts: &[(&str, &str)]) -> Refusal {
    let name = reason.as_str_name().trim_start_matches("REFUSAL_REASON_");
    let facts = facts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Refusal { reason: reason.into(), code: code as i32, message: format!("said {name}"), facts }
}

/// Returns the status of a call that is refused.
pub fn status(refused: &Refusal) -> Status {
    let type_url = "type.googleapis.com/arbiter.v1.Refusal".to_owned();
    let detail = prost_types::Any { type_url, value: refused.encode_to_vec() };
    let details = tonic_types::Status { code: refused.code, message: refused.message.clone(), details: vec![detail] };
    Status::with_details(Code::from_i32(refused.code), &refused.message, details.encode_to_vec().into())
}

/// Returns a turn whose line is a, b, c, … so far.
pub fn turn(match_id: &str, ply: i32) -> Turn {
    let recent = |ply: i32| RecentMove { ply, seat: 1 + ply % 2, r#move: letter(ply) };
    Turn {
        match_id: match_id.to_owned(),
        game: "pods".to_owned(),
        seat: 1 + ply % 2,
        ply,
        position: format!("after {ply}"),
        last_moves: (0..ply).map(recent).collect(),
        opponent: "bob".to_owned(),
        ..Turn::default()
    }
}

/// Returns the move that everybody plays at a ply: its letter of the alphabet.
pub fn letter(ply: i32) -> String {
    char::from(b'a' + u8::try_from(ply).expect("a small ply")).to_string()
}

/// Returns a running match of the player's, in seat 1.
pub fn running(match_id: &str) -> Match {
    Match {
        match_id: match_id.to_owned(),
        game: "pods".to_owned(),
        players: vec![PLAYER.to_owned(), "bob".to_owned()],
        phase: Phase::Active.into(),
        time_control: "1m+1s".to_owned(),
        ..Match::default()
    }
}

/// Returns the end of a match that the player won in seat 1.
pub fn won(match_id: &str, cursor: &str) -> MatchEnded {
    let result =
        Result { kind: ResultKind::Win.into(), winner: 1, reason: "territory".to_owned(), ..Result::default() };
    MatchEnded {
        match_id: match_id.to_owned(),
        game: "pods".to_owned(),
        seat: 1,
        opponent: "bob".to_owned(),
        result: Some(result),
        position: "end".to_owned(),
        cursor: cursor.to_owned(),
    }
}

/// One Play stream, seen from the server.
pub struct Stream {
    /// What came as the metadata of that name.
    pub authorization: String,
    pub(crate) acts: UnboundedReceiver<Option<PlayAct>>,
    pub(crate) say: Sender<std::result::Result<PlayResponse, Status>>,
}

impl Stream {
    /// Sends items together.
    pub async fn say(&self, items: impl IntoIterator<Item = Item>) {
        let items = items.into_iter().map(|item| PlayItem { item: Some(item) }).collect();
        self.write(PlayResponse { items }).await;
    }

    /// Sends a response as it is.
    pub async fn write(&self, response: PlayResponse) {
        self.say.send(Ok(response)).await.expect("the bot reads");
    }

    /// Returns the next thing that the bot says.
    pub async fn read(&mut self) -> PlayAct {
        soon(self.acts.recv()).await.flatten().expect("the bot has something to say")
    }

    /// Returns the next thing that the bot says, which must be a move, and the move.
    pub async fn hear_move(&mut self) -> (PlayAct, MoveAct) {
        let act = self.read().await;
        match act.act.clone() {
            Some(Act::Move(said)) => (act, said),
            other => panic!("expected a move, got {other:?}"),
        }
    }

    /// Sends a ping and reads its pong, which must come next.
    pub async fn ping(&mut self, number: u64) {
        self.say([Item::Ping(Ping { number })]).await;
        assert_eq!(self.read().await.act, Some(Act::Pong(Pong { number })));
    }

    /// Reads the acknowledgement of a cursor, which must come next.
    pub async fn hear_acknowledgement(&mut self, cursor: &str) {
        let cursor = cursor.to_owned();
        assert_eq!(self.read().await.act, Some(Act::Acknowledge(Acknowledgement { cursor })));
    }

    /// Waits until the bot has ended its side, and ends the server's; anything that the bot says before is a failure.
    pub async fn closed(mut self) {
        let last = soon(self.acts.recv()).await.expect("the stream is still there");
        assert_eq!(last, None);
    }

    /// Reads the bot's hello and answers it.
    pub async fn meet(&mut self) -> ClientHello {
        self.meet_silent_for(60_000).await
    }

    /// Reads the bot's hello and answers it, with how long the server is silent at most.
    pub async fn meet_silent_for(&mut self, silence_most_ms: i64) -> ClientHello {
        let Some(Act::Hello(hello)) = self.read().await.act else { panic!("expected a hello") };
        self.send_hello(silence_most_ms).await;
        hello
    }

    /// Says the server's hello.
    pub async fn send_hello(&self, silence_most_ms: i64) {
        let hello = ServerHello { player: PLAYER.to_owned(), silence_most_ms, ..ServerHello::default() };
        self.say([Item::Hello(hello)]).await;
    }

    /// Says that a request was carried out.
    pub async fn receipt(&self, act: &PlayAct) {
        let ply = if let Some(Act::Move(said)) = &act.act { said.ply + 1 } else { 0 };
        self.answer(act, Answer::Receipt(Receipt { ply, ..Receipt::default() })).await;
    }

    /// Refuses a request.
    pub async fn refuse(&self, act: &PlayAct, refused: Refusal) {
        self.answer(act, Answer::Refusal(refused)).await;
    }

    /// Answers a request.
    pub async fn answer(&self, act: &PlayAct, answer: Answer) {
        let (request_id, match_id) = (act.request_id.clone(), act.match_id.clone());
        self.say([Item::Answer(MoveAnswer { request_id, match_id, answer: Some(answer) })]).await;
    }

    /// Ends the stream with a refusal.
    pub async fn end(self, reason: Reason, code: Code) {
        self.fail(status(&refusal(reason, code, &[("retry_after_ms", "1")]))).await;
    }

    /// Ends the stream with a status.
    pub async fn fail(self, status: Status) {
        self.say.send(Err(status)).await.expect("the bot reads");
    }
}
