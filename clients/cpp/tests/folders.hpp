// Where the client stands on this machine. Paths of it in other files would have each compiled anew in every clone.
#pragma once

#include <filesystem>

namespace arbiter::testing {

/// The folder of the client, clients/cpp.
std::filesystem::path client_folder();

/// The folder of the samples' programs.
std::filesystem::path samples_folder();

}  // namespace arbiter::testing
