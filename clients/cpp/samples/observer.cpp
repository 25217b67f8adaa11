// Watches a match, or everything: prints a line for each event, also after lost connections.
//
//   build/bin/observer            everything from now on
//   build/bin/observer MATCH      one match, from its beginning

#include <arbiter/arbiter.hpp>
#include <iostream>
#include <string>

namespace {

// An event as a line of text.
std::string describe(const arbiter::v1::MatchEvent& event) {
  if (event.has_created()) {
    std::string players;
    for (const std::string& player : event.created().players())
      players += (players.empty() ? "" : " against ") + player;
    return event.created().game() + ": " + players + ", " + event.created().time_control();
  }
  if (event.has_moved()) {
    const auto& moved = event.moved();
    return std::to_string(moved.ply() + 1) + ". " + moved.move() + " (seat " + std::to_string(moved.seat()) + ", " +
           std::to_string(moved.ledger().charged_ms()) + " ms)";
  }
  if (event.has_ended()) {
    const auto& result = event.ended();
    const std::string winner = "seat " + std::to_string(result.winner()) + " wins";
    return (result.winner() != 0 ? winner : "nobody wins") + ": " + result.reason();
  }
  return event.kind();
}

}  // namespace

int main(int argc, char** argv) {
  return arbiter::run_command(argc, argv, "Prints a line an event.", "[MATCH]", [](const arbiter::CommandLine& line) {
    arbiter::Client client(line.client_options());
    arbiter::Events events = line.words.empty() ? client.observe_all() : client.observe(line.words.front());
    for (const arbiter::Event& event : events) {
      std::cout << event.event.match_id() << ' ' << event.event.revision() << ": " << describe(event.event)
                << std::endl;
    }
  });
}
