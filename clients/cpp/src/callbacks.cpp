#include "callbacks.hpp"

#include "arbiter/log.hpp"

namespace arbiter {

std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ArbiterError& refusal) {
    return to_string(refusal.reason()) + ": " + refusal.what();
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

void Callbacks::stop_for(const std::string& where, const std::exception_ptr& error) const {
  stop_for_(std::make_exception_ptr(BotFailed(where + ": " + text_of(error), error)));
}

std::string Callbacks::name() const {
  return bot_.name.empty() ? "the bot" : bot_.name;
}

void Callbacks::failed(const char* name, const std::exception_ptr& error) const {
  const std::string where = this->name() + " failed in " + name;
  if (on_error_ == OnError::raise) {
    stop_for(where, error);
  } else {
    log(Level::error, where + ": " + text_of(error));
  }
}

}  // namespace arbiter
