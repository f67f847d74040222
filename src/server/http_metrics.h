// How requests were answered: by operation of the contract and status, and how quickly.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "api/http_responder.h"
#include "api/operations.h"
#include "server/metrics_text.h"

namespace moulin {

// Thread-safe. Labels are bounded: operations, and the statuses that we give.
class HttpMetrics {
 public:
  static constexpr std::array kStatuses{101, 200, 201, 202, 204, 400, 401, 403, 404,
                                        405, 409, 413, 415, 422, 429, 500, 503};
  static constexpr std::array kBounds{milliseconds(1),   milliseconds(5),   milliseconds(20),
                                      milliseconds(100), milliseconds(500), milliseconds(2500)};

  // `route` counts in wire::routes(); nothing: no route was meant.
  void count(std::optional<size_t> route, int status, Duration took);
  void write(MetricsText& text) const;

 private:
  static constexpr size_t kRoutesMax = 128;
  struct Row {
    std::array<std::atomic<int64_t>, kStatuses.size() + 1> by_status{};
    std::array<std::atomic<int64_t>, kBounds.size() + 1> by_time{};
    std::atomic<int64_t> took_us{0};
  };
  std::array<Row, kRoutesMax + 1> rows_{};  // the last: no route
};

// Answers through `responder` and counts how. Streams count when they begin.
Responder counted(HttpMetrics& metrics, std::optional<size_t> route, Responder responder);

}  // namespace moulin
