#include "core/core.h"

namespace moulin {

Result<Events> Core::execute(const Command& command) {
  Events events = TRY(decide({state_, index_, agenda_, limits_}, command));
  for (const Event& event : events) apply(event);
  return events;
}

void Core::apply(const Event& event) {
  moulin::apply(state_, event);
  index_.apply(state_, event);
  agenda_.apply(state_, event);
}

}  // namespace moulin
