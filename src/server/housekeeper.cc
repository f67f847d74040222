#include "server/housekeeper.h"

#include <chrono>

#include "server/reconcile.h"
#include "server/recovery.h"

namespace moulin {

namespace {
constexpr int64_t kSnapshotAtStop = 1'000;  // fewer events are replayed faster than saved
}  // namespace

Housekeeper::Housekeeper(Reactor& reactor, Engine& engine, Journal& journal, Clock& clock, HousekeeperOptions options,
                         std::function<void(std::string_view)> log)
    : reactor_(reactor), engine_(engine), journal_(journal), clock_(clock), options_(options), log_(std::move(log)) {
  if (Result<JournalStats> stats = journal_.stats()) snapshot_ = stats->newest_snapshot;
  clocked_ = clock_.now();
}

void Housekeeper::start() {
  thread_ = std::thread([this] { run(); });
}

Housekeeper::~Housekeeper() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  save_snapshot(kSnapshotAtStop);
}

void Housekeeper::run() {
  for (;;) {
    turn();
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; })) return;
  }
}

void Housekeeper::turn() {
  Instant now = clock_.now();
  if (reconciled_ == Instant{} || now - reconciled_ >= options_.reconcile_every) {
    reconcile();
    reconciled_ = now;
  }
  if (now - clocked_ >= options_.clock_every) {
    follow_clock();
    clocked_ = now;
  }
  save_snapshot(options_.snapshot_events);
}

void Housekeeper::reconcile() {
  if (!reactor_.stats().writable) return;  // reports would only pile up
  PublishedView view = reactor_.view();
  Differences differences = compare(view->state, engine_.list());
  for (EngineReport& report : differences.reports) reactor_.report(command::TakeReport{std::move(report)});
  for (const ReleaseEffect& release : differences.releases) engine_.release(release.key, release.token);
}

void Housekeeper::follow_clock() {
  Duration moved = clock_.wall_offset() - reactor_.view()->state.wall_offset;
  if (moved.us > -options_.clock_step_min.us && moved < options_.clock_step_min) return;
  reactor_.report(command::MoveWallClock{clock_.wall_offset()});
}

void Housekeeper::save_snapshot(int64_t events_min) {
  PublishedView view = reactor_.view();
  if (view->state.sequence.value - snapshot_.value < events_min) return;
  Status saved = journal_.save_snapshot(snapshot_of(view->state));
  snapshot_ = view->state.sequence;  // also after a failure: not again at once
  if (!saved) log_("a snapshot could not be saved: " + saved.error().to_text());
}

}  // namespace moulin
