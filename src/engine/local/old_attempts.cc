#include "engine/local/old_attempts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/local/attempt_store.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr int kDepthMax = 64;
constexpr int64_t kBlockBytes = 512;  // in which stat counts

// The names in a folder, without "." and "..".
std::vector<std::string> names_in(const Fd& folder) {
  Fd own(::openat(folder.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> entries(own ? ::fdopendir(own.number()) : nullptr, ::closedir);
  std::vector<std::string> names;
  if (!entries) return names;
  own.release();
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  return names;
}

std::optional<int32_t> number_of(const std::string& name) {
  int32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  bool whole = error == std::errc() && end == name.data() + name.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

struct Extent {
  int64_t newest_us = 0;
  int64_t bytes = 0;
};

int64_t changed_us(const struct stat& facts) {
  return facts.st_mtim.tv_sec * 1'000'000 + facts.st_mtim.tv_nsec / 1000;
}

void measure(const Fd& folder, Extent& extent, int depth) {
  for (const std::string& name : names_in(folder)) {
    struct stat facts{};
    if (::fstatat(folder.number(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    extent.bytes += facts.st_blocks * kBlockBytes;
    extent.newest_us = std::max(extent.newest_us, changed_us(facts));
    if (!S_ISDIR(facts.st_mode) || depth == kDepthMax) continue;
    if (Result<Fd> below = open_folder_in(folder, name)) measure(*below, extent, depth + 1);
  }
}

// As far as it can; what is below kDepthMax stays, and so all above it.
void remove_all(const Fd& parent, const std::string& name, int depth = 0) {
  if (::unlinkat(parent.number(), name.c_str(), 0) == 0 || depth == kDepthMax) return;
  if (Result<Fd> folder = open_folder_in(parent, name)) {
    for (const std::string& below : names_in(*folder)) remove_all(*folder, below, depth + 1);
  }
  ::unlinkat(parent.number(), name.c_str(), AT_REMOVEDIR);
}

struct Candidate {
  WorkloadId workload{};
  AttemptNumber attempt{};
  Extent extent{};
};

class Removal {
 public:
  Removal(const OldAttempts& job, Fd root, const AttemptStore& store)
      : job_(job), root_(std::move(root)), store_(store) {}

  Result<RemovedAttempts> run() {
    TRY(find());
    std::ranges::sort(candidates_, {}, [](const Candidate& one) { return one.extent.newest_us; });
    for (const Candidate& candidate : candidates_) {
      bool old = job_.kept.age.us > 0 && job_.wall_now_us - candidate.extent.newest_us > job_.kept.age.us;
      bool much = job_.kept.size.count > 0 && total_ > job_.kept.size.count;
      if (!old && !much) break;  // all that follow are newer
      if (job_.stop()) break;
      TRY(remove(candidate));
    }
    return removed_;
  }

 private:
  Status find() {
    TRY(look_at_live());
    for (const std::string& name : names_in(root_)) {
      Result<WorkloadId> id = parse_workload(name);
      if (!id || job_.stop()) continue;
      Result<Fd> workload = open_folder_in(root_, name);
      if (workload) find_attempts(*id, *workload);
    }
    return {};
  }

  static Result<WorkloadId> parse_workload(const std::string& name) {
    return WorkloadId{TRY(parse_id(WorkloadTag::kPrefix, name))};
  }

  void find_attempts(WorkloadId id, const Fd& workload) {
    for (const std::string& name : names_in(workload)) {
      std::optional<int32_t> number = number_of(name);
      Result<Fd> attempt = number ? open_folder_in(workload, name) : Error{};
      if (!attempt) continue;
      Candidate candidate{.workload = id, .attempt = {*number}};
      measure(*attempt, candidate.extent, 0);
      // One that is still empty is as old as itself: it may be about to be filled.
      struct stat own{};
      if (candidate.extent.newest_us == 0 && ::fstat(attempt->number(), &own) == 0)
        candidate.extent.newest_us = changed_us(own);
      total_ += candidate.extent.bytes;
      candidates_.push_back(candidate);
    }
  }

  Status look_at_live() {
    live_.clear();
    for (const ReplicaKey& key : TRY(store_.live())) live_.insert({key.workload, key.attempt});
    return {};
  }

  bool may_go(const Candidate& candidate) const {
    if (live_.contains({candidate.workload, candidate.attempt})) return false;
    WorkloadNeeds needs = job_.needs(candidate.workload);
    switch (needs.needed) {
      case Needed::kAll: return false;
      case Needed::kNewest: return candidate.attempt < needs.newest;
      case Needed::kNothing: return true;
    }
    MOULIN_UNREACHABLE();
  }

  Status remove(const Candidate& candidate) {
    TRY(look_at_live());
    if (!may_go(candidate)) return {};
    std::string name = to_text(candidate.workload);
    Result<Fd> workload = open_folder_in(root_, name);
    if (!workload) return {};
    remove_all(*workload, fmt::format("{}", candidate.attempt.value));
    total_ -= candidate.extent.bytes;
    ++removed_.attempts;
    removed_.size.count += candidate.extent.bytes;
    bool last = std::ranges::none_of(names_in(*workload), [](const std::string& left) { return left != kKeptFolder; });
    if (last && job_.needs(candidate.workload).needed == Needed::kNothing) remove_all(root_, name);
    return {};
  }

  const OldAttempts& job_;
  Fd root_;
  const AttemptStore& store_;
  std::set<std::pair<WorkloadId, AttemptNumber>> live_;
  std::vector<Candidate> candidates_;
  int64_t total_ = 0;
  RemovedAttempts removed_;
};

}  // namespace

Result<RemovedAttempts> remove_old_attempts(const OldAttempts& job) {
  AttemptStore store = TRY(AttemptStore::open(job.data_folder));
  Fd root = TRY(open_folder(store.root_path()));
  return Removal(job, std::move(root), store).run();
}

std::vector<ReplicaIndex> replicas_on_disk(const std::string& data_folder, WorkloadId workload, AttemptNumber attempt) {
  std::vector<ReplicaIndex> replicas;
  Result<Fd> folder = open_folder(fmt::format("{}/attempts/{}/{}", data_folder, to_text(workload), attempt.value));
  if (!folder) return replicas;
  for (const std::string& name : names_in(*folder)) {
    if (std::optional<int32_t> number = number_of(name)) replicas.push_back({*number});
  }
  std::ranges::sort(replicas);
  return replicas;
}

}  // namespace moulin
