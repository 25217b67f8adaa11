//! The samples as processes: they end cleanly when they are told to, and say in one line why they can't go on.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use arbiter_client::proto::match_event::Event as What;
use arbiter_client::proto::observe_item::Item;
use arbiter_client::proto::{MatchEvent, MovePlayed, ObserveItem};
use arbiter_client::{Code, Reason};
use tempfile::TempDir;

use crate::arbiter::Arbiter;
use crate::peer::{Peer, soon};

/// Returns a command that runs a sample, with nothing of the tests' environment that concerns it.
fn sample(name: &str, server: &str, folder: &TempDir) -> Command {
    let tests = std::env::current_exe().expect("the tests run from a file");
    let profile = tests.ancestors().nth(2).and_then(Path::file_name).expect("the folder of a profile");
    // Not beside the tests: cargo may keep what it compiles in one folder (`build.build-dir`), and programs in another.
    let programs = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(programs).join(profile).join("examples").join(name);
    let mut command = Command::new(program);
    for variable in ["TOKEN", "ROOT_CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"] {
        command.env_remove(format!("ARBITER_{variable}"));
    }
    let credentials = folder.path().join("credentials.json");
    command.env("ARBITER_SERVER", server).env("ARBITER_NAME", "carol").env("ARBITER_CREDENTIALS", credentials);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn ended(process: Child) -> Output {
    let ended = tokio::task::spawn_blocking(|| process.wait_with_output());
    soon(ended).await.expect("it does not panic").expect("it has ended")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_bot_that_is_interrupted_ends_without_a_word() {
    for signal in ["-TERM", "-INT"] {
        let mut peer = Peer::start().await;
        let folder = tempfile::tempdir().expect("a folder");
        let process = sample("first_move", &peer.address, &folder).arg("--quiet").spawn().expect("it is built");
        let mut stream = peer.stream().await;
        assert_eq!(stream.meet().await.bot_name, "first-move");
        stream.ping(1).await;
        let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        stream.closed().await;
        let output = ended(process).await;
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    }
}

#[tokio::test]
async fn a_bot_that_is_not_wanted_says_why_in_one_line() {
    let mut peer = Peer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let process = sample("first_move", &peer.address, &folder).arg("--quiet").spawn().expect("it is built");
    let mut stream = peer.stream().await;
    stream.meet().await;
    stream.end(Reason::SessionSuperseded, Code::Aborted).await;
    let output = ended(process).await;
    let line = "first_move: said SESSION_SUPERSEDED\n".to_owned();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), line));
}

#[tokio::test]
async fn a_mistake_on_the_command_line_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = sample("first_move", "nowhere", &folder);
    let output = ended(command.spawn().expect("it is built")).await;
    let how = "write HOST:PORT, such as 127.0.0.1:7400 or [::1]:7400, and commas between several";
    let line = format!("first_move: \"nowhere\" is no address: {how}\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), line));
    let output = ended(command.arg("--nonsense").spawn().expect("it is built")).await;
    let line = "first_move: there is no option --nonsense (--help lists the options)\n".to_owned();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), line));
}

#[tokio::test]
async fn the_observer_prints_a_line_an_event() {
    let peer = Peer::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let moved = MovePlayed { ply: 4, seat: 1, r#move: "a1".into(), ..MovePlayed::default() };
    let event = |revision, kind: &str, event| MatchEvent {
        match_id: "m1".into(),
        revision,
        kind: kind.into(),
        event,
        ..MatchEvent::default()
    };
    let events = [event(1, "moved", Some(What::Moved(moved))), event(2, "of a time to come", None)];
    let items = events.map(|event| Ok(ObserveItem { item: Some(Item::Event(event)), ..ObserveItem::default() }));
    peer.lay().observed.push_back(items.into());
    let output = ended(sample("observer", &peer.address, &folder).arg("m1").spawn().expect("it is built")).await;
    assert_eq!(text(&output.stdout), "m1 1: 5. a1 (seat 1)\nm1 2: of a time to come\n");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_samples_play_a_match_on_an_arbiter() {
    let arbiter = Arbiter::start();
    let folder = tempfile::tempdir().expect("a folder");
    let processes = [("first_move", "alice"), ("search", "bob")].map(|(name, player)| {
        let mut command = sample(name, &arbiter.address, &folder);
        command.env("ARBITER_NAME", player).args(["--matches", "1", "--quiet"]).spawn().expect("it is built")
    });
    for name in ["alice", "bob"] {
        arbiter.present(name).await;
    }
    arbiter.pair("pods(size=3)", "alice", "bob").await;
    let [first_move, search] = processes;
    let output = ended(first_move).await;
    let line = text(&output.stdout);
    assert!(line.starts_with("pods(size=3) against bob: "), "{line}{}", text(&output.stderr));
    let output = ended(search).await;
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn the_readme_shows_the_smallest_bot_whole() {
    let readme = include_str!("../../README.md");
    let bot = include_str!("../../samples/first_move.rs");
    assert!(readme.contains(&format!("```rust\n{bot}```")));
    assert!(bot.lines().count() <= 40);
}
