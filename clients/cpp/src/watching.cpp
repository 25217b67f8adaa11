#include "arbiter/watching.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "arbiter/backoff.hpp"
#include "arbiter/channel.hpp"
#include "arbiter/log.hpp"
#include "refusals.hpp"

namespace arbiter {

// A stream, and what of it has been read but not asked for yet.
struct Events::State {
  State(Connection& used, v1::ObserveRequest first)
      : connection(used), request(std::move(first)), give_up(MonotonicClock::now() + used.patience) {}

  // One call of Observe.
  struct Stream {
    Stream(Connection& connection, const v1::ObserveRequest& request)
        : call(connection), reader(connection.matches->Observe(&call.context, request)) {}
    Call call;
    std::unique_ptr<grpc::ClientReader<v1::ObserveResponse>> reader;
  };

  // Reads on. Returns false at the end of the stream.
  bool read() {
    Stream& stream = open();
    v1::ObserveResponse response;
    if (stream.reader->Read(&response)) {
      met = true;
      backoff.reset();
      for (const v1::ObserveItem& item : response.items()) take(item);
      return true;
    }
    const grpc::Status status = stream.reader->Finish();
    {
      const std::lock_guard lock(mutex);
      current.reset();
      if (stopped) return false;
    }
    if (status.ok()) return false;
    connection.expect_open();
    recover(status);
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

  // Waits before the next try. The first connection is given `patience`; one that is lost is tried until it is back.
  void recover(const grpc::Status& status) {
    std::chrono::milliseconds asked{};
    try {
      std::rethrow_exception(from_status(status, connection.address));
    } catch (const ArbiterError& error) {
      if (!error.temporary() && error.reason() != Reason::READER_TOO_SLOW) throw;
      asked = error.retry_after();
      wait(asked, error);
    } catch (const ConnectionFailed& error) {
      wait(asked, error);
    }
  }

  void wait(std::chrono::milliseconds asked, const ClientError& error) {
    const std::chrono::milliseconds length = backoff.next(asked);
    if (!met && MonotonicClock::now() + length > give_up) throw;
    log(Level::warning, std::string("watching stopped, trying again: ") + error.what());
    connection.pause(length);
  }

  Connection& connection;
  v1::ObserveRequest request;
  const MonotonicClock::time_point give_up;
  Backoff backoff;
  bool met = false;
  std::deque<Event> ready;
  std::mutex mutex;  // guards what follows
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
