//! Several addresses of one arbiter: the next one is tried where one is gone or about to stop.

use std::time::Duration;

use arbiter_client::proto::observe_item::Item as Observed;
use arbiter_client::proto::play_item::Item;
use arbiter_client::proto::{MatchEvent, ObserveItem};
use arbiter_client::{Client, Code, Credentials, Error, Options, Reason};
use tokio::net::TcpListener;

use crate::bots::{Noted, Playing};
use crate::peer::{Peer, refusal, running, soon, status, turn};

/// Returns an address at which every connection is closed at once.
async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens").to_string();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            drop(connection);
        }
    });
    address
}

fn at(addresses: &[&str]) -> Options {
    Options::default().with_server(addresses.join(",")).with_token("secret")
}

fn draining() -> tonic::Status {
    status(&refusal(Reason::Draining, Code::Unavailable, &[("retry_after_ms", "60000")]))
}

fn event(revision: i64) -> ObserveItem {
    let event = MatchEvent { match_id: "m1".into(), revision, ..MatchEvent::default() };
    ObserveItem { item: Some(Observed::Event(event)), ..ObserveItem::default() }
}

#[tokio::test]
async fn watching_goes_on_at_the_next_address_after_the_last_revision() {
    let (gone, mut first, mut second) = (nowhere().await, Peer::start().await, Peer::start().await);
    first.lay().observed.extend([vec![Ok(event(1)), Err(draining())]]);
    second.lay().observed.extend([vec![Ok(event(2))]]);
    let options = at(&[&gone, &first.address, &second.address]).with_patience(Duration::ZERO);
    let client = Client::new(&options).expect("these are addresses");
    let mut events = client.observe("m1", 0);
    let mut revisions = Vec::new();
    while let Some(event) = soon(events.next()).await.expect("it goes on") {
        revisions.push(event.event.revision);
    }
    assert_eq!(revisions, [1, 2]);
    assert_eq!(client.server(), second.address);
    assert_eq!(first.asked_for().await, ("Observe", "m1 after 0".to_owned()));
    assert_eq!(second.asked_for().await, ("Observe", "m1 after 1".to_owned()));
}

#[tokio::test]
async fn where_none_answers_each_address_and_its_reason_are_named() {
    let (one, other) = (nowhere().await, nowhere().await);
    let client = Client::new(&at(&[&one, &other]).with_patience(Duration::ZERO)).expect("these are addresses");
    let error = soon(client.server_info()).await.expect_err("nobody is there");
    assert!(matches!(error, Error::ConnectionFailed(..)));
    let text = error.to_string();
    assert!(text.starts_with(&format!("no arbiter answers at {one} (")), "{text}");
    assert!(text.contains(&format!("), nor at {other} (")), "{text}");
}

#[tokio::test]
async fn a_bot_goes_on_at_the_next_address_with_the_move_that_was_not_answered() {
    let (gone, mut first, mut second) = (nowhere().await, Peer::start().await, Peer::start().await);
    let playing = Playing::start(Noted::new(), at(&[&gone, &first.address, &second.address]));
    let mut stream = first.stream().await;
    stream.meet().await;
    stream.say([Item::Match(running("m1")), Item::Turn(turn("m1", 0))]).await;
    let (lost, _) = stream.hear_move().await;
    stream.fail(draining()).await;
    let mut stream = second.stream().await;
    stream.meet().await;
    assert_eq!(stream.hear_move().await.0, lost);
    stream.receipt(&lost).await;
    stream.fail(draining()).await;
    first.stream().await.meet().await; // and back, past the one that is not there
    drop(playing);
}

#[test]
fn a_token_is_kept_for_every_address() {
    let folder = tempfile::tempdir().expect("a folder");
    let credentials = Credentials::at(folder.path().join("credentials.json"));
    credentials.save("a:1,b:2", "alice", "secret").expect("it is written");
    for server in ["a:1", "b:2", "c:3,b:2"] {
        assert_eq!(credentials.find(server, "alice").expect("it is read").as_deref(), Some("secret"));
    }
    assert!(credentials.forget("b:2,a:1", "alice").expect("it is written"));
    assert_eq!(credentials.find("a:1,b:2", "alice").expect("it is read"), None);
}
