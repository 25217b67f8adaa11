// Calls to the bot, with its exceptions caught.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "arbiter/log.hpp"
#include "arbiter/playing.hpp"

namespace arbiter {

/// The text of an exception, with its type where it is one of this library's refusals.
std::string text_of(const std::exception_ptr& error);

/// Calls the callbacks of one bot. Any thread may use it.
class Callbacks {
 public:
  /// `stop_for` ends the run with an exception.
  Callbacks(const Bot& bot, OnError on_error, std::function<void(std::exception_ptr)> stop_for)
      : bot_(bot), on_error_(on_error), stop_for_(std::move(stop_for)) {}

  [[nodiscard]] OnError on_error() const { return on_error_; }

  /// The result of a callback, or the fallback if it throws.
  template <class Answer, class Function>
  Answer call(const char* name, Answer fallback, Function function) const {
    try {
      return function();
    } catch (...) {
      failed(name, std::current_exception());
      return fallback;
    }
  }

  /// The same for a callback that returns nothing.
  template <class Function>
  void tell(const char* name, Function function) const {
    call(name, true, [&] {
      function();
      return true;
    });
  }

  /// Calls a hook; one that throws is logged, and costs nothing else.
  template <class Function>
  static void hook(const char* name, Function function) {
    try {
      function();
    } catch (...) {
      log(Level::error, std::string("the hook ") + name + " failed: " + text_of(std::current_exception()));
    }
  }

  /// Ends the run, because the bot failed somewhere.
  void stop_for(const std::string& where, const std::exception_ptr& error) const;

  /// The name of the bot, for people.
  [[nodiscard]] std::string name() const;

 private:
  void failed(const char* name, const std::exception_ptr& error) const;

  const Bot& bot_;
  const OnError on_error_;
  const std::function<void(std::exception_ptr)> stop_for_;
};

}  // namespace arbiter
