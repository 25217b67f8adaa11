#include "arbiter/values.hpp"

#include <algorithm>
#include <utility>

namespace arbiter {

Line Line::then(std::string move) const {
  Line line = *this;
  line.moves.push_back(std::move(move));
  return line;
}

LiveMatch::LiveMatch(std::string id, std::string game, int seat, std::string opponent)
    : id_(std::move(id)), game_(std::move(game)), seat_(seat), opponent_(std::move(opponent)) {
}

LiveMatch::Terms LiveMatch::terms() const {
  const std::lock_guard lock(mutex_);
  return terms_;
}

std::vector<std::string> LiveMatch::moves() const {
  const std::lock_guard lock(mutex_);
  return moves_;
}

Turn::Turn(const v1::Turn& message, std::shared_ptr<LiveMatch> live)
    : match(std::move(live)),
      game(message.game()),
      seat(message.seat()),
      ply(message.ply()),
      position(message.position()),
      last_moves(message.last_moves().begin(), message.last_moves().end()),
      clocks(message.clocks().begin(), message.clocks().end()),
      started_ms(message.started_ms()),
      now_ms(message.now_ms()),
      draw_claim(message.draw_claim()),
      draw_offered(message.draw_offered()),
      opponent(message.opponent()),
      board(message.board().begin(), message.board().end()),
      legal_move_count(message.has_legal_move_count() ? std::optional(message.legal_move_count()) : std::nullopt),
      legal_moves(message.legal_moves().begin(), message.legal_moves().end()),
      available_ms(message.available_ms()),
      revision(message.revision()),
      received(MonotonicClock::now()),
      gone(std::make_shared<std::atomic<bool>>(false)) {
}

Line Turn::line() const {
  return {game, "", match->moves()};
}

std::optional<std::chrono::milliseconds> Turn::time_left() const {
  if (available_ms == 0) return std::nullopt;
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(MonotonicClock::now() - received);
  const std::chrono::milliseconds left(available_ms - (now_ms - started_ms) - since.count());
  return std::max(left, std::chrono::milliseconds(0));
}

std::optional<double> FinishedMatch::score() const {
  switch (result.kind()) {
    case v1::RESULT_KIND_WIN:
      return result.winner() == seat ? 1.0 : 0.0;
    case v1::RESULT_KIND_DRAW:
      return 0.5;
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<std::string>> joined(std::vector<std::string> moves,
                                               const std::vector<v1::RecentMove>& last_moves, int ply) {
  const auto count = static_cast<std::size_t>(std::max(ply, 0));
  if (moves.size() > count) moves.resize(count);
  for (const v1::RecentMove& recent : last_moves) {
    const auto at = static_cast<std::size_t>(std::max(recent.ply(), 0));
    if (at > moves.size() || (at < moves.size() && moves[at] != recent.move())) return std::nullopt;
    if (at == moves.size()) moves.push_back(recent.move());
  }
  return moves.size() == count ? std::optional(std::move(moves)) : std::nullopt;
}

}  // namespace arbiter
