// The values for a bot: turns, matches, offers, ends. Seats are 1 and 2; instants are UTC in milliseconds since 1970.
#pragma once

#include <any>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "arbiter/errors.hpp"
#include "arbiter/think_time.hpp"
#include "arbiter/v1/game.pb.h"
#include "arbiter/v1/match.pb.h"
#include "arbiter/v1/play.pb.h"
#include "arbiter/v1/player.pb.h"
#include "arbiter/v1/tournament.pb.h"

namespace arbiter {

/// The clock by which thinking time is measured: it only goes forward.
using MonotonicClock = std::chrono::steady_clock;

/// A line of play: a variant, a start position (empty: the initial one) and the moves since.
struct Line {
  std::string game;
  std::string position;
  std::vector<std::string> moves;

  /// This line with one more move at its end.
  [[nodiscard]] Line then(std::string move) const;

  bool operator==(const Line&) const = default;
};

/// A match at a ply, 0 at the start; without a ply, at the current one.
struct MatchPly {
  std::string match_id;
  std::optional<int> ply = std::nullopt;
};

/// A match that the bot plays, from its first turn to its end. A match of the bot against itself is two of these, one
/// for each seat. Everything but `memory` may be read from any thread.
class LiveMatch {
 public:
  LiveMatch(std::string id, std::string game, int seat, std::string opponent);

  /// What is known of a match besides who plays what.
  struct Terms {
    std::string time_control;        ///< the bot's own, also in a match with time odds
    std::string match_time_control;  ///< with time odds those of both seats, such as `5m:2m`
    bool rated = false;
    std::string label;           ///< the organiser's, such as a tournament's id
    int opening_plies = 0;       ///< how many of the first moves nobody played
    std::string start_position;  ///< from which the moves begin; empty for the game's initial one
  };

  [[nodiscard]] const std::string& id() const { return id_; }
  /// The canonical variant.
  [[nodiscard]] const std::string& game() const { return game_; }
  /// The bot's seat.
  [[nodiscard]] int seat() const { return seat_; }
  [[nodiscard]] const std::string& opponent() const { return opponent_; }
  [[nodiscard]] Terms terms() const;
  /// The moves up to the bot's latest turn, and its own after that.
  [[nodiscard]] std::vector<std::string> moves() const;
  /// Turns true when the match ends or the bot stops, so that a long search may end.
  [[nodiscard]] bool over() const { return over_; }

  /// Free for the bot's own data about the match. Callbacks of one match never run at the same time.
  std::any memory;

 private:
  friend class Runner;

  const std::string id_;
  const std::string game_;
  const int seat_;
  const std::string opponent_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;  // guards the following members
  Terms terms_;
  std::vector<std::string> moves_;
};

/// What a message says of the terms of a match, for the bot in a seat.
LiveMatch::Terms terms_of(const v1::Match& match, int seat);

/// The bot is to move.
struct Turn {
  /// What a message says, about a match.
  Turn(const v1::Turn& message, std::shared_ptr<LiveMatch> live);

  std::shared_ptr<LiveMatch> match;
  std::string game;                        ///< the canonical variant
  int seat;                                ///< the bot's: the one to move
  int ply;                                 ///< moves played before
  std::string position;                    ///< the position's text
  std::vector<v1::RecentMove> last_moves;  ///< at least those since the bot's last turn
  std::vector<v1::Clock> clocks;           ///< by seat; empty without a time control
  std::int64_t started_ms;                 ///< when the bot's clock started, by the server's clock
  std::int64_t now_ms;                     ///< when the turn was handed over, by the server's clock
  std::string draw_claim;                  ///< why the bot may claim a draw; empty if it may not
  bool draw_offered;                       ///< whether the opponent's draw offer stands
  std::string opponent;
  std::vector<v1::CellContent> board;             ///< as `Extras::board` asks for it
  std::optional<std::int64_t> legal_move_count;   ///< as `Extras::legal_move_count` asks for it
  std::vector<v1::LegalMove> legal_moves;         ///< as `Extras::legal_moves_up_to` asks for them
  std::int64_t available_ms;                      ///< the time for this move; 0: no limit
  std::int64_t revision;                          ///< of the event that made it a turn
  std::optional<ArbiterError> refused;            ///< why the bot's first choice for this turn was refused
  MonotonicClock::time_point received;            ///< when this client got it
  std::shared_ptr<const std::atomic<bool>> gone;  ///< see `stale`

  /// The line of play that leads to this turn.
  [[nodiscard]] Line line() const;

  /// The time that the bot has from now until its flag falls; nothing without a limit.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left() const;

  /// How long to think for this move from now; nothing without a time limit. clients/README.md has the rules.
  /// `expected_plies`: to the end of the game, of both players. `matches`: how many think in this process.
  [[nodiscard]] std::optional<std::chrono::milliseconds> think_time(int expected_plies = EXPECTED_PLIES,
                                                                    int matches = 1) const;

  /// Whether a choice for this turn no longer matters: the match is over, the bot stops, or a later turn has come.
  [[nodiscard]] bool stale() const { return match->over() || *gone; }
};

/// The opponent offers a draw.
struct DrawOffer {
  std::shared_ptr<LiveMatch> match;
};

/// A match of the bot has ended, perhaps while it was away.
struct FinishedMatch {
  std::string match_id;
  std::string game;
  int seat;  ///< the bot's; 1 in a match against itself
  std::string opponent;
  v1::Result result;
  std::string position;              ///< the position's text at the end
  std::shared_ptr<LiveMatch> match;  ///< null if this run never saw it live

  /// The bot's points: 1, ½ or 0; nothing if the match is void.
  [[nodiscard]] std::optional<double> score() const;
};

/// The contents of a board, such as that of a turn, as rows of cells in reading order; null where nothing is known of a
/// cell. `board` is that of the game, of `Client::get_game`. The pointers are to `contents`.
std::vector<std::vector<const v1::CellContent*>> board_array(const v1::Board& board,
                                                             const std::vector<v1::CellContent>& contents);

/// The moves up to a turn at a ply, from the known ones and the turn's last ones; nothing if there is a gap.
std::optional<std::vector<std::string>> joined(std::vector<std::string> moves,
                                               const std::vector<v1::RecentMove>& last_moves, int ply);

}  // namespace arbiter
