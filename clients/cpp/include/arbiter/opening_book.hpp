// Opening books: moves from the start of a game that are known beforehand. clients/README.md describes the file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arbiter/values.hpp"

namespace arbiter {

/// Lines of moves by variant.
class OpeningBook {
 public:
  /// The book in a text. Throws ArbiterError (PARAMETER_INVALID) for a line without moves.
  static OpeningBook parse(std::string_view text);

  /// The book in a file. Throws ArbiterError (PARAMETER_INVALID) if it can't be read, is not UTF-8, or is no book.
  static OpeningBook load(const std::filesystem::path& path);

  /// The moves that the book has after those played, each once, in the order of the book.
  [[nodiscard]] std::vector<std::string> moves(const std::string& game, const std::vector<std::string>& played) const;

  /// One of the moves for a turn by lot; nothing: think. A match from a position of its own is in no book.
  [[nodiscard]] std::optional<std::string> move(const Turn& turn) const;

 private:
  std::map<std::string, std::vector<std::vector<std::string>>> lines_;
};

}  // namespace arbiter
