#include "arbiter/cli.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "arbiter/log.hpp"
#include "arbiter/plain_text.hpp"

namespace arbiter {

namespace {

constexpr int HELP_COLUMN = 30;

constexpr const char* TERMS = "GAME [TIME] [rated] [seat=1|2]";

// The options about the bot; empty if there are none.
struct About {
  std::vector<std::string> games;
  std::optional<int> most_matches;
  std::vector<v1::Terms> seeks;
  bool accept_seeks = false;
  bool enter_tournaments = false;
};

struct Settings {
  PlayOptions options;
  About about;
  std::vector<std::string> words;
  bool help = false;
};

struct Option {
  const char* name;
  const char* hint;  // of its value; empty for an option without one
  const char* help;
  std::function<void(Settings&, const std::string&)> set;
};

int count(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) {
    throw ClientError('"' + text + "\" is no number from 1 on");
  }
  return number;
}

// The items of a list; commas in parentheses do not separate, as in `pods(size=5,x=1),hop-it`.
std::vector<std::string> split(const std::string& games) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char letter : games) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (letter == ',' && depth == 0) {
      items.emplace_back();
    } else if (letter != ' ') {
      items.back() += letter;
    }
  }
  std::erase(items, "");
  return items;
}

// The terms of a seek that is written GAME [TIME] [rated] [seat=1|2].
v1::Terms terms(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  v1::Terms terms;
  if (!(words >> word)) throw ClientError(std::string("a seek is for a game: expected ") + TERMS);
  terms.set_game(word);
  while (words >> word) {
    if (word == "rated" && !terms.rated()) {
      terms.set_rated(true);
    } else if ((word == "seat=1" || word == "seat=2") && terms.seat() == 0) {
      terms.set_seat(word.back() - '0');
    } else if (word != "rated" && word.find('=') == std::string::npos && terms.time_control().empty()) {
      terms.set_time_control(word);
    } else {
      throw ClientError('"' + word + "\" does not belong into a seek: expected " + TERMS);
    }
  }
  return terms;
}

Tls& tls(Settings& settings) {
  if (!settings.options.tls) settings.options.tls.emplace();
  return *settings.options.tls;
}

const std::vector<Option>& options() {
  using S = Settings;
  using Text = const std::string&;
  static const std::vector<Option> OPTIONS = {
      {"--server", "HOST:PORT", "the arbiter; several with commas (default: $ARBITER_SERVER or 127.0.0.1:7400)",
       [](S& s, Text value) { s.options.server = value; }},
      {"--name", "PLAYER", "the player (default: $ARBITER_NAME or the bot's name)",
       [](S& s, Text value) { s.options.name = value; }},
      {"--token", "TOKEN", "its token (default: $ARBITER_TOKEN or the credentials file)",
       [](S& s, Text value) { s.options.token = value; }},
      {"--invitation", "TEXT", "the invitation to register with, where one is needed",
       [](S& s, Text value) { s.options.invitation = value; }},
      {"--games", "GAMES", "games or variants to play, separated by commas (default: all)",
       [](S& s, Text value) { s.about.games = split(value); }},
      {"--most-matches", "N", "how many matches to play at once (default: no limit)",
       [](S& s, Text value) { s.about.most_matches = count(value); }},
      {"--matches", "N", "stop after so many matches have ended",
       [](S& s, Text value) { s.options.matches = count(value); }},
      {"--seek", "TERMS", "keep a seek open: \"GAME [TIME] [rated] [seat=1|2]\"; may be given again",
       [](S& s, Text value) { s.about.seeks.push_back(terms(value)); }},
      {"--accept-seeks", "", "accept open seeks of others", [](S& s, Text) { s.about.accept_seeks = true; }},
      {"--enter-tournaments", "", "enter every tournament that suits",
       [](S& s, Text) { s.about.enter_tournaments = true; }},
      {"--tls", "", "speak TLS, and trust the system's certificates", [](S& s, Text) { tls(s); }},
      {"--root-certificate", "FILE", "speak TLS, and trust this certificate (PEM)",
       [](S& s, Text value) { tls(s).root_certificate = value; }},
      {"--client-certificate", "FILE", "the bot's own certificate (PEM), with --client-key",
       [](S& s, Text value) { tls(s).client_certificate = value; }},
      {"--client-key", "FILE", "the key of the bot's own certificate (PEM)",
       [](S& s, Text value) { tls(s).client_key = value; }},
      {"--verbose", "", "say more on standard error", [](S&, Text) { set_log(standard_error_log(Level::debug)); }},
      {"--quiet", "", "say only what is wrong on standard error",
       [](S&, Text) { set_log(standard_error_log(Level::warning)); }},
      {"--help", "", "show this and exit", [](S& s, Text) { s.help = true; }},
  };
  return OPTIONS;
}

void print_help(const std::string& program, const std::string& about, const std::string& words) {
  std::cout << "usage: " << program << " [OPTIONS]" << (words.empty() ? "" : " ") << words << "\n\n" << about << "\n\n";
  for (const Option& option : options()) {
    const std::string left = std::string("  ") + option.name + (*option.hint == '\0' ? "" : " ") + option.hint;
    std::cout << std::left << std::setw(HELP_COLUMN) << left << ' ' << option.help << '\n';
  }
}

// Reads the option at `i`, and moves on to its value if that is the next argument.
void read_option(const std::vector<std::string>& arguments, std::size_t& i, Settings& settings) {
  const std::string& argument = arguments[i];
  const std::size_t equals = std::min(argument.find('='), argument.size());
  const std::string name = argument.substr(0, equals);
  const auto option =
      std::find_if(options().begin(), options().end(), [&](const Option& known) { return name == known.name; });
  if (option == options().end()) throw ClientError("there is no option " + name + ": --help lists them");
  std::string value;
  if (*option->hint != '\0') {
    if (equals == argument.size() && i + 1 == arguments.size()) throw ClientError(name + " needs a value");
    value = equals < argument.size() ? argument.substr(equals + 1) : arguments[++i];
  } else if (equals < argument.size()) {
    throw ClientError(name + " takes no value");
  }
  try {
    option->set(settings, value);
  } catch (const ClientError& error) {
    throw ClientError(name + ": " + error.what());
  }
}

Settings read(const std::vector<std::string>& arguments, const std::string& words) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--")) {
      read_option(arguments, i, settings);
    } else if (words.empty()) {
      throw ClientError('"' + arguments[i] + "\" is no option: --help lists them");
    } else {
      settings.words.push_back(arguments[i]);
    }
  }
  return settings;
}

void adapt(Bot& bot, const About& about) {
  if (!about.games.empty()) bot.games = about.games;
  if (about.most_matches) bot.most_matches = *about.most_matches;
  if (!about.seeks.empty()) bot.seeks = about.seeks;
  bot.accept_seeks |= about.accept_seeks;
  bot.enter_tournaments |= about.enter_tournaments;
}

}  // namespace

ClientOptions CommandLine::client_options() const {
  ClientOptions client;
  client.server = options.server;
  client.token = options.token;
  client.name = options.name;
  client.tls = options.tls;
  return client;
}

int run_command(int argc, char** argv, const std::string& about, Bot& bot) {
  return run_command(argc, argv, about, "", [&](const CommandLine& line) {
    line.adapt(bot);
    run(bot, line.options);
  });
}

int run_command(int argc, char** argv, const std::string& about, const std::string& words,
                const std::function<void(const CommandLine&)>& work) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "bot";
  try {
    const Settings settings = read({argv + std::min(argc, 1), argv + argc}, words);
    if (settings.help) {
      print_help(program, about, words);
    } else {
      work({settings.options, settings.words, [&](Bot& bot) { adapt(bot, settings.about); }});
    }
    return 0;
  } catch (const ClientError& error) {
    std::cerr << program << ": " << plain_lines(error.what()) << std::endl;
    return 1;
  }
}

}  // namespace arbiter
