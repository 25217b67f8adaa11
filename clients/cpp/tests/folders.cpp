#include "folders.hpp"

namespace arbiter::testing {

std::filesystem::path client_folder() {
  return ARBITER_CLIENT_FOLDER;
}

std::filesystem::path samples_folder() {
  return ARBITER_SAMPLES_FOLDER;
}

}  // namespace arbiter::testing
