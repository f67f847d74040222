// What a finished workload leaves behind in memory once it was forgotten.
//
//   bench_bytes_per_finished
//
// Work: the core lives the lives of workloads (submission with a key, start, reports, end)
// at such a pace that each is forgotten in time, and counts what the allocator has given
// out after 20,000 and after 120,000 of them, each time when all but the newest have left.
// The figure is the growth between, per workload. The journal keeps its events on disk;
// their size per workload is among the others.
//
// measures: bytes_per_finished
// runs: 1
#include <fmt/format.h>
#include <malloc.h>

#include "core/agenda.h"
#include "core/testing.h"

namespace {

using namespace moulin;

constexpr int kWarm = 20'000;
constexpr int kMore = 100'000;

class Life {
 public:
  // The clock makes room: what finished is forgotten, and its key as well.
  void live(int count) {
    for (int i = 0; i < count; ++i) {
      one();
      if (i % 1'000 == 999) pass_time();
    }
    pass_time();
  }
  size_t in_memory() const { return cluster_.core.state().workloads.size(); }
  int64_t journal_bytes() const { return journal_bytes_; }

 private:
  void one() {
    WorkloadId id{++cluster_.ids};
    command::Submit submit{
        .workloads = {{.id = id, .spec = TestCluster::make_spec(fmt::format("train-{}", cluster_.ids)), .origin = {}}},
        .key = fmt::format("key-{}", cluster_.ids),
        .digest = "digest"};
    give(std::move(submit));
    give(cluster_.start_command(id, 1));
    give(cluster_.started(id, 0));
    give(cluster_.exited(id, 0, {.code = 0}));
  }
  void pass_time() {
    cluster_.now = cluster_.now + hours(48);
    for (int i = 0; i < 100 && cluster_.core.agenda().next() && *cluster_.core.agenda().next() <= cluster_.now; ++i)
      give(command::Tick{});
  }
  void give(CommandBody body) {
    for (const Event& event : cluster_.must(std::move(body)))
      journal_bytes_ += static_cast<int64_t>(encode_event(event).size());
  }

  TestCluster cluster_;
  int64_t journal_bytes_ = 0;
};

int64_t allocated() { return static_cast<int64_t>(::mallinfo2().uordblks + ::mallinfo2().hblkhd); }

}  // namespace

int main() {
  Life life;
  life.live(kWarm);
  MOULIN_CHECK(life.in_memory() == 0, "all are forgotten");
  int64_t before = allocated();
  int64_t journal_before = life.journal_bytes();
  life.live(kMore);
  MOULIN_CHECK(life.in_memory() == 0, "all are forgotten");
  double grown = static_cast<double>(allocated() - before) / kMore;
  fmt::print(R"({{"name":"bytes_per_finished","value":{:.2f},"unit":"bytes","better":"lower","goal":200,)"
             R"("others":{{"allocated_mb":{:.1f},"journal_bytes_per_workload":{:.0f}}}}})"
             "\n",
             grown, static_cast<double>(allocated()) / 1e6,
             static_cast<double>(life.journal_bytes() - journal_before) / kMore);
}
