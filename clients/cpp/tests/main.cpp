// Runs the tests, with the environment and the credentials file of whoever runs them kept out.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "arbiter/log.hpp"
#include "folders.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (const char* name : {"ARBITER_SERVER", "ARBITER_TOKEN", "ARBITER_NAME", "ARBITER_ROOT_CERTIFICATE",
                           "ARBITER_CLIENT_CERTIFICATE", "ARBITER_CLIENT_KEY", "XDG_CONFIG_HOME"}) {
    ::unsetenv(name);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "arbiter-client-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  ::setenv("ARBITER_CREDENTIALS", (folder + "/credentials.toml").c_str(), 1);
  ::setenv("ARBITER_COMMAND", (arbiter::testing::client_folder() / "../../.venv/bin/arbiter").c_str(), 0);
  ::setenv("ARBITER_TEST_FOLDER", folder.c_str(), 1);
  arbiter::set_log(arbiter::standard_error_log(arbiter::Level::error));
  const int status = RUN_ALL_TESTS();
  std::filesystem::remove_all(folder);
  return status;
}
