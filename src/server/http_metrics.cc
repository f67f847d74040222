#include "server/http_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace moulin {

namespace {

using SteadyClock = std::chrono::steady_clock;

class CountedAnswer final : public AnswerSink {
 public:
  CountedAnswer(HttpMetrics& metrics, std::optional<size_t> route, std::shared_ptr<AnswerSink> inner)
      : metrics_(metrics), route_(route), inner_(std::move(inner)) {}

  void answer(Response response) override {
    count(response.status);
    inner_->answer(std::move(response));
  }
  // A stream that was refused for want of room is over at once.
  std::shared_ptr<StreamSink> start_stream(StreamForm form) override {
    auto stream = inner_->start_stream(form);
    count(stream->is_open() ? 200 : 429);
    return stream;
  }
  void take_over(std::function<void(TakenOver)> then) override {
    count(101);
    inner_->take_over(std::move(then));
  }

 private:
  void count(int status) {
    auto took = std::chrono::duration_cast<std::chrono::microseconds>(SteadyClock::now() - begun_);
    metrics_.count(route_, status, Duration{took.count()});
  }

  HttpMetrics& metrics_;
  const std::optional<size_t> route_;
  const std::shared_ptr<AnswerSink> inner_;
  const SteadyClock::time_point begun_ = SteadyClock::now();
};

template <class Counters>
int64_t sum(const Counters& counters) {
  int64_t all = 0;
  for (const auto& counter : counters) all += counter;
  return all;
}

}  // namespace

void HttpMetrics::count(std::optional<size_t> route, int status, Duration took) {
  Row& row = rows_.at(std::min(route.value_or(kRoutesMax), kRoutesMax));
  auto known = static_cast<size_t>(std::ranges::find(kStatuses, status) - kStatuses.begin());
  auto bound = static_cast<size_t>(std::ranges::lower_bound(kBounds, took) - kBounds.begin());
  row.by_status[known].fetch_add(1, std::memory_order_relaxed);
  row.by_time[bound].fetch_add(1, std::memory_order_relaxed);
  row.took_us.fetch_add(took.us, std::memory_order_relaxed);
}

void HttpMetrics::write(MetricsText& text) const {
  auto routes = wire::routes();
  MOULIN_CHECK(routes.size() <= kRoutesMax, "every route has a row");
  auto label = [&](size_t row) {
    if (row >= routes.size()) return std::string("none");
    return fmt::format("{} {}", to_text(routes[row].method), routes[row].path);
  };
  text.family("http_requests_total", "counter", "Requests that were answered, by route and status.");
  for (size_t row = 0; row < rows_.size(); ++row) {
    for (size_t i = 0; i < rows_[row].by_status.size(); ++i) {
      int64_t count = rows_[row].by_status[i];
      std::string status = i < kStatuses.size() ? std::to_string(kStatuses[i]) : "other";
      if (count > 0) text.sample({{"route", label(row)}, {"status", status}}, count);
    }
  }
  text.family("http_request_duration_seconds", "histogram", "From the whole request to its answer, by route.");
  for (size_t row = 0; row < rows_.size(); ++row) {
    const Row& counts = rows_[row];
    if (sum(counts.by_time) == 0) continue;
    int64_t until = 0;
    for (size_t i = 0; i < counts.by_time.size(); ++i) {
      until += counts.by_time[i];
      std::string bound = i < kBounds.size() ? fmt::format("{}", static_cast<double>(kBounds[i].us) / 1e6) : "+Inf";
      text.sample({{"route", label(row)}, {"le", bound}}, until, "_bucket");
    }
    text.sample({{"route", label(row)}}, Duration{counts.took_us}, "_sum");
    text.sample({{"route", label(row)}}, until, "_count");
  }
}

Responder counted(HttpMetrics& metrics, std::optional<size_t> route, Responder responder) {
  return Responder(std::make_shared<CountedAnswer>(metrics, route, responder.take_sink()));
}

}  // namespace moulin
