// What threads share, used by many at once: for the thread sanitizer (cmake/threads.cmake).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "outbox.hpp"
#include "timers.hpp"
#include "workers.hpp"

namespace arbiter::testing {
namespace {

constexpr int SPEAKERS = 4;
constexpr int ACTS = 50;  // of each

v1::PlayAct resignation() {
  v1::PlayAct act;
  act.mutable_resign();
  return act;
}

// Does something in several threads at once, and returns once all have done it.
template <class Work>
void at_once(Work work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < SPEAKERS; ++i) threads.emplace_back(work);
}

// Reads one stream after another, and loses each after a few messages, until so many acts were said and answered, or
// the outbox is closed; returns their ids.
std::set<std::string> streams(Outbox& outbox, std::size_t most) {
  std::set<std::string> said;
  while (said.size() < most) {
    outbox.hold({});
    outbox.release();
    for (int messages = 0; messages < 3 && said.size() < most; ++messages) {
      const auto request = outbox.next();
      if (!request) return said;
      for (const v1::PlayAct& act : request->acts()) {
        if (!act.has_resign()) continue;
        said.insert(act.request_id());
        outbox.answered(act.request_id());
      }
    }
    outbox.drop();
  }
  return said;
}

TEST(Threads, AnOutboxSaysWhatManyAskForOverManyStreams) {
  Outbox outbox;
  std::set<std::string> said;
  std::jthread reader([&] { said = streams(outbox, SPEAKERS * ACTS); });
  at_once([&] {
    for (int i = 0; i < ACTS; ++i) {
      const std::string id = outbox.request(resignation());
      outbox.again(id, outbox.stream());
      outbox.pong(1);
      (void)outbox.unanswered(id);
    }
  });
  reader.join();
  EXPECT_EQ(said.size(), SPEAKERS * ACTS);
}

TEST(Threads, WorkersAndTimersSpeakUntilTheyAreStopped) {
  Outbox outbox;
  std::set<std::string> said;
  std::jthread reader([&] { said = streams(outbox, SPEAKERS * ACTS + 1); });
  std::atomic<int> begun = 0;
  std::atomic<int> asked = 0;
  {
    Workers workers(3, [&] { ++begun; });
    Timers timers;
    at_once([&] {
      for (int i = 0; i < ACTS; ++i) {
        workers.post([&] {
          const std::string id = outbox.request(resignation());
          ++asked;
          timers.at(MonotonicClock::now(), [&outbox, id, stream = outbox.stream()] { outbox.again(id, stream); });
        });
      }
    });
    workers.finish();
    workers.post([&] { ++asked; });  // is dropped
    timers.stop();
  }
  outbox.close();
  reader.join();
  EXPECT_EQ(asked, SPEAKERS * ACTS);
  EXPECT_EQ(said.size(), SPEAKERS * ACTS);
  EXPECT_GE(begun, 1);
  EXPECT_LE(begun, 3);
}

TEST(Threads, WorkersThatAreStoppedDropWhatHasNotBegun) {
  for (int round = 0; round < ACTS; ++round) {
    std::atomic<int> done = 0;
    Workers workers(2);
    std::jthread stops([&] { workers.stop(); });
    at_once([&] { workers.post([&] { ++done; }); });
    stops.join();
    EXPECT_LE(done, SPEAKERS);
  }
}

}  // namespace
}  // namespace arbiter::testing
