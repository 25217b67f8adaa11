#include "arbiter/errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "refusals.hpp"
#include "status_details.pb.h"

namespace arbiter {

namespace {

constexpr std::string_view PREFIX = "REFUSAL_REASON_";
constexpr std::size_t MOST_DIGITS = 12;  // of a time in milliseconds: no pause is longer than a few years

constexpr std::array PASSING = {grpc::StatusCode::UNAVAILABLE,      grpc::StatusCode::RESOURCE_EXHAUSTED,
                                grpc::StatusCode::ABORTED,          grpc::StatusCode::INTERNAL,
                                grpc::StatusCode::UNKNOWN,          grpc::StatusCode::CANCELLED,
                                grpc::StatusCode::DEADLINE_EXCEEDED};

// The code of a number on the wire; 0 is none for an error.
grpc::StatusCode code_of(int number) {
  const bool known = number > 0 && number <= static_cast<int>(grpc::StatusCode::UNAUTHENTICATED);
  return known ? static_cast<grpc::StatusCode>(number) : grpc::StatusCode::UNKNOWN;
}

}  // namespace

Reason reason_of(int number) {
  return number > 0 && number <= static_cast<int>(Reason::RATINGS_CHANGED) ? Reason{number} : Reason::UNKNOWN;
}

std::string to_string(Reason reason) {
  if (reason == Reason::UNKNOWN) return "UNKNOWN";
  return v1::RefusalReason_Name(static_cast<int>(reason)).substr(PREFIX.size());
}

ArbiterError::ArbiterError(Reason reason, const std::string& message, grpc::StatusCode code,
                           std::map<std::string, std::string> facts)
    : ClientError(message), reason_(reason), code_(code), facts_(std::move(facts)) {
}

bool ArbiterError::temporary() const {
  return code_ == grpc::StatusCode::UNAVAILABLE || code_ == grpc::StatusCode::RESOURCE_EXHAUSTED;
}

std::chrono::milliseconds ArbiterError::retry_after() const {
  const auto fact = facts_.find("retry_after_ms");
  if (fact == facts_.end() || fact->second.empty() || fact->second.size() > MOST_DIGITS) return {};
  const bool digits = std::all_of(fact->second.begin(), fact->second.end(),
                                  [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return std::chrono::milliseconds(digits ? std::stoll(fact->second) : 0);
}

ArbiterError from_refusal(const v1::Refusal& refusal) {
  return {reason_of(refusal.reason()),
          refusal.message(),
          code_of(refusal.code()),
          {refusal.facts().begin(), refusal.facts().end()}};
}

namespace {

// An error that keeps the status of the call behind it.
template <class Error>
std::exception_ptr with_status(Error error, const grpc::Status& status) {
  error.set_status(status);
  return std::make_exception_ptr(std::move(error));
}

}  // namespace

bool is_passing(const ArbiterError& refusal) {
  return std::find(PASSING.begin(), PASSING.end(), refusal.code()) != PASSING.end();
}

bool was_away(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ConnectionFailed&) {
    return true;
  } catch (const ArbiterError& refusal) {
    return refusal.temporary() || (refusal.reason() == Reason::UNKNOWN && is_passing(refusal));
  } catch (...) {
    return false;
  }
}

bool asks_for_pause(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ArbiterError& refusal) {
    return refusal.code() != grpc::StatusCode::UNAVAILABLE;
  } catch (...) {
    return false;
  }
}

bool comes_of_an_outage(const std::exception_ptr& error) {
  if (was_away(error)) return true;
  try {
    std::rethrow_exception(error);
  } catch (const std::nested_exception& outer) {
    return outer.nested_ptr() != nullptr && comes_of_an_outage(outer.nested_ptr());
  } catch (...) {
    return false;
  }
}

std::exception_ptr from_status(const grpc::Status& status, const std::string& address) {
  client::StatusDetails details;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) {
      v1::Refusal refusal;
      if (detail.UnpackTo(&refusal)) return with_status(from_refusal(refusal), status);
    }
  }
  const std::string words = status.error_message().empty() ? "no further word" : status.error_message();
  const grpc::StatusCode code = code_of(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return with_status(
          ConnectionFailed("no arbiter answers at " + address +
                           ": is it running there, are host and port right, and does it speak TLS or not as you do? (" +
                           words + ")"),
          status);
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return with_status(
          ConnectionFailed("the arbiter at " + address + " did not answer in time: try again (" + words + ")"), status);
    case grpc::StatusCode::UNIMPLEMENTED:
      return with_status(
          ArbiterError(Reason::UNKNOWN,
                       "what answers at " + address +
                           " is no arbiter, or one of another version: is the port right? (" + words + ")",
                       code),
          status);
    default:
      return with_status(ArbiterError(Reason::UNKNOWN, words, code), status);
  }
}

}  // namespace arbiter
