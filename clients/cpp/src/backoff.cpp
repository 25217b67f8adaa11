#include "arbiter/backoff.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace arbiter {

namespace {
constexpr int MOST_DOUBLINGS = 30;
}

double by_chance() {
  thread_local std::minstd_rand dice{std::random_device{}()};
  return std::uniform_real_distribution<>{}(dice);
}

Backoff::Backoff(std::chrono::milliseconds first, std::chrono::milliseconds most, std::function<double()> chance)
    : first_(first), most_(most), chance_(std::move(chance)) {
}

std::chrono::milliseconds Backoff::next(std::chrono::milliseconds at_least) {
  const double whole = std::min<double>(most_.count(), std::ldexp(first_.count(), std::min(tries_, MOST_DOUBLINGS)));
  ++tries_;
  return at_least + std::chrono::milliseconds(std::llround(whole * (1 - chance_() / 2)));
}

void Backoff::reset() {
  tries_ = 0;
}

}  // namespace arbiter
