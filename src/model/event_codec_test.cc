// Every type of event, with random contents, through bytes and back.
#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "base/codec.h"
#include "base/rng.h"
#include "model/event.h"
#include "model/state.h"

namespace moulin {

namespace {

// Fills any described value: every field, lists of up to three, extremes of integers.
class Filler {
 public:
  explicit Filler(uint64_t seed) : rng_(seed) {}

  template <class T>
  void operator()(uint32_t, const char*, T& value) {
    fill(value);
  }

  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, bool>)
      value = rng_.chance(500);
    else if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(rng_.below(std::ssize(kWords<T>)));
    else if constexpr (CodedAmount<T>)
      fill(integer_of(value));
    else if constexpr (std::is_integral_v<T>)
      value = integer<T>();
    else if constexpr (TextLike<T>)
      text_of(value) = text();
    else if constexpr (IsCow<T>::value)
      fill(value.mutate());
    else if constexpr (IsVector<T>::value)
      fill_list(value);
    else if constexpr (IsMap<T>::value)
      fill_map(value);
    else if constexpr (IsOptional<T>::value)
      fill_optional(value);
    else
      T::describe(value, *this);
  }

 private:
  template <class T>
  T integer() {
    if (rng_.chance(100)) return std::numeric_limits<T>::min();
    if (rng_.chance(100)) return std::numeric_limits<T>::max();
    return static_cast<T>(rng_.next());
  }
  std::string text() {
    std::string text;
    for (int64_t i = rng_.below(8); i > 0; --i) text += static_cast<char>(rng_.below(256));
    return text;
  }
  template <class T>
  void fill_list(T& value) {
    value.resize(static_cast<size_t>(rng_.below(4)));
    for (auto& item : value) fill(item);
  }
  template <class T>
  void fill_map(T& value) {
    for (int64_t i = rng_.below(4); i > 0; --i) {
      std::remove_cvref_t<decltype(value.begin()->first)> key{};
      fill(key);
      fill(value[key]);
    }
  }
  template <class T>
  void fill_optional(T& value) {
    value.reset();
    if (rng_.chance(500)) fill(value.emplace());
  }

  Rng rng_;
};

template <size_t I = 0>
void each_type(auto&& use) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    use(std::variant_alternative_t<I, EventBody>{});
    each_type<I + 1>(use);
  }
}

}  // namespace

TEST_CASE("every type of event survives its bytes") {
  each_type([](auto empty) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      auto body = empty;
      Filler filler(seed);
      filler.fill(body);
      Event event{.at = Instant{static_cast<int64_t>(seed)}, .actor = UserName("max"), .body = body};
      std::string bytes = encode_event(event);
      Result<Event> back = decode_event(event.at, event_type(event.body), bytes);
      CAPTURE(event_word(event.body));
      CAPTURE(seed);
      REQUIRE(back.has_value());
      CHECK(back->at == event.at);
      CHECK(back->actor == event.actor);
      CHECK(back->body.index() == event.body.index());
      CHECK(encode_event(*back) == bytes);
      CHECK(event_workload(back->body) == event_workload(event.body));
    }
  });
}

TEST_CASE("bytes that are cut short or changed are an error or another event, never a crash") {
  int64_t refused = 0;
  each_type([&](auto empty) {
    auto body = empty;
    Filler filler(7);
    filler.fill(body);
    std::string bytes = encode_event({.at = {}, .actor = UserName("max"), .body = body});
    for (size_t size = 0; size < bytes.size(); ++size) {
      refused += decode_event({}, empty.kType, std::string_view(bytes).substr(0, size)) ? 0 : 1;
      std::string changed = bytes;
      changed[size] = static_cast<char>(changed[size] ^ 0x55);
      (void)decode_event({}, empty.kType, changed);
    }
  });
  CHECK(refused > 100);
}

TEST_CASE("types and words of events are each used once, and found again") {
  std::set<int32_t> types;
  std::set<std::string_view> words;
  each_type([&](auto empty) {
    CHECK(types.insert(empty.kType).second);
    CHECK(words.insert(empty.kWord).second);
    CHECK(event_word(empty.kType) == empty.kWord);
    CHECK(event_type(EventBody{empty}) == empty.kType);
  });
  CHECK(event_word(99'999).empty());
}

TEST_CASE("an event of an unknown type or envelope says what to do") {
  std::string bytes = encode_event({.at = {}, .actor = {}, .body = event::BackOffEnded{{5}}});
  CHECK(decode_event({}, 99'999, bytes).error().message == "an event of unknown type 99999");
  bytes[0] = 9;
  CHECK(decode_event({}, event::BackOffEnded::kType, bytes).error().to_do.find("version") != std::string::npos);
}

TEST_CASE("a reader of today skips the fields of tomorrow") {
  std::string bytes = encode_event({.at = {}, .actor = {}, .body = event::BackOffEnded{{5}}});
  ByteWriter writer(bytes);
  writer.varint(200 << 1 | 1);
  writer.text("what nobody knows yet");
  Result<Event> back = decode_event({}, event::BackOffEnded::kType, bytes);
  REQUIRE(back.has_value());
  CHECK(event_workload(back->body) == WorkloadId{5});
}

TEST_CASE("a whole state survives its bytes") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    State state;
    Filler filler(seed);
    for (int64_t i = 1; i <= 100; ++i) {
      Workload workload;
      filler.fill(workload);
      workload.id = {static_cast<uint64_t>(i)};
      state.workloads.set(workload.id, Cow<Workload>(workload));
      Node node;
      filler.fill(node);
      state.nodes.set(NodeName("n" + std::to_string(i)), Cow<Node>(node));
    }
    std::string bytes = encode(state);
    Result<State> back = decode<State>(bytes);
    REQUIRE(back.has_value());
    CHECK(encode(*back) == bytes);
    CHECK(back->workloads == state.workloads);
    CHECK(back->nodes == state.nodes);
  }
}

}  // namespace moulin
