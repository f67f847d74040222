// The writing half of workload_file.h.
#include "model/gpu_request.h"
#include "model/workload_file.h"

namespace moulin {

namespace {

Json resources_document(const Resources& resources) {
  Json document;
  if (resources.gpu.form != GpuForm::kNone) document.set("gpu", write_gpu_request(resources.gpu));
  for (const ModelName& model : resources.gpu_models) {
    if (document.find("gpu_model") == nullptr) document.set("gpu_model", JsonArray{});
    document.members().back().second.push(model.text);
  }
  if (resources.isolation != IsolationWish::kAny) document.set("isolation", to_text(resources.isolation));
  if (resources.cpu.milli != 0) document.set("cpu", JsonNumber{to_text(resources.cpu)});
  if (resources.memory.count != 0) document.set("memory", to_text(resources.memory));
  return document;
}

Json retry_document(const Retry& retry) {
  JsonArray causes;
  if (retry.on_failed) causes.emplace_back("failed");
  if (retry.on_node_lost) causes.emplace_back("node_lost");
  return Json::object({{"on", std::move(causes)}, {"max", retry.max}, {"back_off", to_text(retry.back_off)}});
}

Json checkpoint_document(const WorkloadSpec& spec) {
  Json document{JsonObject{}};
  if (!spec.checkpoint_path.empty()) document.set("path", spec.checkpoint_path);
  return document.set("grace", to_text(spec.grace));
}

Json command_document(const WorkloadSpec& spec) {
  if (spec.shell) return spec.argv.back();
  JsonArray arguments;
  for (const std::string& argument : spec.argv) arguments.emplace_back(argument);
  return arguments;
}

Json texts_document(const std::map<std::string, std::string>& texts) {
  JsonObject members;
  for (const auto& [name, text] : texts) {
    if (!name.starts_with("MOULIN_")) members.emplace_back(name, text);
  }
  return members;
}

}  // namespace

Json write_workload(const WorkloadSpec& spec) {
  const WorkloadSpec defaults;
  Json document = Json::object({{"kind", to_text(spec.kind)},
                                {"name", spec.name},
                                {"project", spec.project.text},
                                {"run", command_document(spec)}});
  auto set = [&](std::string_view name, bool is_wanted, Json value) {
    if (is_wanted) document.set(name, std::move(value));
  };
  set("folder", !spec.folder.empty(), spec.folder);
  set("code", spec.code != defaults.code, to_text(spec.code));
  set("resources", spec.resources != defaults.resources, resources_document(spec.resources));
  if (spec.replicas.min != spec.replicas.max) {
    document.set("replicas", Json::object({{"min", spec.replicas.min}, {"max", spec.replicas.max}}));
  } else {
    set("replicas", spec.replicas.min != 1, spec.replicas.min);
  }
  document.set("class", to_text(spec.priority_class));
  set("priority", spec.priority != 0, spec.priority);
  set("min_runtime", spec.min_runtime != defaults.min_runtime, to_text(spec.min_runtime));
  set("checkpoint", spec.checkpoints, checkpoint_document(spec));
  set("retry", spec.retry != default_retry(spec.kind), retry_document(spec.retry));
  set("limits", spec.duration_limit != defaults.duration_limit,
      Json::object({{"duration", to_text(spec.duration_limit)}}));
  Json environment = texts_document(spec.environment);
  set("env", !environment.members().empty(), environment);
  set("tags", !spec.tags.empty(), texts_document(spec.tags));
  for (const PoolName& pool : spec.pools) {
    if (document.find("pools") == nullptr) document.set("pools", JsonArray{});
    document.members().back().second.push(pool.text);
  }
  return document;
}

}  // namespace moulin
