#include "shim/log_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "shim/files.h"

namespace moulin {
namespace {

constexpr int64_t kFileMin = 4096;
constexpr int kTakenNamesMax = 1000;       // names that somebody put in our way
constexpr size_t kPendingMax = 1 << 20;

}  // namespace

LogWriter::LogWriter(const Fd& folder, Rules rules)
    : folder_(folder),
      rules_(rules),
      file_max_(rules.total_max.count == 0 ? kFileMax.count
                                           : std::clamp(rules.total_max.count / 4, kFileMin, kFileMax.count)) {}

void LogWriter::add(std::string_view bytes, int64_t now_us) {
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    size_t room = kLogTextMax - partial_.size();
    size_t take = std::min(newline == bytes.npos ? bytes.size() : newline, room);
    std::string_view text = bytes.substr(0, take);
    bytes.remove_prefix(take);
    bool whole = !bytes.empty() && bytes.front() == '\n';
    if (whole) bytes.remove_prefix(1);
    if (partial_.empty() && whole) {
      record(text, LineEnd::kNewline, now_us);
      continue;
    }
    if (partial_.empty()) partial_since_us_ = now_us;
    partial_ += text;
    if (!whole && partial_.size() < kLogTextMax) continue;
    record(partial_, whole ? LineEnd::kNewline : LineEnd::kGoesOn, now_us);
    partial_.clear();
  }
  write_out();
}

void LogWriter::flush_old(int64_t now_us) {
  if (partial_.empty() || now_us - partial_since_us_ < kPartialAgeUs) return;
  record(partial_, LineEnd::kGoesOn, now_us);
  partial_.clear();
  write_out();
}

void LogWriter::finish(int64_t now_us) {
  if (!partial_.empty()) record(partial_, LineEnd::kNewline, now_us);
  partial_.clear();
  write_out();
}

void LogWriter::record(std::string_view text, LineEnd end, int64_t now_us) {
  if (dropped_ > 0) note_dropped(now_us);
  append_record(pending_, {.time_us = now_us, .stream = rules_.stream, .end = end, .text = text});
  pending_text_ += static_cast<int64_t>(text.size()) + 1;
  if (pending_.size() >= kPendingMax) write_out();
}

void LogWriter::note_dropped(int64_t now_us) {
  std::string text = fmt::format("[moulin: {} bytes of output could not be written here]", dropped_);
  noted_ = std::exchange(dropped_, 0);
  append_record(pending_, {.time_us = now_us, .stream = rules_.stream, .end = LineEnd::kNewline, .text = text});
}

void LogWriter::write_out() {
  std::string_view rest = pending_;
  while (!rest.empty() && ensure_file()) {
    // Cut at the end of a record, so that each file starts with a time.
    auto room = static_cast<size_t>(std::max<int64_t>(file_max_ - files_.back().bytes, 1));
    size_t cut = rest.size() <= room ? rest.size() : rest.find('\n', room - 1) + 1;
    std::string_view mend = torn_ ? "\n" : "";
    if (!write_all(file_, mend) || !write_all(file_, rest.substr(0, cut))) {
      torn_ = true;
      break;
    }
    torn_ = false;
    files_.back().bytes += static_cast<int64_t>(cut);
    rest.remove_prefix(cut);
    if (files_.back().bytes >= file_max_) file_.reset();
  }
  if (!rest.empty()) {
    // What of it was text does not matter much; it is at most one batch.
    dropped_ += pending_text_ + noted_;
    dropped_total_ += pending_text_;
  }
  pending_.clear();
  pending_text_ = 0;
  noted_ = 0;
}

bool LogWriter::ensure_file() {
  struct stat facts {};
  bool linked = file_ && ::fstat(file_.number(), &facts) == 0 && facts.st_nlink > 0;
  return linked || open_next();
}

bool LogWriter::open_next() {
  for (int tries = 0; tries < kTakenNamesMax; ++tries) {
    std::string name = log_file_name(rules_.stream, next_number_);
    file_.reset(::openat(folder_.number(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file_ && errno != EEXIST) return false;
    ++next_number_;
    if (!file_) continue;
    files_.push_back({.number = next_number_ - 1});
    torn_ = false;
    drop_oldest();
    return true;
  }
  return false;
}

void LogWriter::drop_oldest() {
  if (rules_.total_max.count == 0) return;
  int64_t total = file_max_;  // what the new file may become
  for (const File& file : files_) total += file.bytes;
  while (files_.size() > 1 && total > rules_.total_max.count) {
    ::unlinkat(folder_.number(), log_file_name(rules_.stream, files_.front().number).c_str(), 0);
    total -= files_.front().bytes;
    files_.pop_front();
  }
}

}  // namespace moulin
