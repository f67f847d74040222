// The state with what is derived from it, kept in step. One thread owns a Core; copies
// of state() and index() are cheap and may be read elsewhere.
#pragma once

#include "core/agenda.h"
#include "core/apply.h"
#include "core/decide.h"
#include "model/command.h"
#include "scheduler/scheduler.h"

namespace moulin {

class Core {
 public:
  Core() : Core(State{}) {}
  explicit Core(State state, UnfinishedLimits limits = {})
      : state_(std::move(state)), index_(Index::build(state_)), agenda_(Agenda::build(state_)), limits_(limits) {}

  const State& state() const { return state_; }
  const Index& index() const { return index_; }
  const Agenda& agenda() const { return agenda_; }
  View view(Instant now) const { return {state_, index_, now}; }

  // Judges the command and applies what follows. The events must then be made durable
  // before anybody is told of them. An Error changed nothing.
  Result<Events> execute(const Command& command);

  // For replay: an event from the journal.
  void apply(const Event& event);

 private:
  State state_;
  Index index_;
  Agenda agenda_;
  UnfinishedLimits limits_;
};

}  // namespace moulin
