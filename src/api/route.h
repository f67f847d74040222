// From a request to the operation of the contract that it means, and back. The routes
// and the parameters of each operation are made from api/openapi.yaml (operations.h).
//
//   const Match match = ...;                       // of match_route(...)
//   auto wanted = TRY(wire::read_parameters<wire::ListWorkloads>(match, request));
//   HttpCall call = wire::write_parameters(wire::ListWorkloads{.project = "nlp"});
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/http_client.h"
#include "api/http_types.h"
#include "api/wire.h"
#include "base/check.h"

namespace moulin::wire {

// One line of the table of routes. `path` is as in the contract: "/api/v1/nodes/{node}".
template <class Operation>
struct Route {
  Method method;
  std::string_view path;
  Operation operation;
};

// The segments of a request that stand where the route has {braces}, in order.
using PathValues = std::vector<std::string>;

// How well a path and a route agree: -1 not at all, else the number of segments that are
// equal by word; a route with more of them wins ("dry_run" over "{workload}").
int agreement(std::string_view route_path, std::span<const std::string> segments);
PathValues path_values(std::string_view route_path, std::span<const std::string> segments);

template <class Operation>
struct Match {
  Operation operation;
  PathValues values;
};

// No route: the Response is the 404, or the 405 with its Allow header.
Response no_such_path(const Request& request);
Response no_such_method(const Request& request, const std::string& allow);

template <class Operation>
std::expected<Match<Operation>, Response> match_route(std::span<const Route<Operation>> routes,
                                                      const Request& request) {
  int best = -1;
  for (const auto& route : routes) best = std::max(best, agreement(route.path, request.segments));
  if (best < 0) return std::unexpected(no_such_path(request));
  std::string allow;
  for (const auto& route : routes) {
    if (agreement(route.path, request.segments) != best) continue;
    if (route.method == request.method)
      return Match<Operation>{route.operation, path_values(route.path, request.segments)};
    allow.append(allow.empty() ? "" : ", ").append(to_text(route.method));
    if (route.method == Method::kGet) allow.append(", HEAD");
  }
  return std::unexpected(no_such_method(request, allow));
}

// ---- Parameters ----

// A parameter's text as the JSON value that its reader expects, so that bodies and
// parameters share their readers and their errors.
Json parameter_value(const std::string& text, Json::Type wanted);
std::string parameter_text(const Json& value);

template <class T>
constexpr Json::Type wanted_type() {
  if (std::is_same_v<T, bool>) return Json::Type::kBool;
  if (std::is_integral_v<T>) return Json::Type::kNumber;
  return Json::Type::kString;
}

// Takes the parameters of one request one by one; unknown and doubled ones are refused.
class ParameterReader {
 public:
  ParameterReader(const PathValues& path_values, const Request& request)
      : path_values_(path_values), request_(request), taken_(request.query.size(), false) {}

  template <class T, class Limits>
  Status from_path(std::string_view name, T& to, const Limits& limits) {
    MOULIN_CHECK(next_path_value_ < path_values_.size(), "the route has a value for each of its braces");
    to = TRY(read_one<T>(path_values_[next_path_value_++], name, limits));
    return {};
  }
  template <class T, class Limits>
  Status from_query(std::string_view name, T& to, const Limits& limits) {
    const std::string* text = TRY(take(name));
    if (text != nullptr) to = TRY(read_one<T>(*text, name, limits));
    return {};
  }
  template <class T, class Limits>
  Status from_query(std::string_view name, std::optional<T>& to, const Limits& limits) {
    const std::string* text = TRY(take(name));
    if (text != nullptr) to = TRY(read_one<T>(*text, name, limits));
    return {};
  }
  template <class T, class Item>
  Status from_query(std::string_view name, std::vector<T>& to, const ListLimits<Item>& limits) {
    for (const std::string& text : take_all(name)) {
      if (to.size() == limits.count_max) return too_many(name, limits.count_max);
      to.push_back(TRY(read_one<T>(text, name, limits.item)));
    }
    return {};
  }
  template <class T, class Limits>
  Status from_header(std::string_view name, std::optional<T>& to, const Limits& limits) {
    const std::string* text = find_header(request_.headers, name);
    if (text != nullptr) to = TRY(read_one<T>(*text, name, limits));
    return {};
  }
  // Refuses the first query parameter that nobody took.
  Status finish() const;

 private:
  template <class T, class Limits>
  Result<T> read_one(const std::string& text, std::string_view name, const Limits& limits) {
    return read_value(parameter_value(text, wanted_type<T>()), name, limits, static_cast<T*>(nullptr));
  }
  Result<const std::string*> take(std::string_view name);
  std::vector<std::string> take_all(std::string_view name);
  static Error too_many(std::string_view name, size_t count_max);

  const PathValues& path_values_;
  const Request& request_;
  std::vector<bool> taken_;
  std::vector<std::string_view> known_;
  size_t next_path_value_ = 0;
};

// Builds a call from the parameters of an operation.
class ParameterWriter {
 public:
  ParameterWriter(Method method, std::string_view route_path) : route_path_(route_path) { call_.method = method; }

  template <class T>
  void to_path(const T& value) {
    values_.push_back(parameter_text(write_value(value)));
  }
  template <class T>
  void to_query(std::string_view name, const T& value) {
    call_.query.push_back({std::string(name), parameter_text(write_value(value))});
  }
  template <class T>
  void to_query(std::string_view name, const std::optional<T>& value) {
    if (value) to_query(name, *value);
  }
  template <class T>
  void to_query(std::string_view name, const std::vector<T>& values) {
    for (const T& value : values) to_query(name, value);
  }
  template <class T>
  void to_header(std::string_view name, const std::optional<T>& value) {
    if (value) call_.headers.push_back({std::string(name), parameter_text(write_value(*value))});
  }
  HttpCall finish();

 private:
  std::string_view route_path_;
  PathValues values_;
  HttpCall call_;
};

// Made for every operation.
template <class Operation>
struct ParameterCodec;

template <class Operation>
Result<Operation> read_parameters(const PathValues& path_values, const Request& request) {
  return ParameterCodec<Operation>::read(path_values, request);
}
template <class Operation>
HttpCall write_parameters(const Operation& operation) {
  return ParameterCodec<Operation>::write(operation);
}

// The body of a request as JSON: kInvalid for another content type than
// application/json (no form of a web page can send that), for no JSON and for no body.
Result<Json> read_json_body(const Request& request);

template <class T>
Result<T> read_body(const Request& request) {
  return read<T>(TRY(read_json_body(request)));
}

// What operations without a body, or without one that is JSON, have in its place.
struct Nothing {};

}  // namespace moulin::wire
