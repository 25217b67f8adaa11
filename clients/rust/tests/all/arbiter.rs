//! A real arbiter, in a process of its own: it can be killed, and started again on the same record and port.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use arbiter_client::proto::{CreateMatchRequest, Match};
use arbiter_client::{Client, Options, Tls};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::peer::soon;

const MANIFEST: &str = env!("CARGO_MANIFEST_DIR");

/// Returns the arbiter's command.
pub fn command() -> String {
    std::env::var("ARBITER_COMMAND").unwrap_or_else(|_| format!("{MANIFEST}/../../.venv/bin/arbiter"))
}

/// A server process on a folder; it ends with the test.
pub struct Arbiter {
    folder: TempDir,
    arguments: Vec<String>,
    pub address: String,
    admin_token: String,
    process: Option<Child>,
}

impl Arbiter {
    /// Starts a server on a free port.
    pub fn start() -> Arbiter {
        Arbiter::start_with(&[])
    }

    /// Starts a server with further arguments.
    pub fn start_with(arguments: &[&str]) -> Arbiter {
        let mut arbiter = Arbiter {
            folder: tempfile::tempdir().expect("a folder"),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            address: "127.0.0.1:0".to_owned(),
            admin_token: String::new(),
            process: None,
        };
        arbiter.run();
        arbiter
    }

    /// Kills the server the hard way.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it has ended");
        }
    }

    /// Kills the server the hard way, and starts it again on the same record and port.
    pub fn restart(&mut self) {
        self.kill();
        self.run();
    }

    fn run(&mut self) {
        let command = command();
        let log = std::fs::File::options().append(true).create(true).open(self.folder.path().join("server.log"));
        let store = format!("sqlite:///{}/arbiter.db", self.folder.path().display());
        let mut process = Command::new(&command)
            .args(["serve", "--no-save-token", "--listen", &self.address, "--store", &store])
            .args(&self.arguments)
            .stdout(Stdio::piped())
            .stderr(log.expect("a log"))
            .spawn()
            .unwrap_or_else(|error| panic!("can't run {command} (ARBITER_COMMAND): {error}"));
        let said = BufReader::new(process.stdout.take().expect("its output"));
        self.process = Some(process);
        for line in said.lines().map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once(" listens on ") {
                self.address = rest.split(',').next().expect("an address").to_owned();
            }
            if let Some((_, token)) = line.split_once("shown only now: ") {
                self.admin_token = token.trim().to_owned();
            }
            if line.starts_with("Next:") {
                return;
            }
        }
        panic!("the server did not start: {}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }

    /// Returns options for a player that registers by itself.
    pub fn player(&self, name: &str) -> Options {
        let credentials = self.folder.path().join("credentials.json");
        Options::default().with_server(&*self.address).with_name(name).with_credentials(credentials)
    }

    /// Registers a player, and returns its options.
    pub async fn registered(&self, name: &str, tls: Option<Tls>) -> Options {
        let made = self.admin(tls.clone()).register_player(name, "", "").await.expect("the name is free");
        speaking(self.player(name).with_token(made.token), tls)
    }

    /// Waits until a player has a stream.
    pub async fn present(&self, name: &str) {
        let admin = self.admin(None);
        soon(async {
            while !admin.get_player(name).await.is_ok_and(|player| player.online) {
                sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }

    /// Returns the administrator's client, which speaks TLS or not. It bears with an arbiter that is being restarted.
    pub fn admin(&self, tls: Option<Tls>) -> Client {
        let options = self.player("admin").with_token(&*self.admin_token).with_patience(Duration::from_secs(600));
        Client::new(&speaking(options, tls)).expect("the address is one")
    }

    /// Makes a match between two players that have registered.
    pub async fn pair(&self, game: &str, first: &str, second: &str) -> Match {
        pair(&self.admin(None), game, first, second).await
    }
}

/// Returns the options with this transport security, or none.
pub fn speaking(mut options: Options, tls: Option<Tls>) -> Options {
    options.tls = tls;
    options
}

/// Makes a match between two players that have registered.
pub async fn pair(organiser: &Client, game: &str, first: &str, second: &str) -> Match {
    let request = CreateMatchRequest {
        game: game.to_owned(),
        players: vec![first.to_owned(), second.to_owned()],
        time_control: "1m+1s".to_owned(),
        ..CreateMatchRequest::default()
    };
    organiser.create_match(request).await.expect("both have registered")
}

impl Drop for Arbiter {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("the arbiter's log:\n{}", self.log());
        }
    }
}
