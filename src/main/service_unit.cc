#include "main/service_unit.h"

#include <fmt/format.h>

#include <algorithm>

namespace moulin {

namespace {

// Workloads outlive the server: systemd may end its main process only, and what the
// kernel ends for want of memory is one program, not the service.
constexpr const char* kUnit = R"([Unit]
Description=Moulin, the GPUs of this machine by turns
After=network.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={}
Restart=on-failure
RestartSec=1
KillMode=process
Delegate=yes
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=524288
TimeoutStartSec=infinity
TimeoutStopSec=30

[Install]
WantedBy={}
)";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,+=@").contains(c);
}

// A word of a command line as systemd reads it: in quotes where need be, and with $ and %
// doubled, which stand for variables and specifiers.
Result<std::string> unit_word(const std::string& word) {
  if (std::ranges::any_of(word, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return Error{.code = Code::kInvalid,
                 .message = "has a character that a unit of systemd cannot hold",
                 .given = word,
                 .to_do = "choose a path without line ends and other control characters"};
  }
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "\"";
  for (char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '$' || c == '%') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

Result<std::string> service_unit(const ServiceFacts& facts) {
  std::string command = TRY(unit_word(facts.program)) + " up";
  for (const std::string& argument : facts.arguments) command += ' ' + TRY(unit_word(argument));
  return fmt::format(kUnit, command, facts.scope == ServiceScope::kSystem ? "multi-user.target" : "default.target");
}

}  // namespace moulin
