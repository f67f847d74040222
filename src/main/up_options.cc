#include "main/up_options.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "base/json_reader.h"
#include "cli/access.h"
#include "main/local_verbs.h"

namespace moulin {

namespace {

Result<TcpAddress> parse_listen(std::string_view text) {
  size_t colon = text.rfind(':');
  int port = -1;
  if (colon != std::string_view::npos) {
    std::string_view digits = text.substr(colon + 1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc{} || end != digits.data() + digits.size()) port = -1;
  }
  if (colon == 0 || port < 0 || port > 65535) {
    return Error{.code = Code::kInvalid,
                 .message = "not an address to listen on",
                 .field = "--listen",
                 .given = std::string(text.substr(0, 200)),
                 .allowed = "HOST:PORT with a port from 0 to 65535, such as 127.0.0.1:6468"};
  }
  std::string host(text.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return TcpAddress{.host = host, .port = static_cast<uint16_t>(port)};
}

// "gpu.example.org", as browsers and proxies send it.
Result<std::string> parse_host_name(const std::string& text) {
  Result<HostAndPort> host = parse_host(text);
  if (host && !host->port) return host->host;
  return Error{.code = Code::kInvalid,
               .message = "not the name of a host",
               .field = "--host",
               .given = text.substr(0, 200),
               .allowed = "a name or an address without port, such as gpu.example.org"};
}

Result<UpOptions::EngineKind> parse_engine(const std::string& word) {
  if (word == "local") return UpOptions::EngineKind::kLocal;
  if (word == "virtual") return UpOptions::EngineKind::kVirtual;
  return Error{.code = Code::kInvalid,
               .message = "no such engine",
               .field = "--engine",
               .given = word.substr(0, 200),
               .allowed = "local or virtual"};
}

// What does not go together.
Status check(const UpOptions& options) {
  if (options.engine == UpOptions::EngineKind::kVirtual && options.simulate.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "the virtual engine runs nothing, and so has no use for real devices",
                 .field = "--engine",
                 .given = "virtual",
                 .to_do = "say which devices to pretend: --simulate 8xH100-80GB"};
  }
  if (!options.unit_folder.empty() && !options.wants_service) {
    return Error{.code = Code::kInvalid,
                 .message = "is for --service only",
                 .field = "--unit-folder",
                 .given = options.unit_folder.substr(0, 200),
                 .to_do = "add --service, or leave it out"};
  }
  if (options.origin == FolderOrigin::kCopy && options.wants_service) {
    return Error{.code = Code::kInvalid,
                 .message = "is said once, and not at each start of a service",
                 .field = "--copy",
                 .to_do = "start `moulin up --copy` once by hand, then install the service"};
  }
  return {};
}

}  // namespace

Result<UpOptions> read_up_options(const Call& call) {
  UpOptions options{.data = data_folder_of(call), .listen = {.host = "127.0.0.1", .port = cli::kUsualPort}};
  if (const std::string* listen = call.value("listen")) options.listen = TRY(parse_listen(*listen));
  for (const std::string& host : call.values("host")) options.hosts.push_back(TRY(parse_host_name(host)));
  if (const std::string* path = call.value("base-path")) {
    Result<std::string> base_path = parse_base_path(*path);
    if (!base_path) {
      Error error = base_path.error();
      error.field = "--base-path";
      return error;
    }
    options.base_path = *base_path;
  }
  if (const std::string* simulate = call.value("simulate")) options.simulate = *simulate;
  if (const std::string* engine = call.value("engine")) options.engine = TRY(parse_engine(*engine));
  if (const std::string* age = call.value("keep-logs")) {
    options.logs_kept.age = TRY(at_path("--keep-logs", parse_duration(*age)));
  }
  if (const std::string* size = call.value("keep-logs-size")) {
    options.logs_kept.size = TRY(at_path("--keep-logs-size", parse_bytes(*size)));
  }
  if (call.has("copy")) options.origin = FolderOrigin::kCopy;
  options.wants_service = call.has("service");
  if (const std::string* folder = call.value("unit-folder"))
    options.unit_folder = std::filesystem::absolute(*folder).lexically_normal().string();
  TRY(check(options));
  return options;
}

std::vector<std::string> service_arguments(const UpOptions& options) {
  bool is_ipv6 = options.listen.host.contains(':');
  std::string listen =
      fmt::format(fmt::runtime(is_ipv6 ? "[{}]:{}" : "{}:{}"), options.listen.host, options.listen.port);
  std::vector<std::string> arguments{"--data", options.data, "--listen", listen};
  auto add = [&](std::string option, std::string value) {
    arguments.push_back(std::move(option));
    arguments.push_back(std::move(value));
  };
  for (const std::string& host : options.hosts) add("--host", host);
  if (!options.base_path.empty()) add("--base-path", options.base_path);
  if (!options.simulate.empty()) add("--simulate", options.simulate);
  if (options.engine == UpOptions::EngineKind::kVirtual) add("--engine", "virtual");
  if (options.logs_kept.age != LogsKept{}.age) add("--keep-logs", to_text(options.logs_kept.age));
  if (options.logs_kept.size != LogsKept{}.size) add("--keep-logs-size", to_text(options.logs_kept.size));
  return arguments;
}

}  // namespace moulin
