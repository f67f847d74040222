#include "scheduler/explain/changes.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "scheduler/eviction/search.h"
#include "scheduler/explain/quota_change.h"
#include "scheduler/explain/words.h"

namespace moulin {

namespace {

constexpr int64_t kMebibyte = mebibytes(1).count;

class Finder {
 public:
  explicit Finder(const Inquiry& inquiry) : inquiry_(inquiry) {}

  std::vector<Change> all() {
    share();
    gpu_memory();
    cpu();
    memory();
    model();
    priority_class();
    replicas();
    if (auto change = find_quota_change(inquiry_)) changes_.push_back(*std::move(change));
    return std::move(changes_);
  }

 private:
  bool starts(const WorkloadSpec& changed) const {
    Applicant applicant{changed, inquiry_.applicant.path, inquiry_.applicant.id};
    return can_start({inquiry_.overlay, applicant, inquiry_.workload, inquiry_.stock});
  }

  // The largest value in [least, most] with which it starts, when smaller ones start, too.
  template <class Set>
  std::optional<int64_t> largest(int64_t least, int64_t most, Set set) const {
    WorkloadSpec changed = inquiry_.spec();
    auto works = [&](int64_t value) {
      set(changed, value);
      return starts(changed);
    };
    if (most < least || !works(least)) return std::nullopt;
    while (least < most) {
      int64_t middle = least + (most - least + 1) / 2;
      if (works(middle))
        least = middle;
      else
        most = middle - 1;
    }
    return least;
  }

  void add(Dimension dimension, int64_t from, int64_t to, std::string text) {
    changes_.push_back({.dimension = dimension, .from = from, .to = to, .text = std::move(text)});
  }

  void share() {
    const GpuRequest& gpu = inquiry_.spec().resources.gpu;
    if (gpu.form != GpuForm::kDevices && gpu.form != GpuForm::kShare) return;
    Share asked = gpu.share * gpu.count;
    std::optional<Share> found;
    if (gpu.form == GpuForm::kDevices) {
      auto devices = largest(1, gpu.count - 1, [](WorkloadSpec& spec, int64_t n) { spec.resources.gpu.count = n; });
      if (devices) found = kWholeDevice * *devices;
    }
    int64_t parts = gpu.form == GpuForm::kDevices ? 1 : gpu.count;
    if (!found) {
      auto part = largest(kShareMin.milli, gpu.share.milli - 1, [parts](WorkloadSpec& spec, int64_t milli) {
        spec.resources.gpu = {.form = GpuForm::kShare, .count = parts, .share = {milli}};
      });
      if (part) found = Share{*part} * parts;
    }
    if (!found) return;
    Resources smaller = inquiry_.spec().resources;
    smaller.gpu.form = *found < kWholeDevice * parts ? GpuForm::kShare : GpuForm::kDevices;
    smaller.gpu.count = smaller.gpu.form == GpuForm::kShare ? parts : found->milli / kWholeDevice.milli;
    smaller.gpu.share = {found->milli / smaller.gpu.count};
    add(Dimension::kShare, asked.milli, found->milli,
        fmt::format("ask for {} instead of {}{}", request_words(smaller), request_words(inquiry_.spec().resources),
                    each()));
  }

  void gpu_memory() {
    const GpuRequest& gpu = inquiry_.spec().resources.gpu;
    if (gpu.form != GpuForm::kMemory) return;
    auto found = largest(1, (gpu.memory.count - 1) / kMebibyte,
                         [](WorkloadSpec& spec, int64_t n) { spec.resources.gpu.memory = mebibytes(n); });
    if (!found) return;
    add(Dimension::kGpuMemory, gpu.memory.count, mebibytes(*found).count,
        fmt::format("ask for {} of GPU memory instead of {}{}", to_text(mebibytes(*found)), to_text(gpu.memory),
                    each()));
  }

  void cpu() {
    CpuMilli asked = inquiry_.spec().resources.cpu;
    auto found = largest(0, asked.milli - 1, [](WorkloadSpec& spec, int64_t n) { spec.resources.cpu = {n}; });
    if (!found) return;
    add(Dimension::kCpu, asked.milli, *found,
        fmt::format("ask for {} CPU instead of {}{}", to_text(CpuMilli{*found}), to_text(asked), each()));
  }

  void memory() {
    Bytes asked = inquiry_.spec().resources.memory;
    auto found = largest(0, (asked.count - 1) / kMebibyte,
                         [](WorkloadSpec& spec, int64_t n) { spec.resources.memory = mebibytes(n); });
    if (asked.count == 0 || !found) return;
    add(Dimension::kMemory, asked.count, mebibytes(*found).count,
        fmt::format("ask for {} of memory instead of {}{}", to_text(mebibytes(*found)), to_text(asked), each()));
  }

  void model() {
    const std::vector<ModelName>& wanted = inquiry_.spec().resources.gpu_models;
    if (wanted.empty()) return;
    std::set<ModelName> others;
    for (const auto& [make, count] : inquiry_.overlay.index().makes()) {
      for (const OfferCount& entry : make.empty.offers) others.insert(entry.offer.model);
    }
    for (const ModelName& model : wanted) others.erase(model);
    std::string from;
    for (const ModelName& model : wanted) from += (from.empty() ? "" : ", ") + model.text;
    WorkloadSpec changed = inquiry_.spec();
    for (const ModelName& other : others) {
      changed.resources.gpu_models = {other};
      if (!starts(changed)) continue;
      changes_.push_back({.dimension = Dimension::kModel,
                          .from_word = from,
                          .to_word = other.text,
                          .text = fmt::format("allow {} besides {}", other.text, from)});
      return;
    }
  }

  // Nearest first, and of two as near the lower: it asks for less.
  std::vector<Class> nearest_classes() const {
    int own = static_cast<int>(inquiry_.spec().priority_class);
    std::vector<Class> classes;
    for (int distance = 1; distance < static_cast<int>(kWords<Class>.size()); ++distance) {
      for (int other : {own + distance, own - distance}) {
        if (other >= 0 && other < static_cast<int>(kWords<Class>.size())) classes.push_back(static_cast<Class>(other));
      }
    }
    return classes;
  }

  bool starts_after_evictions(const WorkloadSpec& changed) const {
    Applicant applicant{changed, inquiry_.applicant.path, inquiry_.applicant.id};
    Overlay::Mark mark = inquiry_.overlay.checkpoint();
    bool found = EvictionSearch(inquiry_.overlay, applicant, inquiry_.stock).run().has_value();
    inquiry_.overlay.rollback(mark);
    return found;
  }

  void priority_class() {
    std::string from(to_text(inquiry_.spec().priority_class));
    WorkloadSpec changed = inquiry_.spec();
    auto try_all = [&](auto works, bool now, std::string_view then) {
      for (Class other : nearest_classes()) {
        changed.priority_class = other;
        if (!works(changed)) continue;
        std::string to(to_text(other));
        changes_.push_back({.dimension = Dimension::kClass,
                            .from_word = from,
                            .to_word = to,
                            .text = fmt::format("with class {} instead of {} it would {}", to, from, then),
                            .starts_now = now});
        return true;
      }
      return false;
    };
    if (try_all([&](const WorkloadSpec& spec) { return starts(spec); }, true, "start now")) return;
    if (starts_after_evictions(inquiry_.spec())) return;  // it will, as it is
    try_all([&](const WorkloadSpec& spec) { return starts_after_evictions(spec); }, false,
            "evict others and start when they have left");
  }

  void replicas() {
    int64_t asked = inquiry_.spec().replicas.min;
    auto found = largest(1, asked - 1, [](WorkloadSpec& spec, int64_t n) { spec.replicas.min = n; });
    if (!found) return;
    add(Dimension::kReplicas, asked, *found,
        fmt::format("start with {} instead of {}", count_words(*found, "replica"), asked));
  }

  std::string each() const { return inquiry_.replicas() == 1 ? "" : " for each replica"; }

  const Inquiry& inquiry_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Change> find_changes(const Inquiry& inquiry) {
  if (can_start(inquiry)) return {};
  return Finder(inquiry).all();
}

}  // namespace moulin
