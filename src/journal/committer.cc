#include "journal/committer.h"

#include <fmt/format.h>

#include <iterator>

#include "base/check.h"
#include "journal/limits.h"

namespace moulin {
namespace {

Bytes size_of(const std::vector<JournalRecord>& records) {
  Bytes sum{};
  for (const JournalRecord& record : records) sum += Bytes{static_cast<int64_t>(record.bytes.size())};
  return sum;
}

}  // namespace

Committer::Committer(Journal& journal, const CommitterOptions& options) : journal_(journal), options_(options) {}

void Committer::start() {
  thread_ = std::thread([this] { run(); });
}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  while (turn()) {}
}

Status Committer::submit(std::vector<JournalRecord> records, Done done) {
  TRY(check_sizes(records));
  const Bytes size = size_of(records);
  {
    const std::lock_guard lock(mutex_);
    if (stats_.refusing) return *stats_.refusing;
    if (stopping_) {
      return Error{.code = Code::kUnavailable, .message = "the server is ending", .to_do = "retry when it is back"};
    }
    // A lone batch of any size is taken, or it could never be.
    if (queue_.size() >= options_.batches_max || (!queue_.empty() && queued_bytes_ + size > options_.bytes_max)) {
      return Error{
          .code = Code::kTooMany,
          .message = fmt::format("{} batches of {} wait for the journal's disk", queue_.size(), to_text(queued_bytes_)),
          .to_do = "retry in a second; if this lasts, look at the disk of the data folder"};
    }
    queued_bytes_ += size;
    queue_.push_back({.records = std::move(records), .done = std::move(done), .size = size});
  }
  changed_.notify_one();
  return {};
}

void Committer::resume(Resumed resumed) {
  {
    const std::lock_guard lock(mutex_);
    MOULIN_CHECK(!resume_, "one resume at a time");
    resume_ = Request{.resumed = std::move(resumed), .while_refusing = stats_.refusing.has_value()};
  }
  changed_.notify_one();
}

CommitterStats Committer::stats() const {
  const std::lock_guard lock(mutex_);
  CommitterStats stats = stats_;
  stats.queued = queue_.size();
  return stats;
}

void Committer::run() {
  while (true) {
    while (turn()) {}
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || resume_ || !queue_.empty(); });
    if (stopping_ && !resume_ && queue_.empty()) return;
  }
}

bool Committer::turn() {
  std::deque<Batch> group;
  std::optional<Request> resume;
  {
    const std::lock_guard lock(mutex_);
    group = take_group();
    // Batches that were submitted before a resume are written before its probe.
    if (group.empty()) resume = std::exchange(resume_, std::nullopt);
  }
  if (!group.empty()) {
    commit(std::move(group));
    return true;
  }
  if (resume) probe(std::move(*resume));
  return resume.has_value();
}

std::deque<Committer::Batch> Committer::take_group() {
  std::deque<Batch> group;
  size_t records = 0;
  Bytes size{};
  while (!queue_.empty()) {
    Batch& next = queue_.front();
    records += next.records.size();
    size += next.size;
    const bool full = records > options_.group_records_max || size > options_.group_bytes_max;
    if (full && !group.empty()) break;
    queued_bytes_ -= next.size;
    group.push_back(std::move(next));
    queue_.pop_front();
  }
  return group;
}

void Committer::commit(std::deque<Batch> group) {
  std::vector<JournalRecord> records = std::move(group.front().records);
  std::vector<int64_t> counts{static_cast<int64_t>(records.size())};
  for (size_t index = 1; index < group.size(); ++index) {
    std::vector<JournalRecord>& more = group[index].records;
    counts.push_back(static_cast<int64_t>(more.size()));
    records.insert(records.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  }
  Sequence last = journal_.last();
  const Status appended = journal_.append(records);
  if (!appended) return refuse_all(std::move(group), appended.error());
  {
    const std::lock_guard lock(mutex_);
    ++stats_.groups;
    stats_.batches += static_cast<int64_t>(group.size());
  }
  for (size_t index = 0; index < group.size(); ++index) {
    last = {last.value + counts[index]};
    group[index].done(last);
  }
}

void Committer::refuse_all(std::deque<Batch> group, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    stats_.refusing = error;
    for (Batch& batch : queue_) group.push_back(std::move(batch));
    queue_.clear();
    queued_bytes_ = {};
    stats_.refused += static_cast<int64_t>(group.size());
  }
  for (Batch& batch : group) batch.done(error);
}

void Committer::probe(Request request) {
  const Status probed = journal_.probe();
  if (probed && request.while_refusing) {
    const std::lock_guard lock(mutex_);
    stats_.refusing.reset();
  }
  request.resumed(probed);
}

}  // namespace moulin
