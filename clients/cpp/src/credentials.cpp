#include "arbiter/credentials.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "arbiter/errors.hpp"
#include "entries.hpp"
#include "environment.hpp"
#include "system.hpp"

namespace arbiter::credentials {

namespace {

namespace fs = std::filesystem;

// The entries, and the file of an earlier version that holds them, if one does.
struct Content {
  Entries entries;
  std::optional<fs::path> old;
};

// The file to read: where the default path has none, the one beside it that earlier versions wrote.
fs::path existing() {
  const fs::path file = path();
  std::error_code error;
  const bool given = !environment("ARBITER_CREDENTIALS").empty();
  const fs::path earlier = fs::path(file).replace_extension(".toml");
  return !given && !fs::exists(file, error) && fs::exists(earlier, error) ? earlier : file;
}

Content read() {
  const fs::path file = existing();
  const auto fail = [&](const std::string& why) -> Content {
    throw CredentialsError("can't use the credentials file " + file.string() + ": " + why +
                           "; mend it or move it away");
  };
  std::error_code error;
  if (!fs::exists(file, error)) return error ? fail(error.message()) : Content{};
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail("it can't be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return fail("it can't be read");
  try {
    ReadEntries found = read_entries(text);
    return {std::move(found.entries), found.old ? std::optional(file) : std::nullopt};
  } catch (const std::invalid_argument& wrong) {
    return fail(wrong.what());
  }
}

// Changes the file. Bots that start together register at the same time: each must see the entries of the others.
void change(const std::function<void(Entries&)>& edit) {
  const fs::path file = path();
  try {
    const fs::path folder = file.parent_path().empty() ? fs::path(".") : file.parent_path();
    if (fs::create_directories(folder)) fs::permissions(folder, fs::perms::owner_all);
    const FileLock lock(file.string() + ".lock");
    Content content = read();
    edit(content.entries);
    replace_file(file, write_entries(content.entries));
    if (content.old && *content.old != file) fs::remove(*content.old);
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
    return fs::path(config) / "arbiter" / "credentials.json";
  }
  const std::string home = environment("HOME");
  return fs::path(home.empty() ? environment("USERPROFILE") : home) / ".config" / "arbiter" / "credentials.json";
}

Entries entries() {
  Content content = read();
  if (content.old) {
    try {
      change([](Entries&) {});  // writes it as JSON
    } catch (const CredentialsError&) {
      return content.entries;  // a file that can't be written is only read
    }
  }
  return content.entries;
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
