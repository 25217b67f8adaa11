// The smallest bot: it plays the first legal move.
//
// Start it twice, and let the two meet:
//
//   build/bin/first_move --name alice
//   build/bin/first_move --name bob
//   arbiter match create pods alice bob --time 1m+1s

#include <arbiter/arbiter.hpp>
#include <iostream>

class FirstMove : public arbiter::Bot {
 public:
  FirstMove() {
    name = "first-move";
    extras.legal_moves_up_to = 500;
  }

  arbiter::Choice choose(const arbiter::Turn& turn) override { return legal_moves(turn).front().text(); }

  void ended(const arbiter::FinishedMatch& finished) override {
    std::cout << finished.game << " against " << finished.opponent << ": " << finished.result.reason() << std::endl;
  }
};

int main(int argc, char** argv) {
  FirstMove bot;
  return arbiter::run_command(argc, argv, "Plays the first legal move.", bot);
}
