// From what the wire says to the errors of this library.
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

}  // namespace arbiter
