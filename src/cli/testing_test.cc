// The parts of testing.h that are compiled once.
#include "cli/testing.h"

#include <fcntl.h>
#include <unistd.h>

namespace moulin::cli::testing {

int FakeInterrupts::take() {
  char byte = 0;
  if (::read(read_end_, &byte, 1) != 1) return 0;
  return signal_.exchange(0);
}

Run::Run() {
  REQUIRE(::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) == 0);
  variables_ = {{"HOME", "/home/ada"}, {"MOULIN_TOKEN", "secret"}};
}

Run::~Run() {
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

Run& Run::with_server(const FakeServer& server) { return with_variable("MOULIN_URL", server.url()); }

Run& Run::with_variable(const std::string& name, const std::string& value) {
  variables_[name] = value;
  return *this;
}

Run& Run::with_file(const std::string& path, const std::string& text) {
  files_[path] = text;
  return *this;
}

Run& Run::with_person(std::vector<std::string> answers) {
  has_person_ = true;
  typed_ = std::move(answers);
  return *this;
}

Run& Run::with_terminal(const View& view) {
  view_ = view;
  return *this;
}

void Run::interrupt(int signal) {
  signal_ = signal;
  CHECK(::write(pipe_[1], "x", 1) == 1);
}

int Run::operator()(std::vector<std::string_view> arguments) {
  out.clear();
  err.clear();
  auto ask = [&](std::string_view question, Interrupts&) {
    err += question;
    if (typed_.empty()) return std::string();
    std::string answer = typed_.front();
    typed_.erase(typed_.begin());
    return answer;
  };
  auto missing = [](const std::string& path) {
    return Error{.code = Code::kNotFound, .message = "cannot be read", .field = path};
  };
  Surroundings surroundings{.variable = [&](std::string_view name) { return variables_[std::string(name)]; },
                            .folder = "/data/ada",
                            .read_file = [&](const std::string& path, size_t) -> Result<std::string> {
                              if (!files_.contains(path)) return missing(path);
                              return files_[path];
                            },
                            .write_private_file = [&](const std::string& path, const std::string& text) -> Status {
                              files_[path] = text;
                              return {};
                            },
                            .remove_file = [&](const std::string& path) -> Status {
                              if (files_.erase(path) == 0) return missing(path);
                              return {};
                            },
                            .random_hex = [](size_t bytes) { return std::string(bytes * 2, '7'); },
                            .hold_interrupts = [&] { return std::make_unique<FakeInterrupts>(pipe_[0], signal_); },
                            .ask_person = ask,
                            .ask_secret = ask};
  ConsoleParts parts{.write_out = [&](std::string_view text) { out += text; },
                     .write_err = [&](std::string_view text) { err += text; },
                     .now = sample_now,
                     .out_view = view_,
                     .err_view = view_,
                     .is_interactive = has_person_};
  return run_program(arguments, std::move(parts), surroundings, {});
}

}  // namespace moulin::cli::testing
