// One client that reads the logs of one workload: all replicas of an attempt merged by
// time, and, when it follows, the attempts that come after.
#pragma once

#include <memory>
#include <vector>

#include "api/operations.h"
#include "engine/local/log_reader.h"
#include "server/handlers/log_subject.h"
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

  // `subject` as of now; a later state replaces it as long as there is one.
  LogFollower(World& world, wire::ReadWorkloadLogs wanted, EventStream stream, LogSubject subject, Place from);
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
  void look_at_workload();
  bool begin_attempt();
  bool is_over() const { return attempt_ < subject_.attempt_count || subject_.newest_over; }
  void open_sources();
  bool read_round();
  void send(std::vector<Line> lines);
  void send_state(std::string_view type);
  std::string place() const;
  bool is_events() const { return wanted_.format == wire::LogFormat::kEvents; }

  World& world_;
  const wire::ReadWorkloadLogs wanted_;
  EventStream stream_;
  LogSubject subject_;
  Place from_;
  int32_t attempt_ = 0;  // being read; 0: none yet
  std::vector<Source> sources_;
  std::optional<wire::LogState> told_;
  int32_t quiet_rounds_ = 0;
};

}  // namespace moulin
