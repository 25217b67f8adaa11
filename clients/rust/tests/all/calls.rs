//! Calls that are answered once, and where the token for them comes from.

use std::path::Path;
use std::time::Duration;

use arbiter_client::proto::ListMatchesRequest;
use arbiter_client::{Client, Code, Credentials, Error, Options, Reason};

use crate::bots::{Noted, Playing};
use crate::peer::{Peer, refusal, running};

#[tokio::test]
async fn a_call_is_made_again_while_the_refusal_passes() {
    let peer = Peer::start().await;
    let client = Client::new(&peer.options()).expect("the address is one");
    peer.lay().refusals.push_back(refusal(Reason::Draining, Code::Unavailable, &[("retry_after_ms", "1")]));
    assert_eq!(client.server_info().await.expect("it passes").software, "arbiter");
    peer.lay().refusals.push_back(refusal(
        Reason::RateLimited,
        Code::ResourceExhausted,
        &[("retry_after_ms", "3600000")],
    ));
    let error = client.server_info().await.expect_err("an hour is too long to wait");
    assert_eq!((error.reason(), error.temporary()), (Some(Reason::RateLimited), true));
    assert_eq!(error.retry_after(), Duration::from_secs(3_600));
}

#[tokio::test]
async fn a_refusal_has_its_reason_code_and_facts() {
    let peer = Peer::start().await;
    let client = Client::new(&peer.options()).expect("the address is one");
    peer.lay().refusals.push_back(refusal(Reason::ScopeMissing, Code::PermissionDenied, &[("scope", "admin")]));
    let error = client.register_player("alice", "", "").await.expect_err("refused");
    let refusal = error.refusal().expect("it is the arbiter's");
    assert_eq!((refusal.reason, refusal.code), (Reason::ScopeMissing, Code::PermissionDenied));
    assert_eq!((refusal.facts["scope"].as_str(), refusal.to_string().as_str()), ("admin", "said SCOPE_MISSING"));
    assert!(!error.temporary());
}

#[tokio::test]
async fn lists_are_collected_page_by_page() {
    let peer = Peer::start().await;
    let client = Client::new(&peer.options()).expect("the address is one");
    for number in 0..5 {
        let id = format!("m{number}");
        peer.lay().matches.insert(id.clone(), running(&id));
    }
    let filters = ListMatchesRequest { player: "alice".into(), ..ListMatchesRequest::default() };
    let ids =
        |found: Vec<arbiter_client::proto::Match>| found.into_iter().map(|found| found.match_id).collect::<Vec<_>>();
    assert_eq!(ids(client.list_matches(&filters, 100).await.expect("listed")), ["m0", "m1", "m2", "m3", "m4"]);
    assert_eq!(ids(client.list_matches(&filters, 3).await.expect("listed")), ["m0", "m1", "m2"]);
}

#[tokio::test]
async fn what_is_no_arbiter_is_said_to_be_none() {
    let peer = Peer::start().await;
    let client = Client::new(&peer.options()).expect("the address is one");
    let error = client.get_game("pods").await.expect_err("the peer has no games");
    assert!(error.to_string().contains("is no arbiter, or one of another version"), "{error}");
    assert_eq!(error.refusal().map(|refusal| refusal.code), Some(Code::Unimplemented));
}

/// Returns options for a player whose token is kept in a folder, if anywhere.
fn named(peer: &Peer, folder: &Path) -> Options {
    let mut options = peer.options().with_name("carol").with_credentials(folder.join("credentials.json"));
    options.token = None;
    options
}

#[tokio::test]
async fn a_player_without_a_token_is_registered_and_its_token_kept_for_the_next_run() {
    let mut peer = Peer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        let _playing = Playing::start(Noted::new(), named(&peer, folder.path()));
        let stream = peer.stream().await;
        assert_eq!(stream.authorization, "Bearer token-1");
    }
    let file = Credentials::at(folder.path().join("credentials.json"));
    assert_eq!(file.find(&peer.address, "carol").expect("read").as_deref(), Some("token-1"));
    assert_eq!(peer.asked_for().await, ("GetServerInfo", String::new())); // whether there is somebody to ask
    assert_eq!(peer.asked_for().await, ("RegisterPlayer", "carol".to_owned()));
    assert_eq!(peer.asked_for().await, ("GetPlayer", String::new()));
}

#[tokio::test]
async fn a_token_that_the_server_has_forgotten_is_replaced() {
    let mut peer = Peer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = Credentials::at(folder.path().join("credentials.json"));
    file.save(&peer.address, "carol", "of a former life").expect("saved");
    let _playing = Playing::start(Noted::new(), named(&peer, folder.path()));
    assert_eq!(peer.stream().await.authorization, "Bearer token-1");
    assert_eq!(file.find(&peer.address, "carol").expect("read").as_deref(), Some("token-1"));
}

#[tokio::test]
async fn a_name_that_is_taken_says_what_to_do() {
    let peer = Peer::start().await;
    peer.lay().tokens.insert("elsewhere".into(), "carol".into());
    let folder = tempfile::tempdir().expect("a folder");
    let error = Playing::start(Noted::new(), named(&peer, folder.path())).ended().await.expect_err("it is taken");
    assert_eq!(error.reason(), Some(Reason::PlayerExists));
    assert!(error.to_string().contains("there is a player carol already: give its token"), "{error}");
}

#[tokio::test]
async fn a_player_without_a_name_or_a_token_is_asked_for_one() {
    let peer = Peer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = named(&peer, folder.path());
    options.name = None;
    let nameless = Noted::new().with(|profile| profile.name.clear());
    let error = Playing::start(nameless, options).ended().await.expect_err("nobody plays");
    assert!(matches!(error, Error::Credentials(_)));
    assert!(error.to_string().starts_with("who plays?"), "{error}");
}
