#include "cli/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json_reader.h"
#include "base/yaml.h"

namespace moulin::cli {

namespace {

constexpr size_t kFileBytesMax = 1 << 20;  // what the server takes in one request

// Options whose text goes into a field of the same meaning as it is.
struct Field {
  std::string_view option;
  std::string_view path;  // at most two names, joined by '.'
};
constexpr std::array<Field, 17> kFields{{{"name", "name"},
                                         {"kind", "kind"},
                                         {"class", "class"},
                                         {"array", "array"},
                                         {"code", "code"},
                                         {"cpu", "resources.cpu"},
                                         {"memory", "resources.memory"},
                                         {"isolation", "resources.isolation"},
                                         {"checkpoint", "checkpoint.path"},
                                         {"grace", "checkpoint.grace"},
                                         {"duration", "limits.duration"},
                                         {"min-runtime", "min_runtime"},
                                         {"project", "project"},
                                         // Set by functions of their own:
                                         {"gpu", "resources.gpu"},
                                         {"gpu-model", "resources.gpu_model"},
                                         {"replicas", "replicas"},
                                         {"priority", "priority"}}};
constexpr size_t kPlainFields = 13;

// The member at a path of one or two names, made when absent.
void set_at(Json& document, std::string_view path, Json value) {
  size_t point = path.find('.');
  if (point == std::string_view::npos) {
    document.set(path, std::move(value));
    return;
  }
  std::string_view outer = path.substr(0, point);
  const Json* there = document.find(outer);
  Json inner = there != nullptr && there->is_object() ? *there : Json(JsonObject{});
  inner.set(path.substr(point + 1), std::move(value));
  document.set(outer, std::move(inner));
}

bool is_whole(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A whole number as such, so that the server reads one; anything else as text.
Json number_or_text(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  bool good = is_whole(digits) && (digits.size() == 1 || digits.front() != '0');
  return good ? Json(JsonNumber{text}) : Json(text);
}

// "4", or "2-8" for an elastic range.
Json replicas_document(const std::string& text) {
  size_t dash = text.find('-');
  if (dash == std::string::npos || dash == 0) return number_or_text(text);
  return Json::object({{"min", number_or_text(text.substr(0, dash))}, {"max", number_or_text(text.substr(dash + 1))}});
}

// KEY=VALUE; with `surroundings`, KEY alone takes the value from our own environment.
Status add_pairs(const Call& call, std::string_view option, const Surroundings* surroundings, Json& document) {
  std::string_view member = option == "env" ? "env" : "tags";
  const Json* there = document.find(member);
  Json members = there != nullptr ? *there : Json(JsonObject{});
  for (const std::string& pair : call.values(option)) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos && surroundings == nullptr) {
      return Error{.code = Code::kInvalid,
                   .message = "has no value",
                   .field = fmt::format("--{}", option),
                   .given = shortened(pair),
                   .allowed = "KEY=VALUE"};
    }
    std::string value = equals == std::string::npos ? surroundings->variable(pair) : pair.substr(equals + 1);
    members.set(pair.substr(0, equals), value);
  }
  if (!members.members().empty()) document.set(member, std::move(members));
  return {};
}

void set_folder(const Call& call, const Surroundings& surroundings, Json& document) {
  std::string folder = surroundings.folder;
  if (const std::string* named = call.value("folder")) {
    folder = named->starts_with('/') ? *named : fmt::format("{}/{}", surroundings.folder, *named);
  } else if (document.find("folder") != nullptr) {
    return;
  }
  document.set("folder", folder);
}

std::string folder_of(const std::string& path, const std::string& current) {
  size_t slash = path.rfind('/');
  if (path == "-" || slash == std::string::npos) return current;
  std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  return folder.starts_with('/') ? folder : fmt::format("{}/{}", current, folder);
}

// Makes the folder of a document absolute; leaves what is no text to the server.
void complete_folder(Json& document, const std::string& folder) {
  if (!document.is_object()) return;
  const Json* named = document.find("folder");
  if (named == nullptr || named->is_null()) {
    document.set("folder", folder);
  } else if (named->is_string() && !named->string().empty() && !named->string().starts_with('/')) {
    document.set("folder", fmt::format("{}/{}", folder, named->string()));
  }
}

}  // namespace

Json gpu_document(const std::string& text) {
  size_t times = text.find('x');
  if (times != std::string::npos && is_whole(std::string_view(text).substr(0, times))) {
    return Json::object({{"count", number_or_text(text.substr(0, times))}, {"share", text.substr(times + 1)}});
  }
  if (text.ends_with('B')) return Json::object({{"memory", text}});
  return text;
}

Result<Json> document_of_run(const Call& call, const Surroundings& surroundings, Json base) {
  Json document = base.is_object() ? std::move(base) : Json(JsonObject{});
  if (std::string project = surroundings.variable("MOULIN_PROJECT"); !project.empty() && !document.find("project")) {
    document.set("project", project);
  }
  for (size_t i = 0; i < kPlainFields; ++i) {
    if (const std::string* text = call.value(kFields[i].option)) set_at(document, kFields[i].path, *text);
  }
  if (const std::string* gpu = call.value("gpu")) set_at(document, "resources.gpu", gpu_document(*gpu));
  if (const std::string* replicas = call.value("replicas")) document.set("replicas", replicas_document(*replicas));
  if (const std::string* priority = call.value("priority")) document.set("priority", number_or_text(*priority));
  JsonArray models;
  for (const std::string& model : call.values("gpu-model")) models.emplace_back(model);
  if (!models.empty()) set_at(document, "resources.gpu_model", std::move(models));
  JsonArray pools;
  for (const std::string& pool : call.values("pool")) pools.emplace_back(pool);
  if (!pools.empty()) document.set("pools", std::move(pools));
  TRY(add_pairs(call, "env", &surroundings, document));
  TRY(add_pairs(call, "tag", nullptr, document));
  set_folder(call, surroundings, document);
  JsonArray command;
  for (const std::string& argument : call.command) command.emplace_back(argument);
  if (!command.empty()) document.set("run", std::move(command));
  return document;
}

Result<std::vector<Json>> documents_of_file(const std::string& path, const Surroundings& surroundings) {
  std::string text = TRY(surroundings.read_file(path, kFileBytesMax));
  std::vector<Json> documents;
  if (path.ends_with(".json")) {
    documents.push_back(TRY(at_path(path, parse_json(text))));
  } else {
    documents = TRY(at_path(path, parse_yaml_documents(text)));
  }
  if (documents.empty()) {
    return Error{.code = Code::kInvalid, .message = "holds no workload", .field = path, .to_do = "write one into it"};
  }
  std::string folder = folder_of(path, surroundings.folder);
  for (Json& document : documents) complete_folder(document, folder);
  return documents;
}

std::string field_of_run(const std::string& field) {
  std::string path = field_of_file(field, 1);
  if (path == "run" || path.starts_with("run[")) return "the command";
  if (path == "folder") return "--folder";
  for (const Field& known : kFields) {
    bool is_inside = path.starts_with(known.path) && path.size() > known.path.size() &&
                     (path[known.path.size()] == '[' || path[known.path.size()] == '.');
    if (path == known.path || is_inside) return fmt::format("--{}", known.option);
  }
  if (path.starts_with("env.")) return "--env " + path.substr(4);
  if (path.starts_with("tags.")) return "--tag " + path.substr(5);
  if (path.starts_with("pools")) return "--pool";
  return path;
}

std::string field_of_file(const std::string& field, size_t count) {
  constexpr std::string_view kList = "workloads[";
  size_t close = field.find(']');
  if (!field.starts_with(kList) || close == std::string::npos) return field;
  size_t index = 0;
  std::from_chars(field.data() + kList.size(), field.data() + close, index);
  std::string path = field.substr(std::min(field.size(), close + 2));
  return count == 1 ? path : fmt::format("document {}: {}", index + 1, path);
}

}  // namespace moulin::cli
