// What all clients read alike: the files of clients/vectors.

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "arbiter/arbiter.hpp"
#include "entries.hpp"
#include "folders.hpp"
#include "refusals.hpp"
#include "time_control.hpp"

namespace arbiter::testing {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Message;
using google::protobuf::Struct;
using google::protobuf::Value;

Value read_vectors(const std::string& name) {
  std::ifstream in(client_folder() / "../vectors" / name);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Value value;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &value);
  EXPECT_TRUE(status.ok()) << name << ": " << status.ToString();
  return value;
}

std::string base64(const std::string& text) {
  google::protobuf::util::JsonParseOptions options;
  v1::PublicKey holder;  // the JSON of a field of bytes is base64
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage("{\"key\": \"" + text + "\"}", &holder, options).ok());
  return holder.key();
}

const Value& field(const Value& value, const std::string& name) {
  static const Value NOTHING;
  const auto found = value.struct_value().fields().find(name);
  return found == value.struct_value().fields().end() ? NOTHING : found->second;
}

const std::string& text(const Value& value, const std::string& name) {
  return field(value, name).string_value();
}

// The code of a name, as gRPC has them in the order of their numbers.
grpc::StatusCode code_number(const std::string& name) {
  static const std::array NAMES = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto* const found = std::find(NAMES.begin(), NAMES.end(), name);
  EXPECT_NE(found, NAMES.end()) << name;
  return static_cast<grpc::StatusCode>(found - NAMES.begin());
}

void expect_error(const ClientError& error, const Value& expected, const std::string& name) {
  const auto* const refusal = dynamic_cast<const ArbiterError*>(&error);
  ASSERT_EQ(text(expected, "error"), refusal == nullptr ? "ConnectionFailed" : "ArbiterError") << name;
  if (refusal == nullptr) return;
  EXPECT_EQ(to_string(refusal->reason()), text(expected, "reason")) << name;
  EXPECT_EQ(refusal->code(), code_number(text(expected, "code"))) << name;
  if (field(expected, "message").has_string_value()) {
    EXPECT_EQ(refusal->message(), text(expected, "message")) << name;
  }
  std::map<std::string, std::string> facts;
  for (const auto& [key, fact] : field(expected, "facts").struct_value().fields()) facts[key] = fact.string_value();
  EXPECT_EQ(refusal->facts(), facts) << name;
  EXPECT_EQ(refusal->temporary(), field(expected, "temporary").bool_value()) << name;
  EXPECT_EQ(static_cast<double>(refusal->retry_after().count()), field(expected, "retry_after_ms").number_value())
      << name;
}

TEST(Vectors, Refusals) {
  int cases = 0;
  const Value file = read_vectors("refusals.json");
  for (const Value& one : field(file, "messages").list_value().values()) {
    v1::Refusal refusal;
    ASSERT_TRUE(refusal.ParseFromString(base64(text(one, "refusal"))));
    expect_error(from_refusal(refusal), field(one, "expected"), text(one, "name"));
    ++cases;
  }
  for (const Value& one : field(file, "statuses").list_value().values()) {
    const grpc::Status status(code_number(text(one, "code")), text(one, "status_message"),
                              base64(text(one, "details")));
    try {
      std::rethrow_exception(from_status(status, "here:1"));
    } catch (const ClientError& error) {
      expect_error(error, field(one, "expected"), text(one, "name"));
    }
    ++cases;
  }
  EXPECT_GT(cases, 30);
}

TEST(Vectors, Lines) {
  int cases = 0;
  const Value file = read_vectors("lines.json");
  for (const Value& one : file.list_value().values()) {
    std::vector<std::string> known;
    for (const Value& move : field(one, "known").list_value().values()) known.push_back(move.string_value());
    std::vector<v1::RecentMove> last_moves;
    for (const Value& move : field(one, "last_moves").list_value().values()) {
      v1::RecentMove& recent = last_moves.emplace_back();
      recent.set_ply(static_cast<int>(field(move, "ply").number_value()));
      recent.set_move(text(move, "move"));
    }
    std::vector<std::string> moves;
    for (const Value& move : field(one, "moves").list_value().values()) moves.push_back(move.string_value());
    const auto found = joined(known, last_moves, static_cast<int>(field(one, "ply").number_value()));
    EXPECT_EQ(!found, field(one, "gap").bool_value()) << text(one, "name");
    if (found) {
      EXPECT_EQ(*found, moves) << text(one, "name");
    }
    ++cases;
  }
  EXPECT_GT(cases, 5);
}

// ---- items: compared field by field, by their descriptors ----

void expect_message(const Message& message, const Value& expected, const std::string& where);

std::string without_prefix(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* const value = type.FindValueByNumber(number);
  const std::string& zero = type.FindValueByNumber(0)->name();  // PREFIX_UNSPECIFIED
  const std::string prefix = zero.substr(0, zero.size() - std::string("UNSPECIFIED").size());
  return (value == nullptr ? zero : value->name()).substr(prefix.size());
}

// A field's value, or that of an element of it.
void expect_field(const Message& message, const google::protobuf::FieldDescriptor& about, int index,
                  const Value& expected, const std::string& where) {
  using Type = google::protobuf::FieldDescriptor::CppType;
  const auto& reflection = *message.GetReflection();
  const bool element = index >= 0;
  const auto* const field = &about;
  double number = 0;
  switch (about.cpp_type()) {
    case Type::CPPTYPE_MESSAGE:
      expect_message(
          element ? reflection.GetRepeatedMessage(message, field, index) : reflection.GetMessage(message, field),
          expected, where);
      return;
    case Type::CPPTYPE_STRING:
      EXPECT_EQ(element ? reflection.GetRepeatedString(message, field, index) : reflection.GetString(message, field),
                expected.string_value())
          << where;
      return;
    case Type::CPPTYPE_BOOL:
      EXPECT_EQ(reflection.GetBool(message, field), expected.bool_value()) << where;
      return;
    case Type::CPPTYPE_ENUM:
      EXPECT_EQ(without_prefix(*about.enum_type(), reflection.GetEnumValue(message, field)), expected.string_value())
          << where;
      return;
    case Type::CPPTYPE_INT32:
      number = element ? reflection.GetRepeatedInt32(message, field, index) : reflection.GetInt32(message, field);
      break;
    case Type::CPPTYPE_INT64:
      number = static_cast<double>(reflection.GetInt64(message, field));
      break;
    case Type::CPPTYPE_UINT64:
      number = static_cast<double>(reflection.GetUInt64(message, field));
      break;
    default:
      FAIL() << where << ": no comparison for " << about.cpp_type_name();
  }
  EXPECT_EQ(number, expected.number_value()) << where;
}

void expect_message(const Message& message, const Value& expected, const std::string& where) {
  const auto& reflection = *message.GetReflection();
  for (const auto& [name, value] : expected.struct_value().fields()) {
    if (name == "kind" && where.find('.') == std::string::npos) continue;
    const auto* const about = message.GetDescriptor()->FindFieldByName(name);
    if (about == nullptr) continue;  // newer than this client
    const std::string place = where + '.' + name;
    if (value.kind_case() == Value::kNullValue) {
      EXPECT_FALSE(reflection.HasField(message, about)) << place;
    } else if (about->is_map()) {
      EXPECT_EQ(reflection.FieldSize(message, about), value.struct_value().fields_size()) << place;
    } else if (about->is_repeated()) {
      ASSERT_EQ(reflection.FieldSize(message, about), value.list_value().values_size()) << place;
      for (int i = 0; i < value.list_value().values_size(); ++i) {
        expect_field(message, *about, i, value.list_value().values(i), place);
      }
    } else {
      expect_field(message, *about, -1, value, place);
    }
  }
}

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> found;
  for (const Value& each : list.list_value().values()) found.push_back(each.string_value());
  return found;
}

double number(const Value& value, const std::string& name) {
  return field(value, name).number_value();
}

int count(const Value& value, const std::string& name) {
  return static_cast<int>(number(value, name));
}

TEST(Vectors, TimeControls) {
  const Value file = read_vectors("time_controls.json");
  for (const Value& one : file.list_value().values()) {
    if (field(one, "canonical").has_string_value()) {
      EXPECT_EQ(canonical_time_control(text(one, "text")), text(one, "canonical")) << text(one, "name");
    } else {
      EXPECT_THROW(canonical_time_control(text(one, "text")), std::invalid_argument) << text(one, "name");
    }
  }
}

TEST(Vectors, TimeOdds) {
  const Value file = read_vectors("time_odds.json");
  for (const Value& one : file.list_value().values()) {
    for (int seat = 1; seat <= 2; ++seat) {
      v1::Match match;
      match.set_time_control(text(one, "time_control"));
      for (const std::string& each : texts(field(one, "time_controls"))) match.add_time_controls(each);
      const LiveMatch::Terms terms = terms_of(match, seat);
      EXPECT_EQ(terms.time_control, texts(field(one, "own")).at(static_cast<std::size_t>(seat - 1)));
      EXPECT_EQ(terms.match_time_control, text(one, "time_control"));
    }
  }
}

TEST(Vectors, ThinkTimes) {
  const Value file = read_vectors("think_times.json");
  for (const Value& one : file.list_value().values()) {
    const double found = think_time_ms(text(one, "time_control"), number(one, "left_ms"), number(one, "main_ms"),
                                       count(one, "moves_left"), count(one, "expected_plies"), count(one, "matches"));
    EXPECT_NEAR(found, number(one, "think_ms"), 0.001) << text(one, "name");
  }
}

TEST(Vectors, PlainTexts) {
  const Value file = read_vectors("plain_texts.json");
  for (const Value& one : file.list_value().values()) {
    EXPECT_EQ(plain_text(text(one, "text")), text(one, "plain")) << text(one, "name");
    const std::string lines = plain_lines(text(one, "text"));
    for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1)) {
      EXPECT_EQ(lines.substr(end + 1, 4), "    ") << text(one, "name");
    }
  }
  EXPECT_EQ(plain_text("a\xff\xc3"), "a\\xff\\xc3");
}

TEST(Vectors, OpeningBooks) {
  const Value file = read_vectors("opening_books.json");
  for (const Value& one : file.list_value().values()) {
    try {
      const auto found = OpeningBook::parse(text(one, "text")).moves(text(one, "game"), texts(field(one, "played")));
      ASSERT_TRUE(field(one, "moves").has_list_value()) << text(one, "name");
      EXPECT_EQ(found, texts(field(one, "moves"))) << text(one, "name");
    } catch (const ArbiterError& error) {
      EXPECT_FALSE(field(one, "moves").has_list_value()) << text(one, "name");
      EXPECT_EQ(error.reason(), Reason::PARAMETER_INVALID);
      EXPECT_EQ(error.facts().at("where"), "opening book, line " + std::to_string(count(one, "line")));
    }
  }
}

std::optional<double> optional_number(const Value& value) {
  return value.has_number_value() ? std::optional(value.number_value()) : std::nullopt;
}

TEST(Vectors, Filters) {
  struct Idle : Bot {
    Choice choose(const Turn& /*turn*/) override { return Resign(); }
  };
  const Value file = read_vectors("filters.json");
  for (const Value& one : file.list_value().values()) {
    const Value& settings = field(one, "settings");
    const Value& said = field(one, "challenge");
    Idle bot;
    bot.games = texts(field(settings, "games"));
    bot.time_controls = texts(field(settings, "time_controls"));
    bot.opponents = texts(field(settings, "opponents"));
    if (field(settings, "rated").has_bool_value()) bot.rated = field(settings, "rated").bool_value();
    bot.seat = count(settings, "seat");
    bot.least_rating = optional_number(field(settings, "least_rating"));
    bot.most_rating = optional_number(field(settings, "most_rating"));
    v1::Challenge challenge;
    challenge.set_challenger(text(said, "challenger"));
    challenge.mutable_terms()->set_game(text(said, "game"));
    challenge.mutable_terms()->set_time_control(text(said, "time_control"));
    challenge.mutable_terms()->set_rated(field(said, "rated").bool_value());
    challenge.mutable_terms()->set_seat(count(said, "seat"));
    EXPECT_EQ(bot.objection(challenge, optional_number(field(said, "rating"))), text(one, "objection"))
        << text(one, "name");
  }
}

TEST(Vectors, BoardArrays) {
  const Value file = read_vectors("board_arrays.json");
  for (const Value& one : file.list_value().values()) {
    v1::Board board;
    for (const Value& line : field(one, "lines").list_value().values()) {
      v1::CellLine& made = *board.add_lines();
      for (const std::string& cell : texts(line)) made.add_cells(cell);
    }
    std::vector<v1::CellContent> contents;
    for (const Value& each : field(one, "contents").list_value().values()) {
      v1::CellContent& content = contents.emplace_back();
      content.set_cell(text(each, "cell"));
      content.set_owner(count(each, "owner"));
      content.set_piece(text(each, "piece"));
    }
    const auto rows = board_array(board, contents);
    const auto& expected = field(one, "array").list_value().values();
    ASSERT_EQ(static_cast<int>(rows.size()), expected.size()) << text(one, "name");
    for (int row = 0; row < expected.size(); ++row) {
      const auto& cells = expected[row].list_value().values();
      const auto& found = rows[static_cast<std::size_t>(row)];
      ASSERT_EQ(static_cast<int>(found.size()), cells.size()) << text(one, "name");
      for (int at = 0; at < cells.size(); ++at) {
        const v1::CellContent* const cell = found[static_cast<std::size_t>(at)];
        const std::string shown = cell == nullptr ? "" : std::to_string(cell->owner()) + cell->piece();
        EXPECT_EQ(shown, cells[at].string_value()) << text(one, "name");
      }
    }
  }
}

TEST(Vectors, Credentials) {
  const Value file = read_vectors("credentials.json");
  for (const Value& one : file.list_value().values()) {
    if (!field(one, "entries").has_struct_value()) {
      EXPECT_THROW(read_entries(text(one, "text")), std::invalid_argument) << text(one, "name");
      continue;
    }
    credentials::Entries expected;
    for (const auto& [server, players] : field(one, "entries").struct_value().fields()) {
      for (const auto& [name, token] : players.struct_value().fields()) expected[server][name] = token.string_value();
    }
    const credentials::Entries found = read_entries(text(one, "text")).entries;
    EXPECT_EQ(found, expected) << text(one, "name");
    EXPECT_EQ(read_entries(write_entries(found)).entries, expected) << text(one, "name");
  }
}

TEST(Vectors, Items) {
  int cases = 0;
  const Value file = read_vectors("items.json");
  for (const Value& one : file.list_value().values()) {
    v1::PlayResponse response;
    ASSERT_TRUE(response.ParseFromString(base64(text(one, "response")))) << text(one, "name");
    std::vector<const v1::PlayItem*> known;
    for (const v1::PlayItem& item : response.items()) {
      if (item.item_case() != v1::PlayItem::ITEM_NOT_SET) known.push_back(&item);
    }
    const ListValue& expected = field(one, "expected").list_value();
    ASSERT_EQ(static_cast<int>(known.size()), expected.values_size()) << text(one, "name");
    for (int i = 0; i < expected.values_size(); ++i) {
      const v1::PlayItem& item = *known[static_cast<std::size_t>(i)];
      const auto* const arm = item.GetDescriptor()->FindFieldByNumber(item.item_case());
      EXPECT_EQ(arm->name(), text(expected.values(i), "kind")) << text(one, "name");
      expect_message(item.GetReflection()->GetMessage(item, arm), expected.values(i), text(one, "name"));
    }
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

}  // namespace
}  // namespace arbiter::testing
