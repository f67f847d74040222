// Too few free devices of the wanted models: none, too small, or in pieces.
#include <fmt/format.h>

#include "scheduler/explain/free_room.h"
#include "scheduler/explain/words.h"
#include "scheduler/placement/fit.h"

namespace moulin {

namespace {

Resources gpu_only(const Inquiry& inquiry) {
  Resources resources = inquiry.spec().resources;
  resources.cpu = {};
  resources.memory = {};
  return resources;
}

// The least that all replicas take: memory requests on the largest device there is.
Share needed(const Inquiry& inquiry) {
  const GpuRequest& gpu = inquiry.spec().resources.gpu;
  if (gpu.form != GpuForm::kMemory) return gpu.share * gpu.count * inquiry.replicas();
  Share least = kWholeDevice;
  for (const auto& [make, count] : inquiry.overlay.index().makes()) {
    for (const OfferCount& entry : make.empty.offers) {
      if (!may_use_model(inquiry.spec().resources, entry.offer.model)) continue;
      if (auto need = need_on(inquiry.spec().resources, entry.offer)) least = std::min(least, need->share);
    }
  }
  return least * inquiry.replicas();
}

std::string models_words(const std::vector<ModelName>& models) {
  std::string words;
  for (const ModelName& model : models) words += (words.empty() ? "" : " or ") + model.text;
  return words;
}

std::string where_words(const Inquiry& inquiry) {
  const std::vector<ModelName>& models = inquiry.spec().resources.gpu_models;
  return models.empty() ? "" : " on " + models_words(models);
}

std::string request_of_all(const Inquiry& inquiry) {
  std::string one = request_words(inquiry.spec().resources);
  return inquiry.replicas() == 1 ? one : fmt::format("{} for each of {} replicas", one, inquiry.replicas());
}

Reason no_gpu_memory(const FreeRoom& room, const Inquiry& inquiry) {
  const GpuRequest& gpu = inquiry.spec().resources.gpu;
  Reason reason{.code = ReasonCode::kNoGpuMemory};
  reason.numbers = {{"largest_bytes", room.memory_on_device.amount}};
  if (gpu.form == GpuForm::kMemory) reason.numbers["needed_bytes"] = gpu.memory.count;
  reason.names = {{"node", room.memory_on_device.node.text}};
  reason.text = fmt::format("asks for {}{}; the most that is free on one device is {}, on node {}",
                            request_words(inquiry.spec().resources), where_words(inquiry),
                            to_text(Bytes{room.memory_on_device.amount}), room.memory_on_device.node.text);
  return reason;
}

Reason no_capacity(const FreeRoom& room, const Inquiry& inquiry) {
  bool any = room.gpu_milli > 0;
  Reason reason{.code = ReasonCode::kNoCapacity};
  reason.numbers = {{"free_milli", room.gpu_milli},
                    {"needed_milli", needed(inquiry).milli},
                    {"largest_milli", room.gpu_on_node.amount}};
  if (any) reason.names = {{"node", room.gpu_on_node.node.text}};
  std::string largest = any ? fmt::format("; most of it, {}, on node {}", gpu_words({room.gpu_on_node.amount}),
                                          room.gpu_on_node.node.text)
                            : "";
  reason.text = fmt::format("asks for {}{}; {} in all{}", request_of_all(inquiry), where_words(inquiry),
                            any ? gpu_words({room.gpu_milli}) + " free" : "no GPU is free", largest);
  return reason;
}

Reason fragmented(const FreeRoom& room, const Inquiry& inquiry) {
  bool part = inquiry.spec().resources.gpu.form != GpuForm::kDevices && inquiry.spec().resources.gpu.count == 1;
  const Most& most = part ? room.gpu_on_device : room.gpu_on_node;
  Reason reason{.code = ReasonCode::kFragmented};
  reason.numbers = {
      {"free_milli", room.gpu_milli}, {"needed_milli", needed(inquiry).milli}, {"largest_milli", most.amount}};
  reason.names = {{"node", most.node.text}};
  reason.text = fmt::format("{} free in all, but not together: asks for {}{}, and the most on one {} is {}, on node {}",
                            gpu_words({room.gpu_milli}), request_of_all(inquiry), where_words(inquiry),
                            part ? "device" : "node", gpu_words({most.amount}), most.node.text);
  return reason;
}

// Whether shares enough for one replica are free on a node that lacks only the memory,
// beside foreign processes.
bool lacks_memory_only(const Inquiry& inquiry) {
  const Resources& resources = inquiry.spec().resources;
  if (resources.gpu.form == GpuForm::kMemory) return true;
  for (const auto& [shape, group] : inquiry.overlay.room().groups()) {
    if (!may_use_pool(inquiry.spec(), shape.pool)) continue;
    int64_t large_enough = 0;
    for (const OfferCount& entry : shape.offers) {
      auto need = need_on(resources, entry.offer);
      if (!need || !may_use_model(resources, entry.offer.model)) continue;
      if (need->share < kWholeDevice && need->share <= entry.offer.free) large_enough += entry.count;
    }
    if (large_enough >= resources.gpu.count) return true;
  }
  return false;
}

}  // namespace

void explain_model(const Inquiry& inquiry, Reasons& reasons) {
  Resources resources = gpu_only(inquiry);
  if (resources.gpu_models.empty() || replicas_with(inquiry, resources) >= inquiry.replicas()) return;
  std::string wanted = models_words(resources.gpu_models);
  resources.gpu_models.clear();
  if (replicas_with(inquiry, resources) < inquiry.replicas()) return;
  Reason reason{.code = ReasonCode::kModelUnavailable};
  int64_t free = free_gpu_milli(inquiry);
  reason.numbers = {{"free_milli", free}, {"needed_milli", needed(inquiry).milli}};
  reason.names = {{"model", wanted}};
  reason.text = fmt::format("not enough {} is free ({}), while devices of other models are", wanted, gpu_words({free}));
  reasons.push_back(std::move(reason));
}

void explain_gpu(const Inquiry& inquiry, Reasons& reasons) {
  if (inquiry.spec().resources.gpu.form == GpuForm::kNone) return;
  int64_t fitting = replicas_with(inquiry, gpu_only(inquiry));
  if (fitting >= inquiry.replicas()) return;
  int64_t free = free_gpu_milli(inquiry);
  bool enough = free >= needed(inquiry).milli;
  bool memory = fitting == 0 && free > 0 && lacks_memory_only(inquiry);
  FreeRoom room;
  if (!inquiry.codes_only()) room = free_room(inquiry);
  if (!enough) reasons.push_back(no_capacity(room, inquiry));
  if (memory) reasons.push_back(no_gpu_memory(room, inquiry));
  if (enough && !memory) reasons.push_back(fragmented(room, inquiry));
}

void explain_gang(const Inquiry& inquiry, Reasons& reasons) {
  int64_t fitting = replicas_with(inquiry, inquiry.spec().resources);
  if (fitting == 0 || fitting >= inquiry.replicas()) return;
  Reason reason{.code = ReasonCode::kGangShort};
  reason.numbers = {{"fitting", fitting}, {"needed", inquiry.replicas()}};
  reason.text = fmt::format("{} of its {} fit now; they start together or not at all", fitting,
                            count_words(inquiry.replicas(), "replica"));
  reasons.push_back(std::move(reason));
}

}  // namespace moulin
