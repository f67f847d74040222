// layers: base model boundary shim engine
// Everything that shim and local engine parse. The first byte chooses, the rest is text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "engine/local/attempt_store.h"
#include "engine/local/ignore_rules.h"
#include "engine/local/log_reader.h"
#include "shim/cgroup.h"
#include "shim/exchange.h"
#include "shim/log_format.h"
#include "shim/process_info.h"
#include "shim/protocol.h"
#include "shim/record.h"

namespace {

using namespace moulin;

void frames(std::string_view bytes) {
  FrameReader reader;
  size_t half = bytes.size() / 2;
  reader.add(bytes.substr(0, half));
  for (std::string_view part : {bytes.substr(half), std::string_view{}}) {
    for (Result<std::optional<Message>> next = reader.next(); next && *next; next = reader.next()) {
      MOULIN_CHECK((*next)->body.size() < kFrameBytesMax);
      (void)decode<Hello>((*next)->body);
      (void)decode<EndOrder>((*next)->body);
    }
    reader.add(part);
  }
}

template <class T>
void record(std::string_view kind, std::string_view body) {
  Result<T> value = decode_record<T>(kind, record_first_line(kind) + std::string(body));
  if (!value) return;
  std::string once = encode_record(kind, *value);
  MOULIN_CHECK(encode_record(kind, decode_record<T>(kind, once).value()) == once);
}

void log_line(std::string_view line) {
  std::optional<LogRecord> parsed = parse_record(line);
  if (!parsed || line.find('\n') != line.npos) return;
  std::string again;
  append_record(again, *parsed);
  // A leap second is the next one.
  MOULIN_CHECK(again.substr(28) == std::string(line.substr(28)) + "\n");
}

void names(std::string_view text) {
  if (Result<ReplicaKey> key = parse_live_name(text)) MOULIN_CHECK(parse_live_name(live_name(*key)).value() == *key);
  if (Result<LogCursor> cursor = parse_log_cursor(text)) {
    MOULIN_CHECK(parse_log_cursor(to_text(*cursor)).value() == *cursor);
  }
  if (int64_t number = log_file_number(LogStream::kOut, text); number > 0) {
    MOULIN_CHECK(log_file_name(LogStream::kOut, number) == text);
  }
}

void system_texts(std::string_view text) {
  (void)cgroup_mount(text);
  (void)cgroup_own_path(text);
  (void)parse_process_stat(text);
  if (std::optional<int64_t> activity = parse_activity(text)) MOULIN_CHECK(*activity >= 0 && *activity <= 100'000);
}

void ignore(std::string_view text) {
  size_t line = text.find('\n');
  if (line == text.npos || line > 256 || text.size() > 4096) return;
  IgnoreRules rules(text.substr(line + 1));
  (void)rules.judge(text.substr(0, line), EntryKind::kFile);
  (void)rules.judge(text.substr(0, line), EntryKind::kFolder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0: frames(text); break;
    case 1: record<ShimLaunch>("launch", text); break;
    case 2: record<ShimState>("status", text); break;
    case 3: record<ShimIdentity>("identity", text); break;
    case 4: log_line(text); break;
    case 5: names(text); break;
    case 6: system_texts(text); break;
    case 7: ignore(text); break;
    default: break;
  }
  return 0;
}
