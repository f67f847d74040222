// One client that reads the logs of one workload: all replicas of an attempt merged by
// time, and, when it follows, the attempts that come after.
#pragma once

#include <memory>
#include <vector>

#include "api/operations.h"
#include "engine/local/log_reader.h"
#include "server/handlers/world.h"

namespace moulin {

// Works in rounds on the readers' threads, one at a time; keeps itself alive until the
// logs or the stream end. A slow client holds up its own rounds and nothing else.
class LogFollower : public std::enable_shared_from_this<LogFollower> {
 public:
  // Continues where an earlier stream was, by the id of its last event.
  struct Place {
    int32_t attempt = 0;
    std::map<int32_t, LogCursor> cursors;  // by replica
  };
  static Result<Place> parse_place(std::string_view text);

  LogFollower(World& world, wire::ReadWorkloadLogs wanted, EventStream stream, Place from);
  void start();

 private:
  struct Source {
    int32_t replica = 0;
    LogReader reader;
  };
  struct Line {
    int32_t replica = 0;
    size_t order = 0;  // as it was read
    LogLine line;
  };

  void again_soon();
  void again_later();
  void round();
  bool begin_attempt(const Workload& workload);
  void open_sources(const Workload& workload);
  bool read_round();
  void send(std::vector<Line> lines);
  void send_state(const State& state, const Workload& workload, std::string_view type);
  std::string place() const;
  bool is_events() const { return wanted_.format == wire::LogFormat::kEvents; }

  World& world_;
  const wire::ReadWorkloadLogs wanted_;
  EventStream stream_;
  Place from_;
  int32_t attempt_ = 0;  // being read; 0: none yet
  std::vector<Source> sources_;
  std::optional<wire::LogState> told_;
  int32_t quiet_rounds_ = 0;
};

}  // namespace moulin
