#include <random>

#include "arbiter/client.hpp"

namespace arbiter {

std::string new_request_id() {
  constexpr std::string_view DIGITS = "0123456789abcdef";
  constexpr int LENGTH = 32;
  std::random_device dice;
  std::string id;
  for (int i = 0; i < LENGTH; ++i) id += DIGITS[dice() % DIGITS.size()];
  return id;
}

}  // namespace arbiter
