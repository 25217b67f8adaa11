// The interface of bots: one function, from a turn to a move, and optional callbacks.
#pragma once

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "arbiter/client.hpp"
#include "arbiter/values.hpp"

namespace arbiter {

/// Optional content of each turn; it costs time on both sides.
struct Extras {
  bool board = false;             ///< the board, cell by cell
  bool legal_move_count = false;  ///< the number of legal moves
  int legal_moves_up_to = 0;      ///< the legal moves, if there are at most this many
  bool steps = false;             ///< the visible parts of these moves
};

/// A move with the bot's comment, which opponents see after the end of the match.
struct Move {
  // NOLINTBEGIN(google-explicit-constructor): a move's text is a move.
  Move(std::string played) : text(std::move(played)) {}
  Move(const char* played) : text(played) {}
  // NOLINTEND(google-explicit-constructor)
  Move(std::string played, std::optional<int> expected, std::vector<std::string> expected_line = {})
      : text(std::move(played)), evaluation(expected), line(std::move(expected_line)) {}

  std::string text;
  /// The score that the bot expects, in permille: 0 lost, 500 even, 1000 won. Another number is left out.
  std::optional<int> evaluation;
  /// The moves that it expects from this one on, its own first. The server cuts them after 32 moves or 500 characters.
  std::vector<std::string> line;
};

/// Offer a draw, and play a move.
struct OfferDraw {
  explicit OfferDraw(Move played) : move(std::move(played)) {}
  Move move;
};

/// Claim the draw that `Turn::draw_claim` names.
struct ClaimDraw {};

/// Resign the match.
struct Resign {};

/// What `choose` may return. A text is a move.
using Choice = std::variant<Move, OfferDraw, ClaimDraw, Resign>;

/// Whether a challenge is accepted, or else the reason for declining it.
struct Verdict {
  // NOLINTBEGIN(google-explicit-constructor): `return true` and `return "busy"` are verdicts.
  Verdict(bool accept) : accepted(accept) {}
  Verdict(std::string why_not) : accepted(false), reason(std::move(why_not)) {}
  Verdict(const char* why_not) : accepted(false), reason(why_not) {}
  // NOLINTEND(google-explicit-constructor)

  bool accepted;
  std::string reason;  ///< for the challenger; at most 200 characters are sent
};

/// A bot. A subclass describes itself in its constructor, and chooses moves; everything else has a default.
///
/// Callbacks run in threads of the client's. Those of one match come one after the other, those of different matches at
/// the same time: the data of a match is best kept in its `memory`. Their exceptions are logged and cost at most the
/// match (see `OnError`). One bot may be in several runs, one after the other or at once: `client`, `playing` and
/// `left` are those of the run that calls, or in a thread of its own those of the only run.
class Bot {
 public:
  Bot() = default;
  Bot(const Bot&) = delete;
  Bot& operator=(const Bot&) = delete;
  virtual ~Bot() = default;

  std::string name;                        ///< for people, and the player's where no other is given
  std::string version = "1";               ///< rated apart from other versions
  std::vector<std::string> games;          ///< games or variants it plays: `pods` is all its variants; empty for all
  std::vector<std::string> time_controls;  ///< time controls that it accepts, by meaning; empty for all
  std::vector<std::string> opponents;      ///< players whose challenges and seeks it accepts; empty for all
  std::optional<bool> rated;               ///< whether it plays only rated matches, or only unrated ones; nothing: both
  int seat = 0;                            ///< the seat that challenges and seeks must give it; 0 for any, and the lot
  std::optional<double> least_rating;      ///< the lowest rating of a challenger in the game; the client asks for it
  std::optional<double> most_rating;       ///< the highest one
  int most_matches = 0;                    ///< how many matches it plays at once; 0 for no limit
  bool accept_challenges = true;           ///< whether to accept challenges that suit
  bool accept_seeks = false;               ///< whether to accept open seeks of others that suit
  std::vector<v1::Terms> seeks;            ///< seeks to keep open while there is room for a match
  bool enter_tournaments = false;          ///< whether to enter every tournament that suits, when it is called
  std::vector<std::string> capabilities;   ///< its capabilities beyond the first version of the protocol, by name
  Extras extras;                           ///< the optional content of its turns

  /// The choice for a turn: a move or its text, `OfferDraw`, `ClaimDraw` or `Resign`.
  virtual Choice choose(const Turn& turn) = 0;

  /// Another choice for a turn after the first one was refused. By default `choose` is called once more, with
  /// `turn.refused` set. After a second refusal the bot resigns.
  virtual Choice refused(const Turn& turn, const ArbiterError& error);

  /// A match has started, or the bot continues one after a restart. Called before its first turn; twice, once for each
  /// seat, in a match of the bot against itself. No clock of the match starts before it has returned, or at most
  /// `Policy.ready_ms` later.
  virtual void started(const LiveMatch& match);

  /// A match has ended. After this returns, the client acknowledges the result to the server.
  virtual void ended(const FinishedMatch& finished);

  /// Whether to accept the opponent's draw offer. By default no.
  virtual bool draw_offered(const DrawOffer& offer);

  /// Whether to accept a challenge, or the reason for declining it. By default its settings decide.
  virtual Verdict challenged(const v1::Challenge& challenge);

  /// Whether to accept an open seek of another player; called only with `accept_seeks`. By default its settings decide.
  virtual bool sought(const v1::Challenge& seek);

  /// Whether to enter a tournament; called only with `enter_tournaments`. By default its settings decide.
  virtual bool called(const v1::TournamentCall& tournament);

  /// A challenge or seek of the bot's own is no longer open.
  virtual void challenge_closed(const v1::ChallengeClosed& closed);

  /// The legal moves of a turn: those in it, or else the server's answer. Throws as `Client::legal_moves`.
  std::vector<v1::LegalMove> legal_moves(const Turn& turn);

  /// Whether the bot plays a variant: it, or its game, is in `games`, or `games` is empty.
  [[nodiscard]] bool plays(std::string_view game) const;

  /// Whether the bot plays at a time control: `60s` in `time_controls` stands for `1m` too.
  [[nodiscard]] bool plays_at(std::string_view time_control) const;

  /// The reason why the bot's settings exclude a challenge or seek of a player with a rating in the game, if it has
  /// one; empty if they do not.
  [[nodiscard]] std::string objection(const v1::Challenge& challenge,
                                      std::optional<double> rating = std::nullopt) const;

  /// How many matches are under way, or about to be since the bot accepted them; 0 outside a run. Throws as `client`
  /// in a thread that belongs to none of several runs.
  [[nodiscard]] int playing() const;

  /// How many more matches it may agree on before its run ends (`PlayOptions::matches`); NO_LIMIT if it does not end,
  /// or outside a run. Throws as `playing`.
  [[nodiscard]] int left() const;

  /// Whether there is room for one more match.
  [[nodiscard]] bool has_room() const { return left() > 0 && (most_matches <= 0 || playing() < most_matches); }

  static constexpr int NO_LIMIT = std::numeric_limits<int>::max();

  /// The connection of the run that calls. Throws std::logic_error if the bot is in no run, or is in several and this
  /// thread belongs to none of them.
  [[nodiscard]] Client& client() const;

 private:
  friend class LocalBot;
  friend class Policies;
  friend class Runner;

  // What a run knows for its bot.
  struct Run {
    Client& client;
    std::atomic<int> playing = 0;
    std::atomic<int> left = NO_LIMIT;
  };

  // From now on this thread calls its bot in a run.
  static void call_in(Run& run);

  virtual void enter(Run& run);
  virtual void leave(Run& run);

  [[nodiscard]] Run* run() const;  // the one that calls, or elsewhere the only one; null in none
  [[nodiscard]] std::optional<double> rating_of(const v1::Challenge& challenge) const;

  mutable std::mutex mutex_;  // guards the following member
  std::vector<Run*> runs_;
};

}  // namespace arbiter
