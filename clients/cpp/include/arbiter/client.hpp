// Unary calls, and watching.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/observing.hpp"
#include "arbiter/v1/game.pb.h"
#include "arbiter/v1/match.pb.h"
#include "arbiter/v1/player.pb.h"
#include "arbiter/v1/rating.pb.h"
#include "arbiter/v1/server.pb.h"
#include "arbiter/v1/tournament.pb.h"
#include "arbiter/values.hpp"

namespace arbiter {

class Connection;

/// Transport security, from PEM files; empty names are not given. Without a root certificate, the system's are used. A
/// client certificate is given together with its key.
struct Tls {
  std::string root_certificate;
  std::string client_certificate;
  std::string client_key;
  bool on = true;  ///< false: none, without regard to the environment
};

/// Where a server is, and who asks. What is not given comes from the environment.
struct ClientOptions {
  std::string server;      ///< HOST:PORT, or several with commas; else ARBITER_SERVER, or 127.0.0.1:7400
  std::string token;       ///< else ARBITER_TOKEN, or the entry of player `name` in the credentials file, or none
  std::string name;        ///< else ARBITER_NAME
  std::optional<Tls> tls;  ///< else by ARBITER_ROOT_CERTIFICATE and the related variables, or no transport security
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  ///< for one call
  std::chrono::milliseconds patience = std::chrono::seconds(1);  ///< how long a server that can't be reached is tried
};

/// A client of one server. Calls may come from any thread, and wait for their answers, which are messages of the
/// protocol: protos/arbiter/v1 says what is in them, and which refusals each call may meet. Refusals are thrown as
/// ArbiterError; where no arbiter answers, it is ConnectionFailed. Calls that carry a request id choose one.
class Client {
 public:
  /// Throws ConnectionFailed for a malformed address, CredentialsError for a file that can't be used.
  explicit Client(const ClientOptions& options = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// The address in use, HOST:PORT.
  [[nodiscard]] const std::string& server() const;

  /// All addresses, with commas between them.
  [[nodiscard]] std::string servers() const;

  /// The channel, its token and the methods of all services, for calls that this class does not have: see channel.hpp.
  [[nodiscard]] Connection& connection() const { return *connection_; }

  /// Ends all calls under way; they and later ones throw ConnectionFailed.
  void close();

  // ---- the server and its games; none of these needs a token ----

  /// The server's versions, capabilities, limits and public keys.
  v1::GetServerInfoResponse server_info();
  /// The games, in the server's order.
  std::vector<v1::GameSummary> list_games();
  /// Everything about one variant, such as `pods(size=5)`.
  v1::GetGameResponse get_game(const std::string& game);
  /// The legal moves at the end of a line, in bytewise order.
  std::vector<v1::LegalMove> legal_moves(const Line& line, bool with_steps = false);
  /// The legal moves in a match at a ply, in bytewise order.
  std::vector<v1::LegalMove> legal_moves(const MatchPly& at, bool with_steps = false);
  /// The positions that a line passes from a ply on, the last one at its end, and the outcome if it reaches it.
  v1::PlayMovesResponse play_moves(const Line& line, int from_ply = 0, bool with_board = false);

  // ---- matches ----

  /// Makes a match; needs scope organise.
  v1::Match create_match(v1::CreateMatchRequest request);
  /// The current state of a match.
  v1::Match get_match(const std::string& match_id, bool with_moves = false);
  /// The newest matches that pass the filters of a request (pages aside), without position, moves and clocks.
  std::vector<v1::Match> list_matches(v1::ListMatchesRequest filters = {}, std::size_t most = 100);
  /// Watches a match after a revision, without a gap, up to its last event.
  Events observe(const std::string& match_id, std::int64_t after_revision = 0);
  /// Watches every match, or those with a label, after a token. An empty token starts now, "0" at the beginning.
  Events observe_all(const std::string& after_token = "", const std::string& label = "");

  // ---- players and challenges ----

  /// Makes a player and its first token.
  v1::RegisterPlayerResponse register_player(const std::string& name, const std::string& about = "",
                                             const std::string& invitation = "");
  /// The caller, and the rights of its token.
  v1::GetPlayerResponse myself();
  /// Challenges a player.
  v1::Challenge create_challenge(const std::string& opponent, const v1::Terms& terms);
  /// Accepts a challenge to the caller, or any seek; returns the match.
  v1::Match accept_challenge(const std::string& challenge_id);
  /// Declines a challenge, or withdraws the caller's own challenge or seek.
  void decline_challenge(const std::string& challenge_id, const std::string& reason = "");
  /// Makes a challenge that any player may accept; the first gets the match.
  v1::Challenge create_seek(const v1::Terms& terms);
  /// The open challenges to and by the caller, and all open seeks, oldest first.
  std::vector<v1::Challenge> list_challenges(std::size_t most = 1000);

  // ---- ratings ----

  /// The players by rating in a variant, best first; with an empty one, in all games together.
  std::vector<v1::LeaderboardRow> get_leaderboard(const std::string& game = "", std::size_t most = 100);
  /// The ratings of a player's versions, the newest first. A player without rated games has none.
  v1::GetRatingResponse get_rating(const std::string& player, const std::string& game = "");

  // ---- tournaments ----

  /// The newest tournaments that pass the filters of a request (pages aside).
  std::vector<v1::TournamentSummary> list_tournaments(v1::ListTournamentsRequest filters = {}, std::size_t most = 100);
  /// The current state of a tournament.
  v1::Tournament get_tournament(const std::string& tournament_id);
  /// Enters the caller. `byes`: rounds of a Swiss in which it does not play.
  v1::Entrant enter_tournament(const std::string& tournament_id, const std::vector<int>& byes = {});
  /// Withdraws the caller: games that it has not begun are lost.
  v1::Entrant withdraw_from_tournament(const std::string& tournament_id);
  /// The current standings of a tournament.
  v1::GetStandingsResponse get_standings(const std::string& tournament_id);

 private:
  std::vector<v1::LegalMove> legal_moves(const v1::LegalMovesRequest& request);

  std::unique_ptr<Connection> connection_;
};

/// A unique request id.
std::string new_request_id();

}  // namespace arbiter
