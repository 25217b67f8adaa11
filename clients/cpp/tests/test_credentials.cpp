// Credentials: where a token comes from, and the file that keeps it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "bots.hpp"
#include "peer.hpp"

namespace arbiter::testing {
namespace {

namespace fs = std::filesystem;

// An environment variable, set for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name); before != nullptr) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class Credentials : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove(credentials::path()); }

  static void write(const std::string& content) { std::ofstream(credentials::path(), std::ios::binary) << content; }

  // Plays until the stream is open, and returns the token that it was opened with.
  static std::string first_token(Peer& peer, const std::string& name) {
    FixedBot bot;
    PlayOptions options;
    options.server = peer.address;
    options.name = name;
    Playing playing(bot, options);
    return peer.stream()->authorization;
  }
};

TEST_F(Credentials, AreNotReadWithATokenThatIsGiven) {
  write("{");
  const Variable given("ARBITER_TOKEN", "secret");
  Peer peer;
  EXPECT_EQ(first_token(peer, "alice"), "Bearer secret");
}

TEST_F(Credentials, AreTheSameAtAllAddressesOfAnArbiter) {
  credentials::save("a:1,b:2", "alice", "secret");
  for (const char* server : {"a:1", "b:2", "c:3,b:2"})
    EXPECT_EQ(credentials::find(server, "alice"), "secret") << server;
  EXPECT_TRUE(credentials::forget("b:2,a:1", "alice"));
  EXPECT_FALSE(credentials::find("a:1,b:2", "alice"));
}

TEST_F(Credentials, AreKeptForTheirOwnerAlone) {
  credentials::save("127.0.0.1:7400", "alice", "se\"cr\\et\n");
  credentials::save("127.0.0.1:7400", "bob.2", "other");
  credentials::save("there:1", "alice", "third");
  struct stat about {};
  ASSERT_EQ(::stat(credentials::path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_EQ(credentials::find("127.0.0.1:7400", "alice"), "se\"cr\\et\n");
  EXPECT_EQ(credentials::find("127.0.0.1:7400", "bob.2"), "other");
  EXPECT_EQ(credentials::find("there:1", "bob.2"), std::nullopt);
  EXPECT_TRUE(credentials::forget("127.0.0.1:7400", "alice"));
  EXPECT_FALSE(credentials::forget("127.0.0.1:7400", "alice"));
  const credentials::Entries left = {{"127.0.0.1:7400", {{"bob.2", "other"}}}, {"there:1", {{"alice", "third"}}}};
  EXPECT_EQ(credentials::entries(), left);
}

TEST_F(Credentials, ThatAreSavedAtOnceAreAllKept) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([i] { credentials::save("here:1", "bot-" + std::to_string(i), std::to_string(i)); });
    }
  }
  EXPECT_EQ(credentials::entries()["here:1"].size(), 20U);
}

TEST_F(Credentials, OfAnEarlierVersionAreReadAndRewritten) {
  const Variable none("ARBITER_CREDENTIALS", "");
  const fs::path folder = std::getenv("ARBITER_TEST_FOLDER");
  const Variable config("XDG_CONFIG_HOME", (folder / "earlier").string());
  const fs::path earlier = folder / "earlier/arbiter/credentials.toml";
  fs::create_directories(earlier.parent_path());
  std::ofstream(earlier) << "[\"there:1\"]\nalice = \"kept\"\n";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(credentials::find("there:1", "alice"), "kept");
    std::ifstream in(credentials::path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(text, "{\n \"there:1\": {\n  \"alice\": \"kept\"\n }\n}\n");
    EXPECT_FALSE(fs::exists(earlier));
  }
}

TEST_F(Credentials, ABrokenFileIsNamed) {
  for (const char* content :
       {"[", "alice = 1", "[here]\nalice = 1", "\xff", "[a]\nb = \"c", "[a]\nb = \"\\x\"", "{\"a\": {\"b\": 1}}",
        "[a]\nb = \"\\ud800\"", "{", "[a]\nb = \"c\" d", "[a.b]\nc = \"d\""}) {
    write(content);
    try {
      credentials::entries();
      FAIL() << content;
    } catch (const CredentialsError& error) {
      EXPECT_NE(std::string(error.what()).find(credentials::path().string()), std::string::npos);
    }
  }
}

TEST_F(Credentials, TheFileFollowsTheEnvironment) {
  const Variable none("ARBITER_CREDENTIALS", "");
  const fs::path folder = std::getenv("ARBITER_TEST_FOLDER");
  const Variable home("HOME", folder.string());
  EXPECT_EQ(credentials::path(), folder / ".config/arbiter/credentials.json");
  const Variable config("XDG_CONFIG_HOME", (folder / "config").string());
  EXPECT_EQ(credentials::path(), folder / "config/arbiter/credentials.json");
  credentials::save("here:1", "alice", "kept");
  EXPECT_EQ(credentials::find("here:1", "alice"), "kept");
}

TEST_F(Credentials, TheArgumentGoesBeforeTheEnvironmentBeforeTheFile) {
  EXPECT_EQ(credentials::token_for("here:1", "alice"), "");
  credentials::save("here:1", "alice", "kept");
  EXPECT_EQ(credentials::token_for("here:1", "alice"), "kept");
  const Variable token("ARBITER_TOKEN", "from environment");
  EXPECT_EQ(credentials::token_for("here:1", "alice"), "from environment");
  EXPECT_EQ(credentials::token_for("here:1", "alice", "given"), "given");
}

TEST_F(Credentials, AFolderThatCanNotBeWrittenIsNamed) {
  const Variable elsewhere("ARBITER_CREDENTIALS", "/dev/null/credentials.json");
  EXPECT_THROW(credentials::save("here:1", "alice", "token"), CredentialsError);
}

TEST_F(Credentials, AFirstBotIsRegisteredAndKnownTheNextTime) {
  Peer peer;
  EXPECT_EQ(first_token(peer, "alice"), "Bearer token-1");
  EXPECT_EQ(credentials::find(peer.address, "alice"), "token-1");
  EXPECT_EQ(first_token(peer, "alice"), "Bearer token-1");
  EXPECT_EQ(first_token(peer, ""), "Bearer token-2");  // the bot's own name
  EXPECT_EQ(peer.tokens, (std::map<std::string, std::string>{{"token-1", "alice"}, {"token-2", "fixed"}}));
  const Variable name("ARBITER_NAME", "alice");
  EXPECT_EQ(first_token(peer, ""), "Bearer token-1");
}

TEST_F(Credentials, AServerThatBeganANewLifeGetsToKnowTheBotAgain) {
  Peer peer;
  credentials::save(peer.address, "alice", "of-the-last-life");
  EXPECT_EQ(first_token(peer, "alice"), "Bearer token-1");
  EXPECT_EQ(credentials::find(peer.address, "alice"), "token-1");
}

TEST_F(Credentials, ANameThatIsTakenAsksForItsToken) {
  Peer peer;
  peer.tokens["somebodys"] = "alice";
  FixedBot bot;
  PlayOptions options;
  options.server = peer.address;
  options.name = "alice";
  try {
    play(bot, options);
    FAIL() << "it played";
  } catch (const ArbiterError& error) {
    EXPECT_EQ(error.reason(), Reason::PLAYER_EXISTS);
    EXPECT_EQ(std::string(error.what()).find("there is a player alice already: give its token"), 0U);
  }
}

TEST_F(Credentials, NobodyCanPlayWithoutAName) {
  Peer peer;
  FixedBot bot;
  bot.name = "";
  PlayOptions options;
  options.server = peer.address;
  EXPECT_THROW(play(bot, options), CredentialsError);
}

TEST_F(Credentials, ATokenThatCanNotBeSentIsNone) {
  ClientOptions options;
  options.token = "two words";
  EXPECT_THROW(Client{options}, CredentialsError);
}

}  // namespace
}  // namespace arbiter::testing
