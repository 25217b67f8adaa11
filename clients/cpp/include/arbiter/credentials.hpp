// Tokens: from the environment, or from a file that only its owner may read.
//
// The file is $ARBITER_CREDENTIALS, or arbiter/credentials.json in $XDG_CONFIG_HOME or ~/.config:
//
//     {"127.0.0.1:7400": {"alice": "TOKEN"}}
//
// Earlier versions wrote TOML, and credentials.toml: such a file is read, and rewritten.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace arbiter::credentials {

/// Tokens by server address and player name.
using Entries = std::map<std::string, std::map<std::string, std::string>>;

/// The path of the credentials file, which need not exist.
std::filesystem::path path();

/// Everything in the file. Throws CredentialsError if it can't be read or is not a credentials file.
Entries entries();

/// The token of a player on a server; of several addresses, with commas between them, the first with an entry counts.
/// Throws CredentialsError as `entries` does.
std::optional<std::string> find(const std::string& server, const std::string& name);

/// The token to use: the one given, or ARBITER_TOKEN, or the file's entry for the player, or none.
std::string token_for(const std::string& server, const std::string& name, const std::string& given = "");

/// Stores a player's token for each address of the server, in place of an earlier one. Throws CredentialsError.
void save(const std::string& server, const std::string& name, const std::string& token);

/// Removes a player's token, at each address of the server, and says whether there was one. Throws CredentialsError.
bool forget(const std::string& server, const std::string& name);

}  // namespace arbiter::credentials
