// Too little CPU or memory: anywhere, or where the other things that it needs are free.
#include <fmt/format.h>

#include "scheduler/explain/free_room.h"
#include "scheduler/explain/words.h"

namespace moulin {

namespace {

enum class Beside { kCpu, kMemory };

Resources without(Resources resources, Beside what) {
  if (what == Beside::kCpu)
    resources.cpu = {};
  else
    resources.memory = {};
  return resources;
}

// Whether this part blocks: by itself, together with any other part alone, or as the one
// part without which the rest would fit.
bool blocks(const Inquiry& inquiry, Beside what) {
  const Resources& all = inquiry.spec().resources;
  Beside other = what == Beside::kCpu ? Beside::kMemory : Beside::kCpu;
  auto fits = [&](const Resources& resources) { return replicas_with(inquiry, resources) >= inquiry.replicas(); };
  Resources beside_gpu = without(all, other);
  Resources beside_other = all;
  beside_other.gpu = {};
  Resources alone = without(beside_other, other);
  if (!fits(alone)) return true;
  bool gpu_fits = fits(without(without(all, what), other));
  if (gpu_fits && !fits(beside_gpu)) return true;
  if (fits(without(beside_other, what)) && !fits(beside_other)) return true;
  return fits(without(all, what)) && !fits(all);
}

Reason too_little(const Inquiry& inquiry, Beside what) {
  bool cpu = what == Beside::kCpu;
  if (inquiry.codes_only()) return {.code = cpu ? ReasonCode::kNoCpu : ReasonCode::kNoMemory};
  FreeRoom room = free_room(inquiry);
  const Resources& resources = inquiry.spec().resources;
  const Most& beside = cpu ? room.cpu_beside : room.memory_beside;
  const Most& anywhere = cpu ? room.cpu : room.memory;
  bool near_gpu = resources.gpu.form != GpuForm::kNone && !beside.node.empty();
  const Most& most = near_gpu ? beside : anywhere;
  int64_t asked = cpu ? resources.cpu.milli : resources.memory.count;
  auto words = [&](int64_t amount) { return amount_words(cpu ? Resource::kCpu : Resource::kMemory, amount); };
  Reason reason{.code = cpu ? ReasonCode::kNoCpu : ReasonCode::kNoMemory};
  reason.numbers = {{cpu ? "needed_milli" : "needed_bytes", asked},
                    {cpu ? "largest_milli" : "largest_bytes", most.amount}};
  if (!most.node.empty()) reason.names = {{"node", most.node.text}};
  std::string each = inquiry.replicas() == 1 ? "" : fmt::format(" for each of {} replicas", inquiry.replicas());
  if (most.node.empty())
    reason.text = fmt::format("asks for {}{}; no node takes work", words(asked), each);
  else
    reason.text = fmt::format("asks for {}{}; the most that is free on one node{} is {}, on {}", words(asked), each,
                              near_gpu ? " with the GPUs it needs" : "", words(std::max<int64_t>(most.amount, 0)),
                              most.node.text);
  return reason;
}

}  // namespace

void explain_beside_gpu(const Inquiry& inquiry, Reasons& reasons) {
  const Resources& resources = inquiry.spec().resources;
  if (resources.cpu.milli > 0 && blocks(inquiry, Beside::kCpu)) reasons.push_back(too_little(inquiry, Beside::kCpu));
  if (resources.memory.count > 0 && blocks(inquiry, Beside::kMemory))
    reasons.push_back(too_little(inquiry, Beside::kMemory));
}

}  // namespace moulin
