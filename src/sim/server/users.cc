// Sending, and what an answer must be. What is asked stands in user_actions.cc.
#include "sim/server/users.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "shim/files.h"

namespace moulin::sim {

namespace {

// A little less than it is: what is true time for us may be more for the server.
constexpr Duration kKeyLives = hours(20);

std::string ids_in(const Response& response) {
  Result<Json> body = parse_json(response.body);
  const Json* ids = body ? body->find("ids") : nullptr;
  return ids == nullptr ? "" : write_json(*ids);
}

}  // namespace

// Takes one answer; a second one is a defect of the server.
class Users::Sink final : public AnswerSink {
 public:
  Sink(Users& users, std::shared_ptr<Exchange> exchange) : users_(users), exchange_(std::move(exchange)) {}

  void answer(Response response) override {
    if (++exchange_->answers > 1) users_.site_.watcher.complain("answers", exchange_->line + " was answered twice");
    if (exchange_->is_gone || !users_.site_.reaches_outside()) return;
    users_.take_answer(*exchange_, response);
    users_.open_.erase(exchange_->number);
  }
  std::shared_ptr<StreamSink> start_stream(StreamForm) override {
    answer({.status = 200, .body = ""});
    return nullptr;
  }
  // No program runs here, so nobody gets as far as that.
  void take_over(std::function<void(TakenOver)>) override {
    users_.site_.watcher.complain("answers", exchange_->line + " was taken over");
  }

 private:
  Users& users_;
  std::shared_ptr<Exchange> exchange_;
};

Users::Users(Site& site, uint64_t seed, int64_t count) : site_(site), rng_(seed * 31 + 5), count_(count) {}

std::string Users::token_of(const std::string& user) {
  if (user == "admin") {
    Result<std::string> text = read_file_at(site_.data_folder + "/admin.token", kibibytes(1));
    if (!text) return "";
    if (text->ends_with('\n')) text->pop_back();
    return *text;
  }
  auto found = tokens_.find(user);
  return found == tokens_.end() ? "" : found->second;
}

void Users::send(Life& life, const std::string& user, Call call) {
  auto exchange = std::make_shared<Exchange>();
  exchange->number = ++asked_;
  exchange->line = fmt::format("{} {} by {}", to_text(call.method), join(call.segments, "/"), user);
  exchange->key = call.key;
  exchange->about = call.about;
  exchange->expected = call.expected;
  exchange->is_submission = call.method == Method::kPost && call.segments.back() == "workloads";
  exchange->is_gone = site_.faults.strikes(Fault::kClientGone, 50'000);
  Request request{.method = call.method, .segments = {"api", "v1"}, .query = std::move(call.query), .body = call.body};
  request.segments.insert(request.segments.end(), call.segments.begin(), call.segments.end());
  request.headers.push_back({"authorization", "Bearer " + token_of(user)});
  if (!call.body.empty()) request.headers.push_back({"content-type", "application/json"});
  if (!call.key.empty()) request.headers.push_back({"idempotency-key", call.key});
  site_.watcher.note("  " + exchange->line + (exchange->is_gone ? ", who does not wait" : ""));
  open_[exchange->number] = exchange;
  if (exchange->is_gone) open_.erase(exchange->number);
  life.dispatch_request(std::move(request), Responder(std::make_shared<Sink>(*this, exchange)));
}

void Users::server_died() {
  for (auto& [number, exchange] : open_) exchange->is_gone = true;
  open_.clear();
}

std::vector<std::string> Users::unanswered() const {
  std::vector<std::string> lines;
  for (const auto& [number, exchange] : open_) lines.push_back(exchange->line);
  return lines;
}

// ---- Answers ----

void Users::take_answer(Exchange& exchange, const Response& response) {
  site_.watcher.note(fmt::format("  {}: {}", exchange.line, response.status));
  bool is_defect = response.status >= 500 && response.status != 503;
  if (is_defect || response.status < 200)
    return site_.watcher.complain("answers", fmt::format("{}: {} {}", exchange.line, response.status, response.body));
  bool is_good = response.status < 300;
  bool is_busy = response.status == 503 || response.status == 429;
  if (exchange.expected == Exchange::Expected::kRefused && is_good)
    return site_.watcher.complain("refusal", exchange.line + " was not refused");
  if (exchange.expected == Exchange::Expected::kUnauthenticated && response.status != 401)
    return site_.watcher.complain("refusal", fmt::format("{} got {} and not 401", exchange.line, response.status));
  if (exchange.is_submission && !is_busy) take_submission(exchange, response);
  if (is_good && !exchange.about.empty()) take_token(exchange, response);
}

void Users::take_submission(const Exchange& exchange, const Response& response) {
  std::string ids = response.status == 201 ? ids_in(response) : "";
  if (response.status == 201) {
    Result<Json> body = parse_json(response.body);
    for (const Json& id : body->find("ids")->items()) {
      Result<uint64_t> known = parse_id(WorkloadTag::kPrefix, id.string());
      if (!known || !site_.watcher.knows({*known}))
        return site_.watcher.complain("durability",
                                      fmt::format("{}: {} is accepted and not durable", exchange.line, id.string()));
    }
  }
  auto found = keyed_.find(exchange.key);
  if (exchange.key.empty() || found == keyed_.end()) return;
  Keyed& keyed = found->second;
  bool is_fresh = site_.timeline.now() - keyed.first < kKeyLives;
  if (!keyed.answer.empty() && is_fresh && ids != keyed.answer)
    return site_.watcher.complain("idempotency", fmt::format("{} with key {} got {} {}, and {} before", exchange.line,
                                                             exchange.key, response.status, ids, keyed.answer));
  if (keyed.answer.empty()) keyed.answer = ids;
}

void Users::take_token(const Exchange& exchange, const Response& response) {
  Result<Json> body = parse_json(response.body);
  const Json* secret = body ? body->find("secret") : nullptr;
  if (secret != nullptr) tokens_[exchange.about] = secret->string();
}

}  // namespace moulin::sim
