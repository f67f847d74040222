// One call of the program: what was asked, where output goes, and the server.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/api_client.h"
#include "cli/access.h"
#include "cli/call.h"
#include "cli/console.h"
#include "cli/surroundings.h"

namespace moulin::cli {

class Session {
 public:
  Session(Call call, Console& console, const Surroundings& surroundings)
      : call_(std::move(call)), console_(console), surroundings_(surroundings) {}

  const Call& call() const { return call_; }
  Console& console() { return console_; }
  const Surroundings& surroundings() const { return surroundings_; }

  // Where the server is and who we are; found once.
  Result<const Access*> access();

  // The answer of the server. An unreachable server is kUnavailable and says how to
  // start one; a missing token says where one comes from.
  template <class Operation, class... Body>
  Result<typename Operation::Answer> ask(const Operation& operation, const Body&... body) {
    ApiClient* api = TRY(client());
    return explained(api->ask(operation, body...));
  }
  Result<ApiClient*> client();
  // A connection of its own for a stream, which ends when `wake_descriptor` is readable.
  Result<std::unique_ptr<ApiClient>> connect(int wake_descriptor);
  // One that gives up when an answer takes longer than that.
  Result<std::unique_ptr<ApiClient>> connect(int wake_descriptor, Duration answer_time);

  // Prints an answer: as JSON, or as `render` puts it.
  template <class Answer>
  int show(const Answer& answer, std::string (*render)(const Answer&, const View&)) {
    if (console_.is_json()) {
      console_.print_json(wire::write(answer));
    } else {
      console_.print(render(answer, console_.view()));
    }
    return 0;
  }

  // Adds to an error of the connection what to do about it.
  Error explained(Error error) const;
  template <class T>
  Result<T> explained(Result<T> result) const {
    if (result) return result;
    return explained(std::move(result).error());
  }

 private:
  Call call_;
  Console& console_;
  const Surroundings& surroundings_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<ApiClient> client_;
};

// The workload that a person names: by id, by the beginning of an id, or by name (the
// unfinished one of that name, else the newest). `project` narrows names; empty: all. A
// whole id is taken at its word. kNotFound: none; kConflict: several, which the message
// lists.
Result<WorkloadId> find_workload(Session& session, const std::string& text, const std::string& project);

// The same for the first word of the call and its --project, which the verb must have.
Result<WorkloadId> named_workload(Session& session);

}  // namespace moulin::cli
