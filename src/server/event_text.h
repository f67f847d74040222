// Events in words, for `moulin events`, the stream and the portal.
#pragma once

#include <string>

#include "base/json.h"
#include "model/event.h"

namespace moulin {

// One sentence without a full stop: "preempted for w-... (higher_class)".
std::string event_sentence(const EventBody& body);

// Its fields as JSON, without hashes and tokens.
Json event_data(const EventBody& body);

}  // namespace moulin
