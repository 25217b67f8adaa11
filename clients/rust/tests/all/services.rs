//! The services of the scripted peer: Play streams are handed to the test, calls are answered from what it has laid out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use arbiter_client::proto::game_service_server::{GameService, GameServiceServer};
use arbiter_client::proto::match_service_server::{MatchService, MatchServiceServer};
use arbiter_client::proto::play_service_server::{PlayService, PlayServiceServer};
use arbiter_client::proto::player_service_server::{PlayerService, PlayerServiceServer};
use arbiter_client::proto::rating_service_server::{RatingService, RatingServiceServer};
use arbiter_client::proto::server_service_server::{ServerService, ServerServiceServer};
use arbiter_client::proto::tournament_service_server::{TournamentService, TournamentServiceServer};
use arbiter_client::proto::*;
use arbiter_client::{Code, Options, Reason};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::codegen::BoxStream;
use tonic::metadata::MetadataMap;
use tonic::transport::{Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming, async_trait};

use crate::peer::{Stream, refusal, soon, status};

type Answered<T> = std::result::Result<Response<T>, Status>;

/// What was asked of the peer beside the streams: the method, what it was about, and the token.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub method: &'static str,
    pub about: String,
    pub authorization: String,
}

/// What the peer answers with.
#[derive(Default)]
pub struct Laid {
    pub matches: HashMap<String, Match>,
    pub legal: Vec<String>,
    /// The open challenges and seeks.
    pub open: Vec<Challenge>,
    /// Refusals of the next calls, of whichever methods; not all of them look here.
    pub refusals: VecDeque<Refusal>,
    /// What each call of Observe gets.
    pub observed: VecDeque<Vec<std::result::Result<ObserveItem, Status>>>,
    /// The players that have registered, by token.
    pub tokens: HashMap<String, String>,
    /// The ratings of players; others have none.
    pub ratings: HashMap<String, f64>,
    count: usize,
}

/// A server that answers as the test says.
pub struct Peer {
    pub address: String,
    streams: UnboundedReceiver<Stream>,
    asked: UnboundedReceiver<Asked>,
    laid: Arc<Mutex<Laid>>,
    server: JoinHandle<()>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Peer {
    /// Starts a peer on a free port of the loopback.
    pub async fn start() -> Peer {
        Peer::start_with("127.0.0.1:0", None).await
    }

    /// Starts a peer at an address.
    pub async fn start_at(address: &str) -> Peer {
        Peer::start_with(address, None).await
    }

    /// Starts a peer that speaks TLS.
    pub async fn start_secure(tls: ServerTlsConfig) -> Peer {
        Peer::start_with("127.0.0.1:0", Some(tls)).await
    }

    async fn start_with(address: &str, tls: Option<ServerTlsConfig>) -> Peer {
        let (new_stream, streams) = mpsc::unbounded_channel();
        let (note, asked) = mpsc::unbounded_channel();
        let laid = Arc::<Mutex<Laid>>::default();
        let services = Services { new_stream, note, laid: laid.clone() };
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).expect("the certificates are good");
        }
        let router = server
            .add_service(PlayServiceServer::new(services.clone()))
            .add_service(MatchServiceServer::new(services.clone()))
            .add_service(PlayerServiceServer::new(services.clone()))
            .add_service(GameServiceServer::new(services.clone()))
            .add_service(RatingServiceServer::new(services.clone()))
            .add_service(TournamentServiceServer::new(services.clone()))
            .add_service(ServerServiceServer::new(services));
        let server = tokio::spawn(async move {
            router.serve_with_incoming(TcpListenerStream::new(listener)).await.expect("it serves");
        });
        Peer { address, streams, asked, laid, server }
    }

    /// Returns options that lead to the peer, with a token.
    pub fn options(&self) -> Options {
        Options::default().with_server(&*self.address).with_token("secret")
    }

    /// Returns the next stream that a bot opens.
    pub async fn stream(&mut self) -> Stream {
        soon(self.streams.recv()).await.expect("the peer is there")
    }

    /// Returns whether there is a stream that nobody has asked for.
    pub fn has_stream(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Returns the next call that is made.
    pub async fn asked(&mut self) -> Asked {
        soon(self.asked.recv()).await.expect("the peer is there")
    }

    /// Returns whether all calls that were made have been looked at.
    pub fn asked_nothing_more(&self) -> bool {
        self.asked.is_empty()
    }

    /// Returns the next call that is made: its method, and what it is about.
    pub async fn asked_for(&mut self) -> (&'static str, String) {
        let asked = self.asked().await;
        (asked.method, asked.about)
    }

    /// Returns what the peer answers with, to be changed.
    pub fn lay(&self) -> MutexGuard<'_, Laid> {
        self.laid.lock().expect("no test panicked with it")
    }
}

#[derive(Clone)]
struct Services {
    new_stream: UnboundedSender<Stream>,
    note: UnboundedSender<Asked>,
    laid: Arc<Mutex<Laid>>,
}

impl Services {
    fn note(&self, method: &'static str, about: impl Into<String>, metadata: &MetadataMap) -> MutexGuard<'_, Laid> {
        let asked = Asked { method, about: about.into(), authorization: authorization(metadata) };
        let _ = self.note.send(asked); // the test is over
        self.laid.lock().expect("no test panicked with it")
    }
}

fn authorization(metadata: &MetadataMap) -> String {
    metadata.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn refused_next(laid: &mut Laid) -> std::result::Result<(), Status> {
    laid.refusals.pop_front().map_or(Ok(()), |refused| Err(status(&refused)))
}

/// Returns a stream of answers that are all there.
fn all<T: Send + 'static>(answers: Vec<std::result::Result<T, Status>>) -> BoxStream<T> {
    let (say, said) = mpsc::channel(answers.len().max(1));
    for answer in answers {
        assert!(say.try_send(answer).is_ok(), "there is room for all");
    }
    Box::pin(ReceiverStream::new(said))
}

#[async_trait]
impl PlayService for Services {
    async fn play(&self, request: Request<Streaming<PlayRequest>>) -> Answered<BoxStream<PlayResponse>> {
        let (say, said) = mpsc::channel(1_024);
        let (sender, acts) = mpsc::unbounded_channel();
        let authorization = authorization(request.metadata());
        let mut requests = request.into_inner();
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                for act in request.acts {
                    let _ = sender.send(Some(act)); // the test listens no more
                }
            }
            let _ = sender.send(None);
        });
        let _ = self.new_stream.send(Stream { authorization, acts, say }); // the test is over
        Ok(Response::new(Box::pin(ReceiverStream::new(said))))
    }
}

#[async_trait]
impl MatchService for Services {
    async fn get_match(&self, request: Request<GetMatchRequest>) -> Answered<GetMatchResponse> {
        let mut laid = self.note("GetMatch", &request.get_ref().match_id, request.metadata());
        refused_next(&mut laid)?;
        match laid.matches.get(&request.get_ref().match_id) {
            Some(found) => Ok(Response::new(GetMatchResponse { r#match: Some(found.clone()) })),
            None => Err(status(&refusal(Reason::MatchNotFound, Code::NotFound, &[]))),
        }
    }

    async fn list_matches(&self, request: Request<ListMatchesRequest>) -> Answered<ListMatchesResponse> {
        let token = request.get_ref().page_token.clone();
        let laid = self.note("ListMatches", format!("{token} of {}", request.get_ref().player), request.metadata());
        let start: usize = token.parse().unwrap_or(0);
        let mut ids: Vec<_> = laid.matches.keys().cloned().collect();
        ids.sort();
        let matches = ids.iter().skip(start).take(2).map(|id| laid.matches[id].clone()).collect();
        let next_page_token = if start + 2 < ids.len() { (start + 2).to_string() } else { String::new() };
        Ok(Response::new(ListMatchesResponse { matches, next_page_token }))
    }

    async fn observe(&self, request: Request<ObserveRequest>) -> Answered<BoxStream<ObserveResponse>> {
        let about = match &request.get_ref().of {
            Some(observe_request::Of::Match(one)) => format!("{} after {}", one.match_id, one.after_revision),
            Some(observe_request::Of::All(all)) => format!("all after {:?}", all.after_token),
            _ => String::new(),
        };
        let script = self.note("Observe", about, request.metadata()).observed.pop_front().unwrap_or_default();
        let said = script.into_iter().map(|item| item.map(|item| ObserveResponse { items: vec![item] }));
        Ok(Response::new(all(said.collect())))
    }
}

#[async_trait]
impl GameService for Services {
    async fn legal_moves(&self, request: Request<LegalMovesRequest>) -> Answered<BoxStream<LegalMovesResponse>> {
        let about = match &request.get_ref().at {
            Some(legal_moves_request::At::Match(place)) => format!("{} at {:?}", place.match_id, place.ply),
            Some(legal_moves_request::At::Line(line)) => format!("{} {:?}", line.game, line.moves),
            _ => String::new(),
        };
        let mut laid = self.note("LegalMoves", about, request.metadata());
        refused_next(&mut laid)?;
        let legal = laid.legal.clone();
        let chunk = |text: String| LegalMovesResponse {
            moves: vec![LegalMove { text, steps: Vec::new() }],
            ..LegalMovesResponse::default()
        };
        Ok(Response::new(all(legal.into_iter().map(|text| Ok(chunk(text))).collect())))
    }
}

#[async_trait]
impl ServerService for Services {
    async fn get_server_info(&self, request: Request<GetServerInfoRequest>) -> Answered<GetServerInfoResponse> {
        refused_next(&mut self.note("GetServerInfo", "", request.metadata()))?;
        Ok(Response::new(GetServerInfoResponse { software: "arbiter".to_owned(), ..GetServerInfoResponse::default() }))
    }
}

#[async_trait]
impl PlayerService for Services {
    async fn register_player(&self, request: Request<RegisterPlayerRequest>) -> Answered<RegisterPlayerResponse> {
        let name = request.get_ref().name.clone();
        let mut laid = self.note("RegisterPlayer", &name, request.metadata());
        refused_next(&mut laid)?;
        if laid.tokens.values().any(|known| *known == name) {
            return Err(status(&refusal(Reason::PlayerExists, Code::AlreadyExists, &[("id", &name)])));
        }
        laid.count += 1;
        let token = format!("token-{}", laid.count);
        laid.tokens.insert(token.clone(), name.clone());
        let player = Some(Player { name, ..Player::default() });
        Ok(Response::new(RegisterPlayerResponse { player, token }))
    }

    async fn get_player(&self, request: Request<GetPlayerRequest>) -> Answered<GetPlayerResponse> {
        let laid = self.note("GetPlayer", "", request.metadata());
        match laid.tokens.get(authorization(request.metadata()).trim_start_matches("Bearer ")) {
            None => Err(status(&refusal(Reason::TokenInvalid, Code::Unauthenticated, &[]))),
            Some(name) => {
                let player = Some(Player { name: name.clone(), ..Player::default() });
                Ok(Response::new(GetPlayerResponse { player, scopes: vec![1, 3, 99] }))
            }
        }
    }

    async fn accept_challenge(&self, request: Request<AcceptChallengeRequest>) -> Answered<AcceptChallengeResponse> {
        let id = &request.get_ref().challenge_id;
        drop(self.note("AcceptChallenge", id, request.metadata()));
        let made = Match { match_id: format!("match-of-{id}"), ..Match::default() };
        Ok(Response::new(AcceptChallengeResponse { r#match: Some(made) }))
    }

    async fn decline_challenge(&self, request: Request<DeclineChallengeRequest>) -> Answered<DeclineChallengeResponse> {
        let DeclineChallengeRequest { challenge_id, reason } = request.get_ref();
        let mut laid = self.note("DeclineChallenge", format!("{challenge_id}: {reason}"), request.metadata());
        let count = laid.open.len();
        laid.open.retain(|seek| seek.challenge_id != *challenge_id);
        if challenge_id.starts_with("seek-") && laid.open.len() == count {
            return Err(status(&refusal(Reason::ChallengeNotFound, Code::NotFound, &[])));
        }
        Ok(Response::new(DeclineChallengeResponse {}))
    }

    async fn create_seek(&self, request: Request<CreateSeekRequest>) -> Answered<CreateSeekResponse> {
        let terms = request.get_ref().terms.clone().unwrap_or_default();
        let mut laid = self.note("CreateSeek", &terms.game, request.metadata());
        refused_next(&mut laid)?;
        laid.count += 1;
        let seek = Challenge {
            challenge_id: format!("seek-{}", laid.count),
            challenger: crate::peer::PLAYER.to_owned(),
            terms: Some(terms),
            ..Challenge::default()
        };
        laid.open.push(seek.clone());
        Ok(Response::new(CreateSeekResponse { seek: Some(seek) }))
    }

    async fn list_challenges(&self, request: Request<ListChallengesRequest>) -> Answered<ListChallengesResponse> {
        let challenges = self.note("ListChallenges", "", request.metadata()).open.clone();
        Ok(Response::new(ListChallengesResponse { challenges, next_page_token: String::new() }))
    }
}

#[async_trait]
impl RatingService for Services {
    async fn get_rating(&self, request: Request<GetRatingRequest>) -> Answered<GetRatingResponse> {
        let GetRatingRequest { player, game, .. } = request.get_ref();
        let rated =
            self.note("GetRating", format!("{player} in {game}"), request.metadata()).ratings.get(player).copied();
        let row =
            |value| LeaderboardRow { rating: Some(Estimate { value, ..Estimate::default() }), ..Default::default() };
        let versions = rated.map(row).into_iter().collect();
        Ok(Response::new(GetRatingResponse { versions, ..GetRatingResponse::default() }))
    }
}

#[async_trait]
impl TournamentService for Services {
    async fn enter_tournament(&self, request: Request<EnterTournamentRequest>) -> Answered<EnterTournamentResponse> {
        let id = &request.get_ref().tournament_id;
        refused_next(&mut self.note("EnterTournament", id, request.metadata()))?;
        Ok(Response::new(EnterTournamentResponse { entrant: None }))
    }
}
