// quota, project, department.
#include "cli/render/tree.h"
#include <algorithm>
#include <array>

#include "cli/commands/groups.h"
#include "cli/commands/pages.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Projects and quota";

Result<int> quota(Session& session) {
  wire::ListQuota wanted;
  if (!session.call().words.empty()) wanted.at = session.call().words.front();
  return session.show(TRY(session.ask(wanted)), render_quota);
}

// "2.5" devices, "4" cores or "16GiB", as the resource has it.
Result<int64_t> read_amount(std::string_view option, std::string_view text, Resource resource) {
  switch (resource) {
    case Resource::kGpu: return at_path(option, parse_milli(text));
    case Resource::kCpu: return TRY(at_path(option, parse_cpu(text))).milli;
    case Resource::kMemory: return TRY(at_path(option, parse_bytes(text))).count;
  }
  MOULIN_UNREACHABLE();
}

Status read_guarantee(const std::string& text, wire::QuotaChange& change) {
  if (text == "rest") {
    change.rest = true;
  } else {
    change.guaranteed = TRY(read_amount("--guaranteed", text, change.resource));
  }
  return {};
}

Status read_limit(const std::string& text, wire::QuotaChange& change) {
  if (text == "none") {
    change.no_limit = true;
  } else {
    change.limit = TRY(read_amount("--limit", text, change.resource));
  }
  return {};
}

// Nothing when the call has none of the options of quota.
Result<std::optional<wire::QuotaChange>> read_change(const Call& call) {
  wire::QuotaChange change;
  if (const std::string* word = call.value("resource")) {
    change.resource = TRY(at_path("--resource", parse_word<Resource>("resource", *word)));
  }
  if (const std::string* pool = call.value("pool")) change.pool = *pool;
  if (const std::string* model = call.value("model")) change.model = *model;
  change.reset = call.has("reset");
  if (const std::string* text = call.value("guaranteed")) TRY(read_guarantee(*text, change));
  if (const std::string* text = call.value("limit")) TRY(read_limit(*text, change));
  if (const std::string* text = call.value("weight")) change.weight = TRY(parse_integer("--weight", *text));
  if (const std::string* text = call.value("rank")) change.rank = TRY(parse_integer("--rank", *text));
  bool says_something = change.reset || change.guaranteed || change.rest || change.limit || change.no_limit ||
                        change.weight || change.rank;
  if (!says_something) return std::nullopt;
  return change;
}

template <class Operation>
Result<int> list(Session& session) {
  return session.show(TRY(pages_of(session, Operation{}, kItemsMax)), render_tree_nodes);
}

template <class Operation>
Result<int> show(Session& session) {
  return session.show(TRY(session.ask(Operation{.name = session.call().words.front()})), render_tree_node);
}

template <class Operation>
Result<int> create(Session& session) {
  wire::NewTreeNode node{.name = session.call().words.front()};
  if (const std::string* parent = session.call().value("parent")) node.parent = *parent;
  if (auto change = TRY(read_change(session.call()))) node.quotas.push_back(*change);
  return session.show(TRY(session.ask(Operation{}, node)), render_tree_node);
}

template <class Operation, class Show>
Result<int> change_quota(Session& session) {
  const std::string& name = session.call().words.front();
  auto change = TRY(read_change(session.call()));
  if (!change) return show<Show>(session);
  return session.show(TRY(session.ask(Operation{.name = name}, *change)), render_tree_node);
}

template <class Operation>
Result<int> remove(Session& session) {
  TRY(session.ask(Operation{.name = session.call().words.front()}));
  session.console().note("Removed " + session.call().words.front() + ".");
  return 0;
}

constexpr OptionSpec kQuotaOptions[] = {
    {.name = "guaranteed", .value = "AMOUNT", .help = "always theirs; `rest`: what others leave"},
    {.name = "limit", .value = "AMOUNT", .help = "never more; `none`: no limit"},
    {.name = "weight", .value = "N", .help = "how surplus is divided"},
    {.name = "rank", .value = "N", .help = "larger is served first"},
    {.name = "resource", .value = "RESOURCE", .help = "gpu (unless given), cpu or memory"},
    {.name = "model", .value = "MODEL", .help = "only devices of this model"},
    {.name = "pool", .value = "POOL", .help = "of this pool (unless given: default)"},
    {.name = "reset", .help = "back to the default before the rest"}};

constexpr auto kCreateOptions = [] {
  std::array<OptionSpec, std::size(kQuotaOptions) + 1> options{
      {{.name = "parent", .value = "DEPARTMENT", .help = "the department above it (unless given: the organisation)"}}};
  std::copy(std::begin(kQuotaOptions), std::end(kQuotaOptions), options.begin() + 1);
  return options;
}();

constexpr std::string_view kQuotaDetails =
    "Amounts are devices (2.5), cores (4) or bytes (16GiB). What is not named stays.\n"
    "Without any option it shows what there is.\n";

struct TreeVerb {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  std::string_view details{};
};

constexpr Verb on_name(const TreeVerb& verb, std::span<const OptionSpec> options, Result<int> (*run)(Session&)) {
  return {.name = verb.name,
          .group = kGroup,
          .arguments = verb.name.starts_with("project") ? "PROJECT" : "DEPARTMENT",
          .words_min = 1,
          .words_max = 1,
          .summary = verb.summary,
          .options = options,
          .details = verb.details,
          .examples = verb.examples,
          .run = run};
}

constexpr Verb kVerbs[] = {
    {.name = "quota",
     .group = kGroup,
     .arguments = "[PLACE]",
     .words_max = 1,
     .summary = "what each part of the tree is promised, uses and waits for",
     .examples = "moulin quota\nmoulin quota nlp",
     .run = quota},
    {.name = "project list",
     .group = kGroup,
     .summary = "projects and their quota",
     .examples = "moulin project list",
     .run = list<wire::ListProjects>},
    on_name({"project show", "one project", "moulin project show nlp"}, {}, show<wire::ShowProject>),
    on_name({"project create", "a new project",
             "moulin project create nlp --guaranteed 4 --limit 8\nmoulin project create speech --parent research"},
            kCreateOptions, create<wire::CreateProject>),
    on_name({"project quota", "change what a project is promised",
             "moulin project quota nlp --guaranteed 4 --limit 8\n"
             "moulin project quota nlp --resource memory --limit 512GiB",
             kQuotaDetails},
            kQuotaOptions, change_quota<wire::ChangeProjectQuota, wire::ShowProject>),
    on_name({"project delete", "remove a project without unfinished workloads", "moulin project delete nlp"}, {},
            remove<wire::RemoveProject>),
    {.name = "department list",
     .group = kGroup,
     .summary = "departments and their quota",
     .examples = "moulin department list",
     .run = list<wire::ListDepartments>},
    on_name({"department show", "one department", "moulin department show research"}, {}, show<wire::ShowDepartment>),
    on_name({"department create", "a new department", "moulin department create research --guaranteed 8"},
            kCreateOptions, create<wire::CreateDepartment>),
    on_name({"department quota", "change what a department is promised",
             "moulin department quota research --guaranteed 8 --limit 16\n"
             "moulin department quota research --weight 2",
             kQuotaDetails},
            kQuotaOptions, change_quota<wire::ChangeDepartmentQuota, wire::ShowDepartment>),
    on_name({"department delete", "remove an empty department", "moulin department delete research"}, {},
            remove<wire::RemoveDepartment>),
};

}  // namespace

std::span<const Verb> tree_verbs() { return kVerbs; }

}  // namespace moulin::cli
