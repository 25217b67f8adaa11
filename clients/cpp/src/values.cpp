#include "arbiter/values.hpp"

#include <algorithm>
#include <map>
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

LiveMatch::Terms terms_of(const v1::Match& match, int seat) {
  const bool known = match.time_controls_size() >= seat;
  const std::string& own = known ? match.time_controls(seat - 1) : match.time_control();
  return {own, match.time_control(), match.rated(), match.label(), match.opening_plies(), match.start_position()};
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
  return {game, match->terms().start_position, match->moves()};
}

std::optional<std::chrono::milliseconds> Turn::time_left() const {
  if (available_ms == 0) return std::nullopt;
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(MonotonicClock::now() - received);
  const std::chrono::milliseconds left(available_ms - (now_ms - started_ms) - since.count());
  return std::max(left, std::chrono::milliseconds(0));
}

std::optional<std::chrono::milliseconds> Turn::think_time(int expected_plies, int matches) const {
  const auto left = time_left();
  if (!left) return std::nullopt;
  const auto left_ms = static_cast<double>(left->count());
  const auto place = static_cast<std::size_t>(seat - 1);
  const bool known = place < clocks.size();
  const double main_ms = known ? std::min(left_ms, static_cast<double>(clocks[place].remaining_ms())) : left_ms;
  const int moves_left = known ? clocks[place].moves_left() : 0;
  const double ms = think_time_ms(match->terms().time_control, left_ms, main_ms, moves_left, expected_plies, matches);
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
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

std::vector<std::vector<const v1::CellContent*>> board_array(const v1::Board& board,
                                                             const std::vector<v1::CellContent>& contents) {
  std::map<std::string, const v1::CellContent*> by_name;
  for (const v1::CellContent& content : contents) by_name[content.cell()] = &content;
  std::vector<std::vector<const v1::CellContent*>> rows;
  for (const v1::CellLine& line : board.lines()) {
    auto& row = rows.emplace_back();
    for (const std::string& cell : line.cells()) {
      const auto found = by_name.find(cell);
      row.push_back(found == by_name.end() ? nullptr : found->second);
    }
  }
  return rows;
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
