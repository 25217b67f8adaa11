#include "arbiter/observing.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "arbiter/channel.hpp"
#include "arbiter/log.hpp"
#include "refusals.hpp"

namespace arbiter {

// A stream, and what of it has been read but not asked for yet.
struct Events::State {
  State(Connection& used, v1::ObserveRequest first)
      : connection(used),
        request(std::move(first)),
        tries(used.addresses),
        give_up(MonotonicClock::now() + used.patience) {}

  // One call of Observe.
  struct Stream {
    Stream(Connection& connection, const v1::ObserveRequest& request)
        : place(connection.addresses.place()),
          greetings(connection.greetings()),
          call(connection),
          reader(connection.matches->Observe(&call.context, request)) {}
    std::size_t place;  // of its address
    int greetings;      // before it
    Call call;
    std::unique_ptr<grpc::ClientReader<v1::ObserveResponse>> reader;
  };

  // Reads on. Returns false at the end of the stream.
  bool read() {
    Stream& stream = open();
    v1::ObserveResponse response;
    if (stream.reader->Read(&response)) {
      met = true;
      tries.reset();
      for (const v1::ObserveItem& item : response.items()) take(item);
      return true;
    }
    const grpc::Status status = stream.reader->Finish();
    const std::size_t place = stream.place;
    const int greetings = stream.greetings;
    {
      const std::lock_guard lock(mutex);
      current.reset();
      if (stopped) return false;
    }
    if (status.ok()) return false;
    connection.expect_open();
    recover(place, greetings, status);
    return true;
  }

  Stream& open() {
    const std::lock_guard lock(mutex);
    if (!current) current = std::make_unique<Stream>(connection, request);
    if (stopped) current->call.context.TryCancel();
    return *current;
  }

  // Takes an item, and moves the request on so that it asks for what comes after it.
  void take(const v1::ObserveItem& item) {
    if (request.has_all() && !item.token().empty()) request.mutable_all()->set_after_token(item.token());
    if (!item.has_event()) return;
    if (request.has_match()) {
      if (item.event().revision() <= request.match().after_revision()) return;
      request.mutable_match()->set_after_revision(item.event().revision());
    }
    ready.push_back({item.event(), item.token()});
  }

  // Waits before the next try. The first connection is given `patience`; one that is lost is tried until it is
  // back, at any address.
  void recover(std::size_t place, int greetings, const grpc::Status& status) {
    try {
      std::rethrow_exception(from_status(status, connection.addresses.listed[place]));
    } catch (const ArbiterError& error) {
      if (!error.temporary() && error.reason() != Reason::READER_TOO_SLOW) throw;
      wait(place, greetings, error);
    } catch (const ConnectionFailed& error) {
      wait(place, greetings, error);
    }
  }

  void wait(std::size_t place, int greetings, const ClientError& error) {
    const std::chrono::milliseconds length = tries.failed(place, error);
    if (!met && length.count() > 0 && MonotonicClock::now() + length > give_up) {
      tries.name_all();
      throw;
    }
    log(Level::warning, std::string("watching stopped, trying again: ") + error.what());
    connection.rest(length, greetings, std::current_exception());
  }

  Connection& connection;
  v1::ObserveRequest request;
  Tries tries;
  const MonotonicClock::time_point give_up;
  bool met = false;
  std::deque<Event> ready;
  std::mutex mutex;  // guards the following members
  std::unique_ptr<Stream> current;
  bool stopped = false;
};

Events::Events(Connection& connection, v1::ObserveRequest request)
    : state_(std::make_unique<State>(connection, std::move(request))) {
}

Events::Events(Events&&) noexcept = default;

Events::~Events() {
  if (state_ && state_->current) {
    state_->current->call.context.TryCancel();
    state_->current->reader->Finish();
  }
}

std::optional<Event> Events::next() {
  while (state_->ready.empty()) {
    if (!state_->read()) return std::nullopt;
  }
  Event event = std::move(state_->ready.front());
  state_->ready.pop_front();
  return event;
}

void Events::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
  if (state_->current) state_->current->call.context.TryCancel();
}

}  // namespace arbiter
