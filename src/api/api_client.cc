#include "api/api_client.h"

namespace moulin {

namespace {

constexpr size_t kAnswerValuesMax = 50'000'000;  // the size of the body is bounded before

}  // namespace

Result<std::string> ApiClient::ask_text(const HttpCall& call) { return TRY(successful(client_.send(call))).body; }

Result<Json> ApiClient::parse_answer(const std::string& body) {
  Result<Json> json = parse_json(body, {.values_max = kAnswerValuesMax});
  if (json) return json;
  Error error = std::move(json).error();
  error.code = Code::kInternal;
  error.message = "the server's answer is no JSON: " + error.message;
  return error;
}

Result<StreamEnd> ApiClient::stream(const HttpCall& call, const std::function<Flow(const StreamEvent&)>& on_event) {
  Flow flow = Flow::kContinue;
  Status broken;
  EventReader reader([&](const StreamEvent& event) {
    if (flow == Flow::kContinue) flow = on_event(event);
  });
  const Result<StreamEnd> end = client_.stream(call, [&](std::string_view piece) {
    broken = reader.feed(piece);
    return broken ? flow : Flow::kStop;
  });
  if (!broken) return broken.error();
  return end;
}

}  // namespace moulin
