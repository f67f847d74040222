#include "sim/server/faults.h"

#include <doctest/doctest.h>

namespace moulin::sim {

TEST_CASE("faults are read by name, and what is none is named") {
  CHECK(Faults::parse("all")->size() == kFaultCount);
  CHECK(Faults::parse("none")->empty());
  CHECK(*Faults::parse("kill,disk_full") == std::vector<Fault>{Fault::kKill, Fault::kDiskFull});
  CHECK(Faults::text_of(Faults::all()) ==
        "kill,power_loss,disk_full,slow_commits,lost_report,doubled_report,"
        "late_report,node_loss,unhealthy_gpu,wall_step,client_gone,bad_request,"
        "vanished");
  CHECK(Faults::parse("kill,flood").error().given == "flood");
}

TEST_CASE("without one fault the others strike as before") {
  auto strikes_of_kill = [](const std::vector<Fault>& allowed) {
    Faults faults(7);
    faults.allow(allowed);
    std::vector<bool> strikes;
    for (int i = 0; i < 1'000; ++i) {
      strikes.push_back(faults.strikes(Fault::kKill, 100'000));
      static_cast<void>(faults.strikes(Fault::kDiskFull, 100'000));
    }
    return strikes;
  };
  CHECK(strikes_of_kill({Fault::kKill}) == strikes_of_kill(Faults::all()));
  CHECK(strikes_of_kill({Fault::kDiskFull}) == std::vector<bool>(1'000, false));
}

TEST_CASE("nothing strikes in a calm") {
  Faults faults(7);
  faults.allow(Faults::all());
  CHECK(faults.strikes(Fault::kKill, 1'000'000));
  faults.set(Weather::kCalm);
  CHECK_FALSE(faults.strikes(Fault::kKill, 1'000'000));
}

}  // namespace moulin::sim
