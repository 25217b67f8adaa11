//! Watching: every event once, in order, without a gap, over any number of connections.

use arbiter_client::proto::observe_item::Item;
use arbiter_client::proto::{Bookmark, MatchEvent, ObserveItem, TournamentEvent};
use arbiter_client::{Client, Code, News, Observation, Observed, Reason};

use crate::peer::{Peer, refusal, soon, status};

fn event(revision: i64, token: &str) -> ObserveItem {
    let event = MatchEvent { match_id: "m1".into(), revision, kind: "moved".into(), ..MatchEvent::default() };
    ObserveItem { token: token.into(), item: Some(Item::Event(event)) }
}

fn bookmark(token: &str) -> ObserveItem {
    ObserveItem { token: token.into(), item: Some(Item::Bookmark(Bookmark { revision: 9 })) }
}

fn too_slow() -> tonic::Status {
    status(&refusal(Reason::ReaderTooSlow, Code::Aborted, &[("resume_from", "")]))
}

fn lost() -> tonic::Status {
    tonic::Status::unavailable("")
}

async fn next<E: Observed>(events: &mut Observation<E>) -> Option<E> {
    soon(events.next()).await.expect("it goes on")
}

#[tokio::test]
async fn one_match_is_taken_up_after_its_last_revision() {
    let mut peer = Peer::start().await;
    peer.lay().observed.extend([
        vec![Ok(event(3, "")), Ok(event(4, "")), Err(lost())],
        vec![Ok(event(4, "")), Ok(bookmark("")), Err(too_slow())],
        vec![Err(lost())],
        vec![Ok(event(5, ""))],
    ]);
    let client = Client::new(&peer.options()).expect("the address is one");
    let mut events = client.observe("m1", 2);
    let mut revisions = Vec::new();
    while let Some(event) = next(&mut events).await {
        revisions.push(event.event.revision);
    }
    assert_eq!(revisions, [3, 4, 5]);
    assert!(next(&mut events).await.is_none(), "it has ended for good");
    for after in [2, 4, 4, 4] {
        assert_eq!(peer.asked_for().await, ("Observe", format!("m1 after {after}")));
    }
}

#[tokio::test]
async fn everything_is_taken_up_after_the_last_token_also_a_bookmarks() {
    let mut peer = Peer::start().await;
    let newer = ObserveItem { token: "t4".into(), item: None };
    peer.lay().observed.extend([
        vec![Ok(event(1, "t1")), Ok(event(1, "t2")), Err(lost())],
        vec![Ok(bookmark("t3")), Err(lost())],
        vec![Ok(newer), Err(lost())],
        vec![Ok(event(2, "t5"))],
    ]);
    let client = Client::new(&peer.options()).expect("the address is one");
    let mut events = client.observe_all("0", "");
    for token in ["t1", "t2", "t5"] {
        assert_eq!(next(&mut events).await.expect("an event").token, token);
    }
    for after in ["0", "t2", "t3", "t4"] {
        assert_eq!(peer.asked_for().await, ("Observe", format!("all after {after:?}")));
    }
}

#[tokio::test]
async fn a_refusal_ends_it() {
    let peer = Peer::start().await;
    let missing = status(&refusal(Reason::MatchNotFound, Code::NotFound, &[("id", "m1")]));
    peer.lay().observed.push_back(vec![Err(missing)]);
    let client = Client::new(&peer.options()).expect("the address is one");
    let error = soon(client.observe("m1", 0).next()).await.expect_err("there is no such match");
    assert_eq!(error.reason(), Some(Reason::MatchNotFound));
}

#[tokio::test]
async fn a_tournament_tells_its_own_events_beside_those_of_its_matches() {
    let mut peer = Peer::start().await;
    let own = TournamentEvent { tournament_id: "t".into(), revision: 1, kind: "paired".into(), ..Default::default() };
    let item = ObserveItem { token: "t2".into(), item: Some(Item::TournamentEvent(own.clone())) };
    peer.lay().observed.extend([vec![Ok(event(1, "t1")), Err(lost())], vec![Ok(item), Err(lost())], vec![]]);
    let client = Client::new(&peer.options()).expect("the address is one");
    let mut events = client.observe_tournament("t", "");
    assert!(matches!(next(&mut events).await, Some(News::Match(seen)) if seen.event.revision == 1));
    assert_eq!(next(&mut events).await, Some(News::Tournament { event: own, token: "t2".into() }));
    assert_eq!(next(&mut events).await, None);
    for after in ["", "t1", "t2"] {
        assert_eq!(peer.asked_for().await, ("Observe", format!("all after {after:?}")));
    }
}
