// The contract as calls: each operation of api/openapi.yaml with its parameters, its
// body and its answer as types.
//
//   ApiClient api(HttpClient(endpoint, {.token = token}));
//   wire::Workload workload = TRY(api.ask(wire::ShowWorkload{.workload = id}));
//   wire::Submitted made = TRY(api.ask(wire::SubmitWorkloads{}, {.workloads = {document}}));
//
// Errors are those of the server's problem documents, or of HttpClient::send().
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "api/event_reader.h"
#include "api/http_client.h"
#include "api/operations.h"

namespace moulin {

class ApiClient {
 public:
  explicit ApiClient(HttpClient client) : client_(std::move(client)) {}

  template <class Operation>
    requires(!requires { typename Operation::Body; })
  Result<typename Operation::Answer> ask(const Operation& operation) {
    return answer_of<typename Operation::Answer>(wire::write_parameters(operation));
  }
  template <class Operation>
  Result<typename Operation::Answer> ask(const Operation& operation, const typename Operation::Body& body) {
    HttpCall call = wire::write_parameters(operation);
    call.body = write_json(wire::write(body));
    return answer_of<typename Operation::Answer>(call);
  }

  // The body of the answer as the server wrote it, e.g. bare log lines.
  Result<std::string> ask_text(const HttpCall& call);

  // Server-sent events until the stream ends or `on_event` stops it.
  Result<StreamEnd> stream(const HttpCall& call, const std::function<Flow(const StreamEvent&)>& on_event);

  HttpClient& http() { return client_; }

 private:
  template <class Answer>
  Result<Answer> answer_of(const HttpCall& call) {
    const std::string body = TRY(ask_text(call));
    if constexpr (std::is_same_v<Answer, wire::Nothing>) {
      return Answer{};
    } else {
      return wire::read<Answer>(TRY(parse_answer(body)));
    }
  }
  static Result<Json> parse_answer(const std::string& body);

  HttpClient client_;
};

}  // namespace moulin
