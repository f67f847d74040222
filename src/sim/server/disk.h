// The journal's disk, which outlives the server: the real journal on SQLite under a disk
// that fails and loses power, or the journal in memory where speed matters more.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/rng.h"
#include "boundary/journal.h"
#include "journal/fault_vfs.h"
#include "journal/memory_journal.h"

namespace moulin::sim {

enum class DiskKind { kMemory, kSqlite };

// How a server ends in the middle of an append.
enum class Death {
  kBefore,  // nothing of it is on the disk
  kWithin,  // some of what the append writes is (on SQLite; else as kBefore)
  kAfter,   // all of it is durable and nobody was told
};

class Disk {
 public:
  // `folder` is for the files of SQLite. `died` is called when a death that was asked for
  // has come, in the middle of an append.
  Disk(DiskKind kind, std::string folder, std::function<void()> died);
  ~Disk();

  // The journal as the next server finds it; the former one is gone.
  Result<Journal*> open();
  void close();

  void fill();
  void mend();
  bool is_full() const { return is_full_; }

  // The next append ends the server; `operations` of it come first with kWithin.
  void die(Death death, int64_t operations);
  // What was not synced is lost or torn. Between close() and open().
  void lose_power(Rng& rng);

 private:
  friend class DiskJournal;
  Status before_append();
  Status after_append(Status appended);

  const DiskKind kind_;
  const std::string folder_;
  std::function<void()> died_;
  int64_t generation_ = 0;  // of the folder below folder_ that holds the files
  std::string current_;
  std::unique_ptr<MemoryJournal> memory_;
  std::unique_ptr<testing::FaultyDisk> faulty_;
  std::unique_ptr<Journal> opened_;  // what the server sees
  std::optional<Death> death_;
  bool is_dead_ = false;
  bool is_full_ = false;
};

}  // namespace moulin::sim
