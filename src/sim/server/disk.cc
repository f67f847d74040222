#include "sim/server/disk.h"

#include <filesystem>
#include <utility>

#include "journal/sqlite_journal.h"

namespace moulin::sim {

namespace {

Error lost_power() { return {.code = Code::kUnavailable, .message = "the server is dead"}; }

}  // namespace

// What the server appends to: the journal, and the moment of the server's death.
class DiskJournal final : public Journal {
 public:
  DiskJournal(Disk& disk, Journal& inner, std::unique_ptr<Journal> owned)
      : disk_(disk), inner_(inner), owned_(std::move(owned)) {}

  Status append(const std::vector<JournalRecord>& records) override {
    TRY(disk_.before_append());
    return disk_.after_append(inner_.append(records));
  }
  Status probe() override {
    TRY(disk_.before_append());
    return disk_.after_append(inner_.probe());
  }
  Status save_snapshot(const Snapshot& snapshot) override {
    if (disk_.is_dead_) return lost_power();
    return inner_.save_snapshot(snapshot);
  }
  Sequence last() const override { return inner_.last(); }
  Status replay(Sequence after, const std::function<Status(const StoredRecord&)>& visit) const override {
    return inner_.replay(after, visit);
  }
  Status history(const HistoryQuery& query, const std::function<Status(const StoredRecord&)>& visit) const override {
    return inner_.history(query, visit);
  }
  Result<std::optional<Snapshot>> load_snapshot(int32_t format_max) const override {
    return inner_.load_snapshot(format_max);
  }
  Result<JournalStats> stats() const override { return inner_.stats(); }

 private:
  Disk& disk_;
  Journal& inner_;
  std::unique_ptr<Journal> owned_;
};

Disk::Disk(DiskKind kind, std::string folder, std::function<void()> died)
    : kind_(kind), folder_(std::move(folder)), died_(std::move(died)), current_(folder_ + "/disk-0") {
  if (kind_ == DiskKind::kMemory) {
    memory_ = std::make_unique<MemoryJournal>();
    return;
  }
  std::filesystem::create_directories(current_);
  faulty_ = std::make_unique<testing::FaultyDisk>();
}

Disk::~Disk() { close(); }

Result<Journal*> Disk::open() {
  MOULIN_CHECK(opened_ == nullptr, "one server at a time");
  is_dead_ = false;
  death_.reset();
  if (kind_ == DiskKind::kMemory) {
    opened_ = std::make_unique<DiskJournal>(*this, *memory_, nullptr);
    return opened_.get();
  }
  auto journal = TRY(SqliteJournal::open(current_ + "/journal.db", {.written_by = "sim", .vfs = faulty_->vfs()}));
  Journal& inner = *journal;
  opened_ = std::make_unique<DiskJournal>(*this, inner, std::move(journal));
  return opened_.get();
}

void Disk::close() { opened_.reset(); }

void Disk::fill() {
  is_full_ = true;
  if (memory_)
    memory_->fail_writes({.after = 0, .times = INT64_MAX});
  else
    faulty_->fail({.fault = testing::DiskFault::kFull});
}

void Disk::mend() {
  is_full_ = false;
  if (memory_)
    memory_->mend();
  else
    faulty_->mend();
}

void Disk::die(Death death, int64_t operations) {
  death_ = death;
  if (death == Death::kWithin && faulty_) faulty_->fail({.fault = testing::DiskFault::kPowerOff, .after = operations});
}

Status Disk::before_append() {
  if (is_dead_) return lost_power();
  bool now = death_ == Death::kBefore || (death_ == Death::kWithin && memory_);
  if (!now) return {};
  is_dead_ = true;
  died_();
  return lost_power();
}

Status Disk::after_append(Status appended) {
  if (!death_) return appended;
  is_dead_ = true;
  died_();
  return lost_power();
}

void Disk::lose_power(Rng& rng) {
  if (kind_ == DiskKind::kMemory) return;
  namespace files = std::filesystem;
  std::string next = folder_ + "/disk-" + std::to_string(++generation_);
  files::create_directories(next);
  faulty_->restore(next, rng);
  faulty_ = std::make_unique<testing::FaultyDisk>();
  faulty_->load(next);
  // Written without SQLite: snapshots were synced when they were made; the mark may be old,
  // and then it is as good as none.
  const files::path snapshots = current_ + "/journal.db-snapshots";
  if (files::exists(snapshots)) files::copy(snapshots, next + "/journal.db-snapshots", files::copy_options::recursive);
  const files::path mark = current_ + "/journal.db-mark";
  if (files::exists(mark) && rng.chance(700)) files::copy_file(mark, next + "/journal.db-mark");
  files::remove_all(std::exchange(current_, next));
}

}  // namespace moulin::sim
