// Links that break, and supervisors that do not let us in: a stand-in plays the shim.
#include "engine/local/shim_link.h"

#include <sys/socket.h>

#include <doctest/doctest.h>

#include "engine/local/attempt_records.h"
#include "engine/local/replica_keeper.h"
#include "engine/local/shim_process.h"
#include "engine/local/testing.h"
#include "shim/files.h"
#include "shim/record.h"

namespace moulin {
namespace {

using testing::EngineHarness;
using testing::eventually;

// Holds the lock of an attempt and listens on its socket, as a shim does.
class StandIn {
 public:
  StandIn(const std::string& data_folder, ReplicaKey key)
      : store_(AttemptStore::open(data_folder).value()), folder_(store_.make_folder(key).value()) {
    REQUIRE(write_engine_record(folder_, {.token = "token"}).has_value());
    std::string identity = encode_record(kIdentityKind, ShimIdentity{});
    REQUIRE(write_atomically(folder_, attempt_files::kIdentity, identity, Durability::kProcess).has_value());
    lock_ = take_lock(folder_).value();
    listener_ = listen_in(folder_).value();
    REQUIRE(store_.mark_live(key).has_value());
  }

  // The next who calls; must come.
  Fd accept() {
    Fd client;
    CHECK(eventually([&] {
      client.reset(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      return static_cast<bool>(client);
    }));
    return client;
  }
  static void send(const Fd& client, const std::string& frame) {
    CHECK(::send(client.number(), frame.data(), frame.size(), MSG_NOSIGNAL) == std::ssize(frame));
  }
  // Reads until a message of this kind comes; it must.
  static std::string hear(const Fd& client, MessageKind kind) {
    FrameReader reader;
    std::string body;
    CHECK(eventually([&] {
      char buffer[4096];
      ssize_t got = ::recv(client.number(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) reader.add({buffer, static_cast<size_t>(got)});
      Result<std::optional<Message>> message = reader.next();
      bool found = message && *message && (*message)->kind == kind;
      if (found) body = (*message)->body;
      return found;
    }));
    return body;
  }

 private:
  AttemptStore store_;
  Fd folder_;
  AttemptLock lock_;
  Fd listener_;
};

constexpr ReplicaKey kKey{.workload = {.number = 77}, .attempt = {.value = 1}, .replica = {.value = 0}};

void let_in(const Fd& client) {
  StandIn::send(client, frame_of(MessageKind::kWelcome, Welcome{}));
  StandIn::send(client, frame_of(MessageKind::kState, ShimState{.started = true, .pid = 1}));
}

}  // namespace

TEST_CASE("an order to end that is lost with its link is given again on the next one") {
  EngineHarness harness;
  harness.stop();
  StandIn shim(harness.data.path(), kKey);
  harness.restart();
  Fd first = shim.accept();
  let_in(first);
  harness.reports->wait<ReplicaStarted>(kKey);
  harness.engine().end(kKey, "token", EndReason::kStop, seconds(5));
  StandIn::hear(first, MessageKind::kEnd);
  first.reset();
  Fd second = shim.accept();
  EndOrder order = decode<EndOrder>(StandIn::hear(second, MessageKind::kEnd)).value();
  CHECK(order.reason == ShimEndReason::kStop);
  CHECK(order.grace == seconds(5));
  harness.stop();
}

TEST_CASE("a supervisor that does not let us in is told of once, and asked ever less often") {
  EngineHarness harness;
  harness.stop();
  StandIn shim(harness.data.path(), kKey);
  harness.restart();
  Instant before = boot_time_now();
  constexpr int kCalls = 5;
  for (int call = 0; call < kCalls; ++call) {
    Fd client = shim.accept();
    StandIn::send(client, frame_of(MessageKind::kRefused, Refused{.reason = "too old"}));
  }
  CHECK(boot_time_now() - before >= milliseconds(50 + 100 + 200));
  std::vector<std::string> told = harness.warnings.texts();
  REQUIRE(told.size() == 1);
  CHECK(told[0].contains("too old"));
  CHECK(told[0].contains(live_name(kKey)));
  // It is not gone, and when it lets us in all is well.
  CHECK(harness.engine().list().replicas.size() == 1);
  CHECK(harness.reports->count<ReplicaExited>(kKey) == 0);
  let_in(shim.accept());
  harness.reports->wait<ReplicaStarted>(kKey);
  harness.stop();
}

TEST_CASE("the pause between tries has a bound") {
  CHECK(ReplicaKeeper::reconnect_pause(0) == ReplicaKeeper::kReconnectMin);
  CHECK(ReplicaKeeper::reconnect_pause(3) == ReplicaKeeper::kReconnectMin * 8);
  CHECK(ReplicaKeeper::reconnect_pause(1'000'000) == ReplicaKeeper::kReconnectMax);
}

TEST_CASE("what runs and cannot be read is not gone") {
  EngineHarness harness;
  harness.stop();
  StandIn shim(harness.data.path(), kKey);
  std::string record = harness.data / "attempts/" + attempt_path(kKey) + "/" + kEngineFile;
  std::string good = testing::text_of_file(record);
  std::ofstream(record) << "damaged";
  harness.restart();
  Held held = harness.engine().list();
  CHECK(held.complete);
  CHECK(held.replicas.empty());
  CHECK(held.unsure == std::vector{kKey});
  harness.engine().end(kKey, "token", EndReason::kKill, {});
  CHECK(harness.warnings.texts().size() == 1);
  std::ofstream(record) << good;
  // The order is carried out as soon as the replica can be taken over.
  StandIn::hear(shim.accept(), MessageKind::kEnd);
  CHECK(harness.reports->count<ReplicaExited>(kKey) == 0);
  harness.stop();
}

}  // namespace moulin
