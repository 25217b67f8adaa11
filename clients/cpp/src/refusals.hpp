// From messages and statuses to the errors of this library.
#pragma once

#include <grpcpp/support/status.h>

#include <exception>
#include <string>

#include "arbiter/errors.hpp"
#include "arbiter/v1/refusal.pb.h"

namespace arbiter {

/// The error that a refusal describes.
ArbiterError from_refusal(const v1::Refusal& refusal);

/// The error behind a failed call to the server at an address: an ArbiterError or a ConnectionFailed.
std::exception_ptr from_status(const grpc::Status& status, const std::string& address);

/// Whether a refusal has a code after which another stream, or another attempt, may succeed.
bool is_passing(const ArbiterError& refusal);

/// Whether an error shows that the arbiter was away or busy. So does a temporary status without a reason: an arbiter
/// names one.
bool was_away(const std::exception_ptr& error);

/// Whether an error shows that the arbiter is there, and asks for a pause because it is asked too much.
bool asks_for_pause(const std::exception_ptr& error);

/// Whether was_away is so of an error, or of one that is nested in it.
bool comes_of_an_outage(const std::exception_ptr& error);

}  // namespace arbiter
