#include "arbiter/opening_book.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "utf8.hpp"

namespace arbiter {

namespace {

constexpr const char* ALLOWED = "GAME MOVE MOVE …";

ArbiterError mistake(const std::string& what, const std::string& where, const std::string& allowed,
                     const std::string& message) {
  return {Reason::PARAMETER_INVALID,
          message,
          grpc::StatusCode::INVALID_ARGUMENT,
          {{"what", what}, {"where", where}, {"allowed", allowed}}};
}

}  // namespace

OpeningBook OpeningBook::parse(std::string_view text) {
  OpeningBook book;
  text = without_mark(text);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t length = std::min(text.find_first_of("\r\n"), text.size());
    std::istringstream line{std::string(text.substr(0, length))};
    text.remove_prefix(length);
    text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
    std::string game;
    if (!(line >> game) || game.starts_with('#')) continue;
    std::vector<std::string> moves{std::istream_iterator<std::string>(line), {}};
    if (moves.empty()) {
      const std::string which = "line " + std::to_string(number);
      throw mistake(game, "opening book, " + which, ALLOWED,
                    which + " of the opening book has no move after \"" + game + "\": expected " + ALLOWED);
    }
    book.lines_[game].push_back(std::move(moves));
  }
  return book;
}

OpeningBook OpeningBook::load(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad() || !is_utf8(text)) {
    const std::string why = in.is_open() && !in.bad() ? "it is not UTF-8" : "is it there?";
    throw mistake(path.string(), "opening book", "a text in UTF-8",
                  "the opening book " + path.string() + " can't be read: " + why);
  }
  return parse(text);
}

std::vector<std::string> OpeningBook::moves(const std::string& game, const std::vector<std::string>& played) const {
  std::vector<std::string> found;
  const auto known = lines_.find(game);
  if (known == lines_.end()) return found;
  for (const std::vector<std::string>& line : known->second) {
    if (line.size() <= played.size() || !std::equal(played.begin(), played.end(), line.begin())) continue;
    const std::string& next = line[played.size()];
    if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(next);
  }
  return found;
}

std::optional<std::string> OpeningBook::move(const Turn& turn) const {
  if (!turn.match->terms().start_position.empty()) return std::nullopt;
  const std::vector<std::string> known = moves(turn.game, turn.match->moves());
  if (known.empty()) return std::nullopt;
  std::random_device dice;
  return known[std::uniform_int_distribution<std::size_t>(0, known.size() - 1)(dice)];
}

}  // namespace arbiter
