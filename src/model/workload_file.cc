#include "model/workload_file.h"

#include <optional>

#include "base/json_reader.h"
#include "model/gpu_request.h"
#include "model/workload_array.h"
#include "model/workload_fields.h"

namespace moulin {

namespace {

constexpr std::string_view kKnown[] = {"kind",       "name",     "project", "run",      "folder", "code",
                                       "resources",  "replicas", "class",   "priority", "pools",  "min_runtime",
                                       "checkpoint", "retry",    "limits",  "array",    "env",    "tags"};
constexpr std::string_view kNotBuilt[] = {"image", "idle",       "after",    "secrets",  "volumes", "ports",
                                          "roles", "not_before", "deadline", "topology", "affinity"};
constexpr Fields kFields{.known = kKnown, .not_built = kNotBuilt};

// The name of a workload or project: the member, or its default when that is absent.
Result<std::string> read_name(const ObjectReader& reader, std::string_view member, std::string_view what,
                              const std::string& fallback) {
  const Json* value = fallback.empty() ? TRY(reader.require(member)) : reader.find(member);
  if (value == nullptr) return fallback;
  if (!value->is_string()) return wrong_value(*value, reader.path_of(member), "a name in quotes");
  TRY(at_path(reader.path_of(member), check_name(what, value->string())));
  return value->string();
}

Status read_identity(const ObjectReader& reader, const WorkloadDefaults& defaults, WorkloadSpec& spec) {
  if (const Json* kind = reader.find("kind")) spec.kind = TRY(read_word<Kind>(*kind, "kind", "kind"));
  spec.name = TRY(read_name(reader, "name", "workload", defaults.name));
  spec.project = TreeName(TRY(read_name(reader, "project", "project", defaults.project.text)));
  if (const Json* code = reader.find("code"))
    spec.code = TRY(read_word<CodeMode>(*code, "code", "way to hold the code"));
  return {};
}

Status read_precedence(const ObjectReader& reader, WorkloadSpec& spec) {
  spec.priority_class = default_class(spec.kind);
  if (const Json* word = reader.find("class")) spec.priority_class = TRY(read_word<Class>(*word, "class", "class"));
  if (const Json* priority = reader.find("priority")) {
    spec.priority = TRY(read_integer(*priority, "priority", {.min = -kPriorityMax, .max = kPriorityMax}));
  }
  spec.min_runtime = TRY(workload_fields::read_duration(reader, "min_runtime", {}, {}));
  return {};
}

// What a document says: one workload, and perhaps how many of it.
struct WorkloadDocument {
  WorkloadSpec spec;
  std::optional<ArrayRange> array;
};

Result<WorkloadDocument> read_document(const Json& value, const WorkloadDefaults& defaults) {
  ObjectReader reader = TRY(ObjectReader::open(value, "", kFields));
  WorkloadDocument document;
  WorkloadSpec& spec = document.spec;
  TRY(read_identity(reader, defaults, spec));
  TRY(workload_fields::read_run(reader, spec));
  TRY(workload_fields::read_folder(reader, defaults, spec));
  TRY(workload_fields::read_resources(reader, spec));
  TRY(workload_fields::read_replicas(reader, spec));
  TRY(read_precedence(reader, spec));
  TRY(workload_fields::read_checkpoint(reader, spec));
  TRY(workload_fields::read_retry(reader, spec));
  TRY(workload_fields::read_limits(reader, spec));
  TRY(workload_fields::read_environment(reader, spec));
  TRY(workload_fields::read_tags(reader, spec));
  TRY(workload_fields::read_pools(reader, spec));
  if (const Json* array = reader.find("array")) document.array = TRY(read_array_range(*array, "array"));
  return document;
}

}  // namespace

Result<WorkloadSpec> read_workload(const Json& document, const WorkloadDefaults& defaults) {
  WorkloadDocument read = TRY(read_document(document, defaults));
  if (!read.array) return std::move(read.spec);
  return Error{.code = Code::kInvalid,
               .message = "makes many workloads where one is wanted",
               .field = "array",
               .given = std::to_string(read.array->count()) + " elements",
               .to_do = "remove it"};
}

Result<std::vector<WorkloadElement>> read_workloads(const Json& document, const WorkloadDefaults& defaults) {
  WorkloadDocument read = TRY(read_document(document, defaults));
  if (read.array) return expand_array(read.spec, *read.array);
  return std::vector<WorkloadElement>{{std::move(read.spec), Origin{}}};
}

}  // namespace moulin
