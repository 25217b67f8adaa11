#include "arbiter/addresses.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "environment.hpp"

namespace arbiter {

namespace {

constexpr const char* DEFAULT_SERVER = "127.0.0.1:7400";
constexpr int LARGEST_PORT = 65535;
constexpr std::size_t MOST_PORT_DIGITS = 5;

bool is_port(std::string_view text) {
  const bool digits = !text.empty() && text.size() <= MOST_PORT_DIGITS &&
                      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const int port = digits ? std::stoi(std::string(text)) : 0;
  return port > 0 && port <= LARGEST_PORT;
}

bool is_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || text.find(' ') != std::string_view::npos) return false;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return (bracketed || host.find(':') == std::string_view::npos) && is_port(text.substr(colon + 1));
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = text.find_last_not_of(" \t") + 1;
  return std::string(text.substr(begin, std::max(begin, end) - begin));
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

bool leaves(const ClientError& error) {
  const auto* const refusal = dynamic_cast<const ArbiterError*>(&error);
  if (refusal != nullptr) return refusal->code() == grpc::StatusCode::UNAVAILABLE;
  return dynamic_cast<const ConnectionFailed*>(&error) != nullptr;
}

std::chrono::milliseconds asked_by(const ClientError& error) {
  const auto* const refusal = dynamic_cast<const ArbiterError*>(&error);
  return refusal != nullptr ? refusal->retry_after() : std::chrono::milliseconds(0);
}

// The description of a failure by gRPC or by the arbiter.
std::string why(const ClientError& error) {
  const bool lost = dynamic_cast<const ConnectionFailed*>(&error) != nullptr;
  const bool said = lost && error.status() != nullptr && !error.status()->error_message().empty();
  return said ? error.status()->error_message() : error.what();
}

}  // namespace

std::vector<std::string> server_addresses(const std::string& given) {
  std::string text = given.empty() ? environment("ARBITER_SERVER") : given;
  if (text.empty()) text = DEFAULT_SERVER;
  const std::vector<std::string> parts = parts_of(text);
  std::vector<std::string> found;
  for (std::size_t place = 0; place < parts.size(); ++place) {
    const std::string& address = parts[place];
    if (!is_address(address)) {
      const std::string number = std::to_string(place + 1) + " of " + std::to_string(parts.size());
      throw ConnectionFailed('"' + address + '"' + (parts.size() > 1 ? " (number " + number + ")" : "") +
                             " is no address: write HOST:PORT, such as " + DEFAULT_SERVER +
                             " or [::1]:7400, and commas between several");
    }
    if (std::find(found.begin(), found.end(), address) == found.end()) found.push_back(address);
  }
  return found;
}

std::string Addresses::joined() const {
  std::string all;
  for (const std::string& address : listed) all += (all.empty() ? "" : ",") + address;
  return all;
}

std::chrono::milliseconds Tries::failed(std::size_t place, const ClientError& error) {
  if (!leaves(error)) return backoff_.next(asked_by(error));
  const std::size_t many = addresses_.listed.size();
  if (failed_.size() == many) failed_.clear();
  const auto* const status = error.status();
  failed_[place] = {why(error), asked_by(error), status ? std::make_shared<const grpc::Status>(*status) : nullptr};
  std::size_t steps = 1;
  while (steps < many && failed_.contains((place + steps) % many)) ++steps;
  const bool untried = steps < many;
  if (failed_.contains(addresses_.place_)) addresses_.place_ = (place + (untried ? steps : 1)) % many;
  if (untried) return std::chrono::milliseconds(0);
  const auto least = std::min_element(failed_.begin(), failed_.end(), [](const auto& one, const auto& other) {
    return one.second.asked < other.second.asked;
  });
  return backoff_.next(least->second.asked);
}

void Tries::name_all() const {
  if (failed_.size() < std::max<std::size_t>(2, addresses_.listed.size())) return;
  std::string each;
  for (const auto& [place, failure] : failed_) {
    each += (each.empty() ? "" : ", nor at ") + addresses_.listed[place] + " (" + failure.why + ")";
  }
  ConnectionFailed error("no arbiter answers at " + each +
                         ": is one running there, are hosts and ports right, and does it speak TLS or not as you do?");
  for (const auto& [place, failure] : failed_) {
    if (failure.status) error.set_status(*failure.status);
  }
  throw error;
}

void Tries::reset() {
  failed_.clear();
  backoff_.reset();
}

}  // namespace arbiter
