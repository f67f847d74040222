// What happened: of one workload from history, and everything as it happens.
#include <atomic>

#include "core/may.h"
#include "server/event_text.h"
#include "server/handlers/handlers.h"

namespace moulin::handle {

namespace {

// Events without a workload are about the whole installation: its administrators see them.
bool may_see(const State& state, const Actor& actor, const Event& event) {
  WorkloadId id = event_workload(event.body);
  if (const Workload* workload = state.workload(id)) return may(state, actor, Verb::kSee, workload->spec.project);
  return may(state, actor, Verb::kSee, kRootTree);
}

wire::Event event_of(const State& state, Sequence sequence, const Event& event) {
  wire::Event out{.sequence = sequence.value,
                  .time = wall_time(event.at, state.wall_offset),
                  .type = std::string(event_word(event.body)),
                  .text = event_sentence(event.body),
                  .data = event_data(event.body)};
  if (WorkloadId id = event_workload(event.body)) {
    out.workload = id;
    if (const Workload* workload = state.workload(id)) out.project = workload->spec.project.text;
  }
  if (!event.actor.empty()) out.by = event.actor.text;
  return out;
}

Result<Response> history(const Call& call) {
  auto wanted = TRY(parameters<wire::ListWorkloadEvents>(call));
  std::string cursor = TRY(read_cursor(wanted.cursor));
  int64_t after = cursor.empty() ? wanted.after.value_or(0) : TRY(Json(JsonNumber{cursor}).integer());
  const Workload* workload = call.state().workload(wanted.workload);
  // A forgotten workload's project is gone from memory: only administrators look further.
  bool visible = workload != nullptr ? may(call.state(), call.actor, Verb::kSee, workload->spec.project)
                                     : may(call.state(), call.actor, Verb::kSee, kRootTree);
  wire::EventPage page;
  HistoryQuery query{.after = {after}, .workload = wanted.workload, .limit = static_cast<int32_t>(wanted.limit)};
  if (visible) {
    Status read = call.world.journal.history(query, [&](const StoredRecord& record) -> Status {
      Event event = TRY(decode_event(record.time, record.type, record.bytes));
      page.items.push_back(event_of(call.state(), record.sequence, event));
      return {};
    });
    TRY(read);
  }
  if (!visible || (page.items.empty() && workload == nullptr && after == 0)) {
    return Error{.code = Code::kNotFound,
                 .message = "no such workload",
                 .field = "workload",
                 .given = to_text(wanted.workload),
                 .to_do = "run `moulin ps --all`"};
  }
  if (std::ssize(page.items) == wanted.limit) page.next = make_cursor(std::to_string(page.items.back().sequence));
  return ok(page);
}

// ---- The stream ----

// Sends what is durable after `sent_`, first from history, then from memory. Woken by the
// hub on the committer's thread; works on a reader's thread, one round at a time.
class Follower : public std::enable_shared_from_this<Follower> {
 public:
  Follower(World& world, Actor actor, wire::StreamEvents wanted, EventStream stream, Sequence after)
      : world_(world), actor_(std::move(actor)), wanted_(std::move(wanted)), stream_(std::move(stream)), sent_(after) {}

  void start() {
    {
      std::lock_guard lock(mutex_);
      listening_ = world_.events.listen([weak = weak_from_this()] {
        if (auto self = weak.lock()) self->wake();
      });
      self_ = shared_from_this();
    }
    // Last: a stream that was refused is over already, and ends what was begun above.
    stream_.when_closed([self = shared_from_this()] { self->end(); });
    wake();
  }

 private:
  static constexpr size_t kRound = 250;
  static constexpr Duration kBusyWait = milliseconds(100);

  void wake() {
    if (pending_.exchange(true)) return;  // a round is waiting already: it will see this too
    Status queued = world_.readers.run([self = shared_from_this()] { self->round(); });
    if (queued) return;
    pending_ = false;
    world_.pulse.after(kBusyWait, [self = shared_from_this()] { self->wake(); });
  }

  // A client that catches up takes a round whenever it has room for one.
  void round() {
    std::lock_guard lock(round_mutex_);
    pending_ = false;
    if (!stream_.is_open()) return;
    EventHub::Tail tail = world_.events.after(sent_, kRound);
    bool more = tail.gap ? send_history() : send(tail.events);
    if (!more) return;
    pending_ = true;  // until there is room
    stream_.when_room([self = shared_from_this()] {
      self->pending_ = false;
      self->wake();
    });
  }

  bool send(const std::vector<NumberedEvent>& events) {
    PublishedView view = world_.reactor.view();
    for (const NumberedEvent& event : events) {
      if (!send_one(view->state, event)) return false;
    }
    return events.size() == kRound;
  }

  // True when there may be more to read.
  bool send_history() {
    PublishedView view = world_.reactor.view();
    Sequence before = sent_;
    HistoryQuery query{.after = sent_, .limit = static_cast<int32_t>(kRound)};
    Status read = world_.journal.history(query, [&](const StoredRecord& record) -> Status {
      NumberedEvent event{record.sequence, TRY(decode_event(record.time, record.type, record.bytes))};
      return send_one(view->state, event) ? Status{} : Error{.code = Code::kTooLarge, .message = "enough was sent"};
    });
    return read.has_value() && sent_ != before;
  }

  // False: the stream is over.
  bool send_one(const State& state, const NumberedEvent& event) {
    sent_ = event.sequence;
    if (!wants(state, event.event)) return true;
    wire::Event out = event_of(state, event.sequence, event.event);
    bool open =
        stream_.send({.id = std::to_string(out.sequence), .type = out.type, .data = write_json(wire::write(out))});
    if (!open || ++count_ != wanted_.limit) return open;
    stream_.close();
    return false;
  }

  bool wants(const State& state, const Event& event) const {
    WorkloadId id = event_workload(event.body);
    if (wanted_.workload && id != *wanted_.workload) return false;
    if (wanted_.project) {
      const Workload* workload = state.workload(id);
      if (workload == nullptr || !is_at_or_below(state, workload->spec.project, *wanted_.project)) return false;
    }
    return may_see(state, actor_, event);
  }

  void end() {
    std::lock_guard lock(mutex_);
    listening_.reset();
    self_.reset();
  }

  World& world_;
  const Actor actor_;
  const wire::StreamEvents wanted_;
  EventStream stream_;
  std::atomic<bool> pending_ = false;
  std::mutex round_mutex_;
  Sequence sent_;      // guarded by round_mutex_, as is
  int64_t count_ = 0;  // of the events that were sent
  std::mutex mutex_;
  std::shared_ptr<void> listening_;
  std::shared_ptr<Follower> self_;  // the stream keeps us alive until it ends
};

Result<Sequence> begin_after(const Call& call, const wire::StreamEvents& wanted) {
  if (wanted.last_event_id) {
    Result<int64_t> id = Json(JsonNumber{*wanted.last_event_id}).integer();
    if (id && *id >= 0) return Sequence{*id};
    return Error{.code = Code::kInvalid,
                 .message = "not the id of an event",
                 .field = "Last-Event-ID",
                 .given = *wanted.last_event_id};
  }
  return wanted.after ? Sequence{*wanted.after} : call.state().sequence;
}

}  // namespace

void list_workload_events(Call call) {
  in_background(std::move(call), [](Call asked) { finish(asked, history(asked)); });
}

void stream_events(Call call) {
  Result<wire::StreamEvents> wanted = parameters<wire::StreamEvents>(call);
  if (!wanted) return call.responder.answer(problem_response(wanted.error()));
  Result<Sequence> after = begin_after(call, *wanted);
  if (!after) return call.responder.answer(problem_response(after.error()));
  EventStream stream = call.responder.start_stream(StreamForm::kEvents);
  std::make_shared<Follower>(call.world, call.actor, std::move(*wanted), std::move(stream), *after)->start();
}

}  // namespace moulin::handle
