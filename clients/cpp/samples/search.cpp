// A bot with a simple search and no rules of its own: it asks the server to play the moves. It tries its own moves and
// the opponent's answers to the best of them, and counts pieces.

#include <algorithm>
#include <arbiter/arbiter.hpp>
#include <future>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t WIDTH = 8;        // own moves to try
constexpr std::size_t DEPTH_WIDTH = 2;  // of these, how many to try with the opponent's answers
constexpr std::size_t ANSWERS = 4;      // answers to try
constexpr int WON = 100;                // more than the pieces of any board

// What a question to the server found out, and the move that it was about.
using Worth = std::pair<int, std::string>;

class Search : public arbiter::Bot {
 public:
  Search() { name = "search"; }

  // The move whose worst answer is the least bad.
  arbiter::Choice choose(const arbiter::Turn& turn) override {
    const arbiter::Line line = turn.line();
    std::vector<Worth> best = of_each(line, sample(legal_moves(turn), WIDTH),
                                      [&](const arbiter::Line& then) { return worth(then, turn.seat); });
    best.resize(std::min(best.size(), DEPTH_WIDTH));
    if (best.front().first >= WON) return best.front().second;
    std::vector<std::string> moves;
    for (const Worth& one : best) moves.push_back(one.second);
    return of_each(line, moves, [&](const arbiter::Line& then) { return worst(then, turn.seat); }).front().second;
  }

 private:
  // What each move is worth, best first: many questions at once.
  template <class Question>
  static std::vector<Worth> of_each(const arbiter::Line& line, const std::vector<std::string>& moves, Question ask) {
    std::vector<std::future<int>> answers;
    for (const std::string& move : moves) answers.push_back(std::async(std::launch::async, ask, line.then(move)));
    std::vector<Worth> found;
    for (std::size_t i = 0; i < moves.size(); ++i) found.emplace_back(answers[i].get(), moves[i]);
    std::sort(found.rbegin(), found.rend());
    return found;
  }

  static std::vector<std::string> sample(const std::vector<arbiter::v1::LegalMove>& legal, std::size_t most) {
    thread_local std::mt19937 dice{std::random_device{}()};
    std::vector<std::string> moves;
    for (const auto& move : legal) moves.push_back(move.text());
    std::shuffle(moves.begin(), moves.end(), dice);
    moves.resize(std::min(moves.size(), most));
    return moves;
  }

  // What the end of a line is worth after the opponent's best answer, of those looked at.
  int worst(const arbiter::Line& line, int seat) const {
    const auto answers = sample(client().legal_moves(line), ANSWERS);
    if (answers.empty()) return worth(line, seat);
    return of_each(line, answers, [&](const arbiter::Line& then) { return worth(then, seat); }).back().first;
  }

  // What the end of a line is worth to a seat: ±WON for a win, or the difference in pieces.
  int worth(const arbiter::Line& line, int seat) const {
    const auto played = client().play_moves(line, static_cast<int>(line.moves.size()), true);
    if (played.outcome().winner() != 0) return played.outcome().winner() == seat ? WON : -WON;
    const auto& board = played.positions(played.positions_size() - 1).board();
    int pieces = 0;
    for (const auto& cell : board) pieces += cell.owner() == 0 ? 0 : cell.owner() == seat ? 1 : -1;
    return pieces;
  }
};

}  // namespace

int main(int argc, char** argv) {
  Search bot;
  return arbiter::run_command(argc, argv, "Looks two moves ahead; the server plays the moves.", bot);
}
