#include "peer.hpp"

#include <utility>

#include "status_details.pb.h"

namespace arbiter::testing {

v1::Refusal refusal(Reason reason, grpc::StatusCode code, const Facts& facts) {
  v1::Refusal refused;
  refused.set_reason(static_cast<v1::RefusalReason>(reason));
  refused.set_code(code);
  refused.set_message("said " + to_string(reason));
  refused.mutable_facts()->insert(facts.begin(), facts.end());
  return refused;
}

grpc::Status status_of(const v1::Refusal& refused) {
  client::StatusDetails details;
  details.set_code(refused.code());
  details.set_message(refused.message());
  details.add_details()->PackFrom(refused);
  return {static_cast<grpc::StatusCode>(refused.code()), refused.message(), details.SerializeAsString()};
}

v1::PlayItem turn_item(int ply, const std::string& match_id, const std::function<void(v1::Turn&)>& change) {
  v1::PlayItem item;
  v1::Turn& turn = *item.mutable_turn();
  turn.set_match_id(match_id);
  turn.set_game("pods");
  turn.set_seat(1 + ply % 2);
  turn.set_ply(ply);
  turn.set_position("after " + std::to_string(ply));
  turn.set_opponent("bob");
  for (int i = 0; i < ply; ++i) {
    v1::RecentMove& move = *turn.add_last_moves();
    move.set_ply(i);
    move.set_seat(1 + i % 2);
    move.set_move(std::string(1, static_cast<char>('a' + i)));
  }
  if (change) change(turn);
  return item;
}

v1::PlayItem match_item(const std::string& match_id, const std::function<void(v1::Match&)>& change) {
  v1::PlayItem item;
  v1::Match& match = *item.mutable_match();
  match.set_match_id(match_id);
  match.set_game("pods");
  match.add_players(PLAYER);
  match.add_players("bob");
  match.set_phase(v1::PHASE_ACTIVE);
  match.set_time_control("1m+1s");
  if (change) change(match);
  return item;
}

v1::PlayItem ended_item(const std::string& match_id, const std::string& cursor, const std::string& opponent) {
  v1::PlayItem item;
  v1::MatchEnded& ended = *item.mutable_ended();
  ended.set_match_id(match_id);
  ended.set_game("pods");
  ended.set_seat(1);
  ended.set_opponent(opponent);
  ended.set_position("end");
  ended.set_cursor(cursor);
  ended.mutable_result()->set_kind(v1::RESULT_KIND_WIN);
  ended.mutable_result()->set_winner(1);
  ended.mutable_result()->set_reason("territory");
  return item;
}

v1::PlayItem ping_item(std::uint64_t number) {
  v1::PlayItem item;
  item.mutable_ping()->set_number(number);
  return item;
}

// ---- streams ----

void Stream::begin() {
  self_ = shared_from_this();
  StartRead(&request_);
}

void Stream::say(const std::vector<v1::PlayItem>& items) {
  v1::PlayResponse response;
  response.mutable_items()->Assign(items.begin(), items.end());
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(response));
  go_on();
}

v1::PlayAct Stream::read(v1::PlayAct::ActCase kind) {
  const auto act = acts_.take("act " + std::to_string(kind));
  if (!act) throw std::runtime_error("the bot ended the stream instead of saying " + std::to_string(kind));
  if (act->act_case() != kind) throw std::runtime_error("got something else: " + act->ShortDebugString());
  return *act;
}

void Stream::closed() {
  if (const auto act = acts_.take("the end")) throw std::runtime_error("expected the end: " + act->ShortDebugString());
}

v1::ClientHello Stream::meet(int silence_most_ms) {
  v1::ClientHello hello = read(v1::PlayAct::kHello).hello();
  v1::PlayItem item;
  item.mutable_hello()->set_player(PLAYER);
  item.mutable_hello()->set_silence_most_ms(silence_most_ms);
  say({item});
  return hello;
}

void Stream::receipt(const v1::PlayAct& act) {
  v1::PlayItem item;
  v1::MoveAnswer& answer = *item.mutable_answer();
  answer.set_request_id(act.request_id());
  answer.set_match_id(act.match_id());
  answer.mutable_receipt()->set_request_id(act.request_id());
  answer.mutable_receipt()->set_ply(act.move().ply() + 1);
  say({item});
}

void Stream::refuse(const v1::PlayAct& act, Reason reason, grpc::StatusCode code, const Facts& facts) {
  v1::PlayItem item;
  item.mutable_answer()->set_request_id(act.request_id());
  item.mutable_answer()->set_match_id(act.match_id());
  *item.mutable_answer()->mutable_refusal() = refusal(reason, code, facts);
  say({item});
}

void Stream::end(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (status_) return;
  status_ = status;
  go_on();
}

void Stream::OnReadDone(bool ok) {
  if (!ok) {
    acts_.put(std::nullopt);
    end();
    return;
  }
  for (const v1::PlayAct& act : request_.acts()) acts_.put(act);
  StartRead(&request_);
}

void Stream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (!queue_.empty()) queue_.pop_front();
  if (!ok) queue_.clear();
  go_on();
}

void Stream::OnDone() {
  const auto last = std::move(self_);  // it may end with this
}

void Stream::go_on() {
  if (writing_ || finished_) return;
  if (!queue_.empty()) {
    writing_ = true;
    StartWrite(&queue_.front());
  } else if (status_) {
    finished_ = true;
    Finish(*status_);
  }
}

// ---- services ----

struct Services {
  explicit Services(Peer& peer)
      : matches(peer), players(peer), ratings(peer), games(peer), server(peer), tournaments(peer) {}

  struct Matches final : v1::MatchService::Service {
    explicit Matches(Peer& peer) : peer(peer) {}
    Peer& peer;

    grpc::Status GetMatch(grpc::ServerContext* context, const v1::GetMatchRequest* request,
                          v1::GetMatchResponse* response) override {
      peer.note("GetMatch", *context, request->match_id());
      const std::lock_guard lock(peer.mutex_);
      const auto found = peer.matches.find(request->match_id());
      if (found == peer.matches.end()) return status_of(refusal(Reason::MATCH_NOT_FOUND, grpc::StatusCode::NOT_FOUND));
      *response->mutable_match() = found->second;
      return grpc::Status::OK;
    }

    grpc::Status ListMatches(grpc::ServerContext*, const v1::ListMatchesRequest* request,
                             v1::ListMatchesResponse* response) override {
      const std::lock_guard lock(peer.mutex_);
      std::size_t start = request->page_token().empty() ? 0 : std::stoul(request->page_token());
      for (const auto& [id, match] : peer.matches) {
        if (start > 0) {
          --start;
        } else if (response->matches_size() < 2) {
          *response->add_matches() = match;
        }
      }
      const std::size_t next = (request->page_token().empty() ? 0 : std::stoul(request->page_token())) + 2;
      if (next < peer.matches.size()) response->set_next_page_token(std::to_string(next));
      return grpc::Status::OK;
    }

    grpc::Status Observe(grpc::ServerContext*, const v1::ObserveRequest* request,
                         grpc::ServerWriter<v1::ObserveResponse>* writer) override {
      std::pair<std::vector<v1::ObserveItem>, grpc::Status> script;
      {
        const std::lock_guard lock(peer.mutex_);
        peer.observe_requests.push_back(*request);
        if (peer.observed.empty()) return grpc::Status::OK;
        script = std::move(peer.observed.front());
        peer.observed.pop_front();
      }
      for (const v1::ObserveItem& item : script.first) {
        v1::ObserveResponse response;
        *response.add_items() = item;
        writer->Write(response);
      }
      return script.second;
    }
  } matches;

  struct Players final : v1::PlayerService::Service {
    explicit Players(Peer& peer) : peer(peer) {}
    Peer& peer;

    grpc::Status RegisterPlayer(grpc::ServerContext*, const v1::RegisterPlayerRequest* request,
                                v1::RegisterPlayerResponse* response) override {
      const std::lock_guard lock(peer.mutex_);
      for (const auto& [token, player] : peer.tokens) {
        if (player == request->name()) {
          return status_of(refusal(Reason::PLAYER_EXISTS, grpc::StatusCode::ALREADY_EXISTS));
        }
      }
      response->set_token("token-" + std::to_string(++peer.count_));
      peer.tokens[response->token()] = request->name();
      return grpc::Status::OK;
    }

    grpc::Status GetPlayer(grpc::ServerContext* context, const v1::GetPlayerRequest*,
                           v1::GetPlayerResponse* response) override {
      const std::lock_guard lock(peer.mutex_);
      const auto sent = context->client_metadata().find("authorization");
      for (const auto& [token, player] : peer.tokens) {
        if (sent == context->client_metadata().end() || sent->second != "Bearer " + token) continue;
        response->mutable_player()->set_name(player);
        return grpc::Status::OK;
      }
      return status_of(refusal(Reason::TOKEN_INVALID, grpc::StatusCode::UNAUTHENTICATED));
    }

    grpc::Status AcceptChallenge(grpc::ServerContext* context, const v1::AcceptChallengeRequest* request,
                                 v1::AcceptChallengeResponse* response) override {
      peer.note("AcceptChallenge", *context, request->challenge_id());
      response->mutable_match()->set_match_id("match of " + request->challenge_id());
      return grpc::Status::OK;
    }

    grpc::Status DeclineChallenge(grpc::ServerContext* context, const v1::DeclineChallengeRequest* request,
                                  v1::DeclineChallengeResponse*) override {
      peer.note("DeclineChallenge", *context, request->challenge_id(), request->reason());
      peer.withholds.wait(true);
      return peer.failure("DeclineChallenge");
    }

    grpc::Status CreateSeek(grpc::ServerContext* context, const v1::CreateSeekRequest* request,
                            v1::CreateSeekResponse* response) override {
      peer.note("CreateSeek", *context, request->terms().game(), request->terms().time_control());
      if (request->terms().game() == "chess") {
        return status_of(refusal(Reason::GAME_UNKNOWN, grpc::StatusCode::INVALID_ARGUMENT));
      }
      const std::lock_guard lock(peer.mutex_);
      response->mutable_seek()->set_challenge_id("seek-" + std::to_string(++peer.count_));
      return grpc::Status::OK;
    }

    grpc::Status ListChallenges(grpc::ServerContext*, const v1::ListChallengesRequest*,
                                v1::ListChallengesResponse* response) override {
      {
        const std::lock_guard lock(peer.mutex_);
        response->mutable_challenges()->Assign(peer.open.begin(), peer.open.end());
      }
      return peer.failure("ListChallenges");
    }
  } players;

  struct Ratings final : v1::RatingService::Service {
    explicit Ratings(Peer& peer) : peer(peer) {}
    Peer& peer;

    // For `nobody` there is no answer.
    grpc::Status GetRating(grpc::ServerContext* context, const v1::GetRatingRequest* request,
                           v1::GetRatingResponse* response) override {
      peer.note("GetRating", *context, request->player(), request->game());
      while (request->player() == "nobody" && !context->IsCancelled()) std::this_thread::yield();
      if (request->player() == "cleo") response->add_versions()->mutable_rating()->set_value(1600);
      return grpc::Status::OK;
    }
  } ratings;

  struct Games final : v1::GameService::Service {
    explicit Games(Peer& peer) : peer(peer) {}
    Peer& peer;

    grpc::Status LegalMoves(grpc::ServerContext* context, const v1::LegalMovesRequest* request,
                            grpc::ServerWriter<v1::LegalMovesResponse>* writer) override {
      peer.note("LegalMoves", *context, request->match().match_id(), std::to_string(request->match().ply()));
      for (const std::string& move : peer.legal) {
        v1::LegalMovesResponse response;
        response.add_moves()->set_text(move);
        writer->Write(response);
      }
      return grpc::Status::OK;
    }
  } games;

  struct Facts final : v1::ServerService::Service {
    explicit Facts(Peer& peer) : peer(peer) {}
    Peer& peer;

    grpc::Status GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                               v1::GetServerInfoResponse* response) override {
      response->set_software("arbiter");
      return peer.failure("GetServerInfo");
    }
  } server;

  struct Tournaments final : v1::TournamentService::Service {
    explicit Tournaments(Peer& peer) : peer(peer) {}
    Peer& peer;

    grpc::Status EnterTournament(grpc::ServerContext* context, const v1::EnterTournamentRequest* request,
                                 v1::EnterTournamentResponse*) override {
      peer.note("EnterTournament", *context, request->tournament_id(), request->request_id());
      return peer.failure("EnterTournament");
    }
  } tournaments;
};

Peer::Peer(std::shared_ptr<grpc::ServerCredentials> security) : services_(std::make_unique<Services>(*this)) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", std::move(security), &port);
  builder.RegisterService(this);
  builder.RegisterService(&services_->matches);
  builder.RegisterService(&services_->players);
  builder.RegisterService(&services_->games);
  builder.RegisterService(&services_->ratings);
  builder.RegisterService(&services_->server);
  builder.RegisterService(&services_->tournaments);
  server_ = builder.BuildAndStart();
  if (!server_ || port == 0) throw std::runtime_error("the peer can't listen");
  address = "127.0.0.1:" + std::to_string(port);
}

Peer::~Peer() {
  release();
  server_->Shutdown(std::chrono::system_clock::now());
}

void Peer::release() {
  withholds = false;
  withholds.notify_all();
}

grpc::ServerBidiReactor<v1::PlayRequest, v1::PlayResponse>* Peer::Play(grpc::CallbackServerContext* context) {
  const auto sent = context->client_metadata().find("authorization");
  const std::string authorization =
      sent == context->client_metadata().end() ? "" : std::string(sent->second.data(), sent->second.size());
  const auto stream = std::make_shared<Stream>(authorization);
  stream->begin();
  streams_.put(stream);
  return stream.get();
}

void Peer::note(const std::string& method, const grpc::ServerContextBase& context, std::string what, std::string more) {
  const auto sent = context.client_metadata().find("authorization");
  const std::string authorization =
      sent == context.client_metadata().end() ? "" : std::string(sent->second.data(), sent->second.size());
  asked_.put({method, authorization, std::move(what), std::move(more)});
}

grpc::Status Peer::failure(const std::string& method) {
  const std::lock_guard lock(mutex_);
  std::deque<grpc::Status>& left = failures[method];
  if (left.empty()) return grpc::Status::OK;
  const grpc::Status status = left.front();
  left.pop_front();
  return status;
}

// ---- playing ----

namespace {
PlayOptions options_for(const Peer& peer, const std::function<void(PlayOptions&)>& change) {
  PlayOptions options;
  options.server = peer.address;
  options.token = "secret";
  if (change) change(options);
  return options;
}
}  // namespace

Playing::Playing(Bot& bot, const Peer& peer, const std::function<void(PlayOptions&)>& change)
    : Playing(bot, options_for(peer, change)) {
}

Playing::Playing(Bot& bot, PlayOptions options)
    : thread_([this, &bot, options = std::move(options)](const std::stop_token& stop) {
        try {
          play(bot, options, stop);
        } catch (...) {
          error_ = std::current_exception();
        }
        done_.put(true);
      }) {
}

Playing::~Playing() = default;

void Playing::wait(std::chrono::seconds within) {
  done_.take("the end of the run", within);
  if (error_) std::rethrow_exception(error_);
}

struct Logged::State {
  std::mutex mutex;
  std::string text;
  std::vector<std::string> lines;
};

Logged::Logged() : state_(std::make_shared<State>()) {
  set_log([state = state_](Level level, std::string_view text) {
    const std::lock_guard lock(state->mutex);
    state->text.append(text).append("\n");
    if (level > Level::debug) state->lines.emplace_back(text);
  });
}

Logged::~Logged() {
  set_log(standard_error_log(Level::error));
}

std::vector<std::string> Logged::lines() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lines;
}

std::string Logged::text() const {
  const std::lock_guard lock(state_->mutex);
  return state_->text;
}

}  // namespace arbiter::testing
