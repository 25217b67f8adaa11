//! Unary calls, and watching.

mod games;
mod matches;
mod observing;
mod players;
mod ratings;
mod tournaments;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use observing::{Event, News, Observation, Observed};

use tonic::Status;

use crate::addresses::{DEFAULT_SERVER, checked_addresses};
use crate::channel::{Authenticated, Connection, LARGEST_MESSAGE_BYTES, Tls};
use crate::credentials::Credentials;
use crate::environment::environment;
use crate::errors::Error;
use crate::options::Options;
use crate::proto::game_service_client::GameServiceClient;
use crate::proto::match_service_client::MatchServiceClient;
use crate::proto::play_service_client::PlayServiceClient;
use crate::proto::player_service_client::PlayerServiceClient;
use crate::proto::rating_service_client::RatingServiceClient;
use crate::proto::server_service_client::ServerServiceClient;
use crate::proto::tournament_service_client::TournamentServiceClient;

/// Makes one call of a stub, again where that is allowed, and returns the message that answers it.
macro_rules! ask {
    ($client:expr, $again:ident, $stub:ident.$method:ident($request:expr)) => {
        $client.connection().ask($request, $crate::channel::Again::$again, |request| {
            let mut stub = $client.$stub();
            async move { stub.$method(request).await.map(tonic::Response::into_inner) }
        })
    };
}
pub(crate) use ask;

/// A client of one arbiter. Clones are the same client.
///
/// Every call may fail with `Error::Arbiter` (the refusals that are named at each call), or with
/// `Error::ConnectionFailed` where no arbiter answers. Instants are UTC in milliseconds since 1970. What it has no
/// method for can be asked through the generated stubs, such as [`matches`](Client::matches).
#[derive(Clone)]
pub struct Client {
    connection: Arc<Connection>,
    who: Arc<Who>,
}

/// Who asks, and where its token is kept.
struct Who {
    name: String,
    credentials: Credentials,
    token: TokenFrom,
}

/// Where the token of a client came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenFrom {
    /// It was given, by an option or the environment.
    Given,
    /// The credentials file.
    File,
    /// There is none.
    Nowhere,
}

impl Client {
    /// Makes a client, in a tokio runtime; the connection opens with the first call. Of the options it uses `server`,
    /// `name`, `token`, `tls`, `credentials`, `timeout` and `patience`. Fails with `Error::Credentials`, or
    /// `Error::ConnectionFailed` for a malformed address.
    pub fn new(options: &Options) -> Result<Client, Error> {
        Client::open(options, "", Duration::from_secs(1))
    }

    pub(crate) fn open(options: &Options, usual_name: &str, usual_patience: Duration) -> Result<Client, Error> {
        let given = |option: &Option<String>, variable| option.clone().or_else(|| environment(variable));
        let server = given(&options.server, "ARBITER_SERVER").unwrap_or_else(|| DEFAULT_SERVER.to_owned());
        let addresses = checked_addresses(&server)?;
        let name = given(&options.name, "ARBITER_NAME").unwrap_or_else(|| usual_name.to_owned());
        let credentials = options.credentials.clone().map_or_else(Credentials::usual, Credentials::at);
        let (token, from) = match given(&options.token, "ARBITER_TOKEN") {
            Some(token) => (token, TokenFrom::Given),
            None => match credentials.find(&addresses.join(","), &name)? {
                Some(token) => (token, TokenFrom::File),
                None => (String::new(), TokenFrom::Nowhere),
            },
        };
        let tls = options.tls.clone().or_else(|| Tls::from_environment().filter(|_| !options.no_tls));
        let patience = options.patience.unwrap_or(usual_patience);
        let connection = Connection::new(addresses, &token, tls.as_ref(), options.timeout, patience)?;
        let who = Who { name, credentials, token: from };
        Ok(Client { connection: Arc::new(connection), who: Arc::new(who) })
    }

    /// Returns the address in use, HOST:PORT.
    pub fn server(&self) -> &str {
        self.connection.address()
    }

    /// Returns all addresses, with commas between them.
    pub(crate) fn servers(&self) -> String {
        self.connection.addresses.listed.join(",")
    }

    /// Returns the player that the client was made for; empty for none.
    pub fn name(&self) -> &str {
        &self.who.name
    }

    /// Returns the channel, which sends the client's token with every call.
    pub fn channel(&self) -> Authenticated {
        self.connection.channel()
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn credentials(&self) -> &Credentials {
        &self.who.credentials
    }

    pub(crate) fn token_from(&self) -> TokenFrom {
        self.who.token
    }
}

macro_rules! stubs {
    ($($name:ident: $stub:ident, $service:literal;)*) => {
        /// The generated stubs of each service, with the client's token; [`Client::error`] reads their errors.
        impl Client {
            $(
                #[doc = concat!("Returns the stub of ", $service, ".")]
                pub fn $name(&self) -> $stub<Authenticated> {
                    $stub::new(self.channel())
                        .max_decoding_message_size(LARGEST_MESSAGE_BYTES)
                        .max_encoding_message_size(LARGEST_MESSAGE_BYTES)
                }
            )*
        }
    };
}

stubs! {
    games: GameServiceClient, "GameService";
    matches: MatchServiceClient, "MatchService";
    play: PlayServiceClient, "PlayService";
    players: PlayerServiceClient, "PlayerService";
    ratings: RatingServiceClient, "RatingService";
    service: ServerServiceClient, "ServerService";
    tournaments: TournamentServiceClient, "TournamentService";
}

impl Client {
    /// Returns the error behind the status of a call that was made through a stub.
    pub fn error(&self, status: &Status) -> Error {
        self.connection.error(status)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Client({})", self.server())
    }
}

/// Returns a unique request id.
fn new_request_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}

/// Returns up to `most` values from as many pages as necessary; `ask` takes a page's size and token, and returns its
/// values and the next page's token, empty after the last.
async fn collect<V, F>(most: usize, ask: impl Fn(i32, String) -> F) -> Result<Vec<V>, Error>
where
    F: Future<Output = Result<(Vec<V>, String), Error>>,
{
    let mut found = Vec::new();
    let mut token = String::new();
    while found.len() < most {
        let size = i32::try_from((most - found.len()).min(1_000)).unwrap_or(1_000);
        let (values, next) = ask(size, token).await?;
        found.extend(values);
        token = next;
        if token.is_empty() {
            break;
        }
    }
    found.truncate(most);
    Ok(found)
}
