// What the handlers work with, and one request on its way through them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/http_responder.h"
#include "api/http_server.h"
#include "api/operations.h"
#include "api/problem.h"
#include "boundary/clock.h"
#include "boundary/engine.h"
#include "boundary/gpus.h"
#include "boundary/journal.h"
#include "engine/local/old_attempts.h"
#include "journal/committer.h"
#include "server/byte_budget.h"
#include "server/event_hub.h"
#include "server/exec_bridge.h"
#include "server/handlers/digest.h"
#include "server/http_metrics.h"
#include "server/pulse.h"
#include "server/reactor.h"
#include "server/readers.h"
#include "server/secrets.h"

namespace moulin {

// Facts about this server that do not change while it serves.
struct ServerFacts {
  std::string version;
  std::string data_folder;
  Instant started;
  GpuInventory inventory;
  bool isolates_users = false;
  LogsKept logs_kept{};
  std::vector<std::string> notes;
};

// All outlive the handlers.
struct World {
  Reactor& reactor;
  Journal& journal;
  Committer& committer;
  EventHub& events;
  Clock& clock;
  Engine& engine;
  Gpus& gpus;
  IdMaker& ids;
  Readers& readers;
  Pulse& pulse;
  ByteBudget& submissions;  // read and not yet answered
  HttpMetrics& http_metrics;
  Digests& digests;
  ExecBridges& execs;
  const ServerFacts& facts;
  std::function<void()> stop_server;
  std::function<HttpCounters()> http_counters;

  // Unique, and grows with the wall clock.
  uint64_t next_id() { return ids.next(clock.wall_offset() + Duration{clock.now().us}); }
};

// A request of a known operation by a known actor, looking at one view.
struct Call {
  World& world;
  Request request;
  wire::PathValues values;
  Actor actor;
  PublishedView view;
  Responder responder;

  const State& state() const { return view->state; }
  Instant now() const { return std::max(world.clock.now(), view->state.now); }
  WallTime wall(Instant instant) const { return wall_time(instant, view->state.wall_offset); }
};

// ---- Answers ----

template <class Wire>
Response ok(const Wire& value, int status = 200) {
  return {.status = status, .body = write_json(wire::write(value)) + "\n"};
}
inline Response nothing(int status = 204) { return {.status = status, .body = {}}; }

inline void finish(Call& call, Result<Response> result) {
  call.responder.answer(result ? std::move(*result) : problem_response(result.error()));
}

// The parameters of the operation, or the refusal is answered.
template <class Operation>
Result<Operation> parameters(const Call& call) {
  return wire::read_parameters<Operation>(call.values, call.request);
}

// Gives a command; when it is durable, `respond` makes the answer from the view then.
using Respond = std::move_only_function<Response(const Call&, const Events&)>;
void give_command(Call call, CommandBody body, Respond respond);

// Runs `read` on a reader's thread; 429 when too many wait.
void in_background(Call call, std::move_only_function<void(Call)> read);

// Whether the project is the node of the tree that is called `at`, or somewhere below it.
bool is_at_or_below(const State& state, const TreeName& project, const std::string& at);

// ---- Pages ----

// Names the last item of a page; the next page begins after it. kInvalid for a cursor
// that was not made here.
std::string make_cursor(std::string_view key);
Result<std::string> read_cursor(const std::optional<std::string>& cursor);  // "": from the beginning

// The entry behind `key`, which need not be there any more.
template <class Map, class Key>
auto behind(const Map& map, const Key& key) {
  auto at = map.lower_bound(key);
  if (at != map.end() && at->first == key) ++at;
  return at;
}

// The items that `make` gives for the entries from `at` to `end`, as far as it gives one;
// `name` is the cursor's text for an entry's key, `last` of what is on the page already.
template <class Page, class Iterator, class Make, class Name>
void fill_page(Page& page, Iterator at, Iterator end, int64_t limit, const Make& make, const Name& name,
               std::string last = {}) {
  for (; at != end; ++at) {
    auto item = make(*at);
    if (!item) continue;
    if (std::ssize(page.items) == limit) {
      page.next = make_cursor(last);
      return;
    }
    page.items.push_back(std::move(*item));
    last = name(at->first);
  }
}

}  // namespace moulin
