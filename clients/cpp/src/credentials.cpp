#include "arbiter/credentials.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "arbiter/errors.hpp"
#include "environment.hpp"
#include "system.hpp"
#include "toml.hpp"

namespace arbiter::credentials {

namespace {

namespace fs = std::filesystem;

// Changes the file. Bots that start together register at the same time: each must see the entries of the others.
void change(const std::function<void(Entries&)>& edit) {
  const fs::path file = path();
  try {
    const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
    if (fs::create_directories(folder)) fs::permissions(folder, fs::perms::owner_all);
    const FileLock lock(file.string() + ".lock");
    Entries content = entries();
    edit(content);
    replace_file(file, write_tables(content));
  } catch (const std::system_error& error) {
    throw CredentialsError("can't write the credentials file " + file.string() + ": " + error.code().message());
  }
}

// The addresses of a server, between commas.
std::vector<std::string> each(const std::string& server) {
  std::vector<std::string> found;
  std::istringstream text(server);
  for (std::string address; std::getline(text, address, ',');) found.push_back(address);
  return found;
}

}  // namespace

fs::path path() {
  if (const std::string given = environment("ARBITER_CREDENTIALS"); !given.empty()) return given;
  if (const std::string config = environment("XDG_CONFIG_HOME"); !config.empty()) {
    return fs::path(config) / "arbiter" / "credentials.toml";
  }
  const std::string home = environment("HOME");
  return fs::path(home.empty() ? environment("USERPROFILE") : home) / ".config" / "arbiter" / "credentials.toml";
}

Entries entries() {
  const fs::path file = path();
  const auto fail = [&](const std::string& why) -> Entries {
    throw CredentialsError("can't use the credentials file " + file.string() + ": " + why +
                           "; mend it or move it away");
  };
  std::error_code error;
  if (!fs::exists(file, error)) return error ? fail(error.message()) : Entries{};
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail("it can't be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return fail("it can't be read");
  try {
    return parse_tables(text);
  } catch (const std::invalid_argument& wrong) {
    return fail(wrong.what());
  }
}

std::optional<std::string> find(const std::string& server, const std::string& name) {
  const Entries all = entries();
  for (const std::string& address : each(server)) {
    const auto players = all.find(address);
    if (players == all.end()) continue;
    const auto token = players->second.find(name);
    if (token != players->second.end()) return token->second;
  }
  return std::nullopt;
}

std::string token_for(const std::string& server, const std::string& name, const std::string& given) {
  if (!given.empty()) return given;
  if (std::string token = environment("ARBITER_TOKEN"); !token.empty()) return token;
  return name.empty() ? "" : find(server, name).value_or("");
}

void save(const std::string& server, const std::string& name, const std::string& token) {
  change([&](Entries& content) {
    for (const std::string& address : each(server)) content[address][name] = token;
  });
}

bool forget(const std::string& server, const std::string& name) {
  bool was_there = false;
  change([&](Entries& content) {
    for (const std::string& address : each(server)) was_there = content[address].erase(name) > 0 || was_there;
  });
  return was_there;
}

}  // namespace arbiter::credentials
