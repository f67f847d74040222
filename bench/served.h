// Shared by the benchmarks of the whole server: `moulin up` as a child process.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "api/http_client.h"
#include "base/check.h"
#include "base/json.h"

namespace moulin::bench {

// Where this program was built.
inline std::filesystem::path build_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
}

// A new folder below `parent`, removed in the end.
class Scratch {
 public:
  explicit Scratch(const std::string& parent) : path_(std::filesystem::absolute(parent).string() + "/bench-XXXXXX") {
    MOULIN_CHECK(::mkdtemp(path_.data()) != nullptr, "a folder for the data can be made");
  }
  Scratch(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Served {
 public:
  Served(const std::string& data, const std::string& options = "--simulate 8xH100-80GB") {
    std::string command = "exec " + (build_folder() / "moulin").string() + " up --json --listen 127.0.0.1:0 --data " +
                          data + " " + options;
    int pipe[2];
    MOULIN_CHECK(::pipe2(pipe, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
    const char* arguments[] = {"/bin/sh", "-c", command.c_str(), nullptr};
    MOULIN_CHECK(::posix_spawn(&pid_, "/bin/sh", &actions, nullptr, const_cast<char**>(arguments), environ) == 0);
    ::close(pipe[1]);
    std::string line;
    for (char c = 0; ::read(pipe[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(pipe[0]);
    Result<Json> said = parse_json(line);
    MOULIN_CHECK(said.has_value() && said->find("url") != nullptr, "the server serves");
    url = said->find("url")->string();
    std::ifstream(said->find("token_file")->string()) >> token;
  }
  Served(const Served&) = delete;
  ~Served() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }

  // "VmRSS", or "VmHWM" for the highest so far.
  double memory_mb(std::string_view which = "VmRSS") const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string word; status >> word;) {
      if (word != std::string(which) + ":") continue;
      double kib = 0;
      status >> kib;
      return kib / 1024;
    }
    return 0;
  }
  uint16_t port() const { return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))); }
  HttpClient client() const { return HttpClient(parse_endpoint(url).value(), {.token = token}); }

  std::string url;
  std::string token;

 private:
  pid_t pid_ = 0;
};

}  // namespace moulin::bench
