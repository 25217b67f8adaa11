#include "arbiter/client.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "arbiter/channel.hpp"
#include "arbiter/credentials.hpp"
#include "environment.hpp"

namespace arbiter {

namespace {

constexpr std::size_t LARGEST_PAGE = 1000;

std::unique_ptr<Connection> connect(const ClientOptions& options) {
  std::vector<std::string> addresses = server_addresses(options.server);
  const std::string name = options.name.empty() ? environment("ARBITER_NAME") : options.name;
  std::string token = credentials::token_for(Addresses(addresses).joined(), name, options.token);
  // gRPC ends the process over metadata that it can't send.
  if (!std::all_of(token.begin(), token.end(), [](char letter) { return letter > ' ' && letter < '\x7F'; })) {
    throw CredentialsError("the token is none: it has blanks or characters that are not ASCII");
  }
  return std::make_unique<Connection>(std::move(addresses), std::move(token), transport_security(options.tls),
                                      options.timeout, options.patience);
}

v1::LineOfPlay message(const Line& line) {
  v1::LineOfPlay out;
  out.set_game(line.game);
  out.set_position(line.position);
  out.mutable_moves()->Assign(line.moves.begin(), line.moves.end());
  return out;
}

// Up to `most` values from as many pages as necessary. `ask` answers a request; `values` are those of an answer.
template <class Request, class Ask, class Values>
auto collect(Request request, std::size_t most, Ask ask, Values values) {
  std::vector<std::decay_t<decltype(*values(ask(request)).begin())>> found;
  while (found.size() < most) {
    request.set_page_size(static_cast<int>(std::min(most - found.size(), LARGEST_PAGE)));
    const auto page = ask(request);
    found.insert(found.end(), values(page).begin(), values(page).end());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  if (found.size() > most) found.erase(found.begin() + static_cast<std::ptrdiff_t>(most), found.end());
  return found;
}

}  // namespace

Client::Client(const ClientOptions& options) : connection_(connect(options)) {
}

Client::~Client() = default;

const std::string& Client::server() const {
  return connection_->addresses.current();
}

std::string Client::servers() const {
  return connection_->addresses.joined();
}

void Client::close() {
  connection_->close();
}

v1::GetServerInfoResponse Client::server_info() {
  return connection_->ask(connection_->server, &v1::ServerService::Stub::GetServerInfo, v1::GetServerInfoRequest());
}

std::vector<v1::GameSummary> Client::list_games() {
  constexpr std::size_t MOST = 10'000;
  const auto ask = [this](const v1::ListGamesRequest& request) {
    return connection_->ask(connection_->games, &v1::GameService::Stub::ListGames, request);
  };
  return collect(
      v1::ListGamesRequest(), MOST, ask, [](const auto& page) -> auto& { return page.games(); });
}

v1::GetGameResponse Client::get_game(const std::string& game) {
  v1::GetGameRequest request;
  request.set_game(game);
  return connection_->ask(connection_->games, &v1::GameService::Stub::GetGame, request);
}

std::vector<v1::LegalMove> Client::legal_moves(const Line& line, bool with_steps) {
  v1::LegalMovesRequest request;
  *request.mutable_line() = message(line);
  request.set_with_steps(with_steps);
  return legal_moves(request);
}

std::vector<v1::LegalMove> Client::legal_moves(const MatchPly& at, bool with_steps) {
  v1::LegalMovesRequest request;
  request.mutable_match()->set_match_id(at.match_id);
  if (at.ply) request.mutable_match()->set_ply(*at.ply);
  request.set_with_steps(with_steps);
  return legal_moves(request);
}

std::vector<v1::LegalMove> Client::legal_moves(const v1::LegalMovesRequest& request) {
  std::vector<v1::LegalMove> moves;
  connection_->make([&](grpc::ClientContext& context) {
    moves.clear();
    const auto reader = connection_->games->LegalMoves(&context, request);
    v1::LegalMovesResponse chunk;
    while (reader->Read(&chunk)) moves.insert(moves.end(), chunk.moves().begin(), chunk.moves().end());
    return reader->Finish();
  });
  return moves;
}

v1::PlayMovesResponse Client::play_moves(const Line& line, int from_ply, bool with_board) {
  v1::PlayMovesRequest request;
  *request.mutable_line() = message(line);
  request.set_from_ply(from_ply);
  request.set_with_board(with_board);
  return connection_->ask(connection_->games, &v1::GameService::Stub::PlayMoves, request);
}

v1::Match Client::create_match(v1::CreateMatchRequest request) {
  if (request.request_id().empty()) request.set_request_id(new_request_id());
  return connection_->ask(connection_->matches, &v1::MatchService::Stub::CreateMatch, request).match();
}

v1::Match Client::get_match(const std::string& match_id, bool with_moves) {
  v1::GetMatchRequest request;
  request.set_match_id(match_id);
  request.set_with_moves(with_moves);
  return connection_->ask(connection_->matches, &v1::MatchService::Stub::GetMatch, request).match();
}

std::vector<v1::Match> Client::list_matches(v1::ListMatchesRequest filters, std::size_t most) {
  const auto ask = [this](const v1::ListMatchesRequest& request) {
    return connection_->ask(connection_->matches, &v1::MatchService::Stub::ListMatches, request);
  };
  return collect(
      std::move(filters), most, ask, [](const auto& page) -> auto& { return page.matches(); });
}

Events Client::observe(const std::string& match_id, std::int64_t after_revision) {
  v1::ObserveRequest request;
  request.mutable_match()->set_match_id(match_id);
  request.mutable_match()->set_after_revision(after_revision);
  return {*connection_, std::move(request)};
}

Events Client::observe_all(const std::string& after_token, const std::string& label) {
  v1::ObserveRequest request;
  request.mutable_all()->set_after_token(after_token);
  request.mutable_all()->set_label(label);
  return {*connection_, std::move(request)};
}

v1::RegisterPlayerResponse Client::register_player(const std::string& name, const std::string& about,
                                                   const std::string& invitation) {
  v1::RegisterPlayerRequest request;
  request.set_name(name);
  request.set_about(about);
  request.set_invitation(invitation);
  return connection_->ask(connection_->players, &v1::PlayerService::Stub::RegisterPlayer, request, false);
}

v1::GetPlayerResponse Client::myself() {
  return connection_->ask(connection_->players, &v1::PlayerService::Stub::GetPlayer, v1::GetPlayerRequest());
}

v1::Challenge Client::create_challenge(const std::string& opponent, const v1::Terms& terms) {
  v1::CreateChallengeRequest request;
  request.set_request_id(new_request_id());
  request.set_opponent(opponent);
  *request.mutable_terms() = terms;
  return connection_->ask(connection_->players, &v1::PlayerService::Stub::CreateChallenge, request).challenge();
}

v1::Match Client::accept_challenge(const std::string& challenge_id) {
  v1::AcceptChallengeRequest request;
  request.set_challenge_id(challenge_id);
  return connection_->ask(connection_->players, &v1::PlayerService::Stub::AcceptChallenge, request, false).match();
}

void Client::decline_challenge(const std::string& challenge_id, const std::string& reason) {
  v1::DeclineChallengeRequest request;
  request.set_challenge_id(challenge_id);
  request.set_reason(reason);
  connection_->ask(connection_->players, &v1::PlayerService::Stub::DeclineChallenge, request, false);
}

v1::Challenge Client::create_seek(const v1::Terms& terms) {
  v1::CreateSeekRequest request;
  request.set_request_id(new_request_id());
  *request.mutable_terms() = terms;
  return connection_->ask(connection_->players, &v1::PlayerService::Stub::CreateSeek, request).seek();
}

std::vector<v1::Challenge> Client::list_challenges(std::size_t most) {
  const auto ask = [this](const v1::ListChallengesRequest& request) {
    return connection_->ask(connection_->players, &v1::PlayerService::Stub::ListChallenges, request);
  };
  return collect(
      v1::ListChallengesRequest(), most, ask, [](const auto& page) -> auto& { return page.challenges(); });
}

std::vector<v1::LeaderboardRow> Client::get_leaderboard(const std::string& game, std::size_t most) {
  v1::GetLeaderboardRequest filters;
  filters.set_game(game);
  const auto ask = [this](const v1::GetLeaderboardRequest& request) {
    return connection_->ask(connection_->ratings, &v1::RatingService::Stub::GetLeaderboard, request);
  };
  return collect(
      filters, most, ask, [](const auto& page) -> auto& { return page.rows(); });
}

v1::GetRatingResponse Client::get_rating(const std::string& player, const std::string& game) {
  v1::GetRatingRequest request;
  request.set_player(player);
  request.set_game(game);
  return connection_->ask(connection_->ratings, &v1::RatingService::Stub::GetRating, request);
}

std::vector<v1::TournamentSummary> Client::list_tournaments(v1::ListTournamentsRequest filters, std::size_t most) {
  const auto ask = [this](const v1::ListTournamentsRequest& request) {
    return connection_->ask(connection_->tournaments, &v1::TournamentService::Stub::ListTournaments, request);
  };
  return collect(
      std::move(filters), most, ask, [](const auto& page) -> auto& { return page.tournaments(); });
}

v1::Tournament Client::get_tournament(const std::string& tournament_id) {
  v1::GetTournamentRequest request;
  request.set_tournament_id(tournament_id);
  return connection_->ask(connection_->tournaments, &v1::TournamentService::Stub::GetTournament, request).tournament();
}

v1::Entrant Client::enter_tournament(const std::string& tournament_id, const std::vector<int>& byes) {
  v1::EnterTournamentRequest request;
  request.set_request_id(new_request_id());
  request.set_tournament_id(tournament_id);
  request.mutable_byes()->Assign(byes.begin(), byes.end());
  return connection_->ask(connection_->tournaments, &v1::TournamentService::Stub::EnterTournament, request).entrant();
}

v1::Entrant Client::withdraw_from_tournament(const std::string& tournament_id) {
  v1::WithdrawFromTournamentRequest request;
  request.set_request_id(new_request_id());
  request.set_tournament_id(tournament_id);
  return connection_->ask(connection_->tournaments, &v1::TournamentService::Stub::WithdrawFromTournament, request)
      .entrant();
}

v1::GetStandingsResponse Client::get_standings(const std::string& tournament_id) {
  v1::GetStandingsRequest request;
  request.set_tournament_id(tournament_id);
  return connection_->ask(connection_->tournaments, &v1::TournamentService::Stub::GetStandings, request);
}

}  // namespace arbiter
