#include "model/event.h"

#include "base/codec.h"

namespace moulin {

namespace {

// Version of the envelope below, not of the events.
constexpr uint64_t kEnvelope = 1;

template <class Body>
WorkloadId workload_of(const Body& body) {
  if constexpr (requires { body.workload; })
    return body.workload;
  else if constexpr (requires { body.key.workload; })
    return body.key.workload;
  else if constexpr (requires { body.claim.owner; })
    return body.claim.owner;
  else if constexpr (requires { body.owner; })
    return body.owner;
  else
    return {};
}

// Calls `use` with an empty body of that type; false when there is no such type.
template <class Use, size_t I = 0>
bool with_type(int32_t type, Use&& use) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    using Body = std::variant_alternative_t<I, EventBody>;
    if (Body::kType != type) return with_type<Use, I + 1>(type, std::forward<Use>(use));
    use(Body{});
    return true;
  } else {
    return false;
  }
}

}  // namespace

int32_t event_type(const EventBody& body) {
  return std::visit([](const auto& event) { return event.kType; }, body);
}

std::string_view event_word(const EventBody& body) {
  return std::visit([](const auto& event) { return event.kWord; }, body);
}

std::string_view event_word(int32_t type) {
  std::string_view word;
  with_type(type, [&](const auto& event) { word = event.kWord; });
  return word;
}

WorkloadId event_workload(const EventBody& body) {
  return std::visit([](const auto& event) { return workload_of(event); }, body);
}

std::string encode_event(const Event& event) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.varint(kEnvelope);
  writer.text(event.actor.text);
  std::visit([&](const auto& body) { encode_body(writer, body); }, event.body);
  return bytes;
}

Result<Event> decode_event(Instant at, int32_t type, std::string_view bytes) {
  ByteReader reader(bytes);
  if (reader.varint() != kEnvelope) {
    return Error{.code = Code::kInternal,
                 .message = "an event in a format of a newer Moulin",
                 .to_do = "use the version that wrote this journal, or a later one"};
  }
  Event event{.at = at, .actor = UserName{reader.text()}, .body = {}};
  bool known = with_type(type, [&](auto body) {
    decode_body(reader, body);
    event.body = std::move(body);
  });
  if (!known) {
    return Error{.code = Code::kInternal,
                 .message = "an event of unknown type " + std::to_string(type),
                 .to_do = "use the version that wrote this journal, or a later one"};
  }
  if (!reader.ok() || !reader.at_end()) {
    return Error{.code = Code::kInternal, .message = "damaged bytes in an event of type " + std::to_string(type)};
  }
  return event;
}

}  // namespace moulin
