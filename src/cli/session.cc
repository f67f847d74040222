#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>

namespace moulin::cli {

namespace {

constexpr int64_t kPageItems = 1000;
constexpr int kPagesMax = 20;  // of a search by the beginning of an id
constexpr std::string_view kUnreachable =
    "start a server with `moulin up`, or name one that runs with `moulin login` or MOULIN_URL";

bool is_unfinished(const wire::WorkloadSummary& workload) { return !is_finished(workload.state); }

Error not_found(const std::string& text) {
  return {.code = Code::kNotFound,
          .message = "no such workload",
          .given = shortened(text),
          .to_do = "see `moulin ps -a` for ids and names"};
}

Error ambiguous(const std::string& text, const std::vector<wire::WorkloadSummary>& found, std::string_view to_do) {
  std::string list;
  for (size_t i = 0; i < found.size() && i < 5; ++i) {
    list += fmt::format("{}{} ({}/{})", i == 0 ? "" : ", ", to_text(found[i].id), found[i].project, found[i].name);
  }
  if (found.size() > 5) list += fmt::format(" and {} more", found.size() - 5);
  return {.code = Code::kConflict,
          .message = "means several workloads: " + list,
          .given = shortened(text),
          .to_do = std::string(to_do)};
}

// The pages are newest first, so in falling order of id; those that begin alike stand
// together.
Result<WorkloadId> find_by_beginning(Session& session, const std::string& text) {
  std::vector<wire::WorkloadSummary> found;
  wire::ListWorkloads list{.limit = kPageItems};
  for (int page = 0; page < kPagesMax; ++page) {
    wire::WorkloadPage workloads = TRY(session.ask(list));
    for (wire::WorkloadSummary& workload : workloads.items) {
      if (to_text(workload.id).starts_with(text)) found.push_back(std::move(workload));
    }
    if (!workloads.next || (!found.empty() && !to_text(workloads.items.back().id).starts_with(text))) break;
    list.cursor = workloads.next;
  }
  if (found.size() == 1) return found.front().id;
  if (found.empty()) return not_found(text);
  return ambiguous(text, found, "write more of the id");
}

}  // namespace

Result<const Access*> Session::access() {
  if (!access_) access_ = std::make_unique<Access>(TRY(find_access(surroundings_)));
  return access_.get();
}

Result<ApiClient*> Session::client() {
  if (!client_) client_ = TRY(connect(-1));
  return client_.get();
}

Result<std::unique_ptr<ApiClient>> Session::connect(int wake_descriptor) {
  return connect(wake_descriptor, HttpClientOptions{}.answer_time);
}

Result<std::unique_ptr<ApiClient>> Session::connect(int wake_descriptor, Duration answer_time) {
  const Access* access = TRY(this->access());
  HttpClientOptions options{.token = access->token, .wake_descriptor = wake_descriptor};
  options.answer_time = answer_time;
  options.connect_time = std::min(options.connect_time, answer_time);
  return std::make_unique<ApiClient>(HttpClient(access->endpoint, options));
}

Error Session::explained(Error error) const {
  if (error.code == Code::kUnavailable && error.to_do.empty()) {
    error.message = "no server answers (" + error.message + ")";
    error.to_do = kUnreachable;
  }
  if (error.code == Code::kUnauthenticated && access_ && access_->token.empty()) {
    error.to_do = "log in with `moulin login`, or set MOULIN_TOKEN or MOULIN_TOKEN_FILE to a token of yours";
  } else if (error.code == Code::kUnauthenticated && access_) {
    error.given = "the token from " + access_->token_from;
    if (error.to_do.empty()) error.to_do = "log in with `moulin login`; an administrator makes tokens";
  }
  return error;
}

Result<WorkloadId> find_workload(Session& session, const std::string& text, const std::string& project) {
  if (Result<uint64_t> number = parse_id(WorkloadTag::kPrefix, text)) return WorkloadId{*number};
  std::vector<wire::WorkloadSummary> found;
  if (check_name("workload", text)) {
    wire::ListWorkloads by_name{.name = text, .limit = kPageItems};
    if (!project.empty()) by_name.project = project;
    found = TRY(session.ask(by_name)).items;
  }
  std::vector<wire::WorkloadSummary> unfinished;
  std::copy_if(found.begin(), found.end(), std::back_inserter(unfinished), is_unfinished);
  if (unfinished.size() > 1) return ambiguous(text, unfinished, "add --project NAME, or use the id");
  if (unfinished.size() == 1) return unfinished.front().id;
  if (!found.empty()) return found.front().id;
  if (text.starts_with(WorkloadTag::kPrefix)) return find_by_beginning(session, text);
  return not_found(text);
}

Result<WorkloadId> named_workload(Session& session) {
  const std::string* project = session.call().value("project");
  return find_workload(session, session.call().words.front(), project ? *project : "");
}

}  // namespace moulin::cli
