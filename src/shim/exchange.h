// The files through which a program and its shim talk: flag, done, activity, checkpoint.
//
// All but the checkpoint live in the attempt's `exchange` folder, which belongs to the
// program's account. What the program puts there is never followed, only looked at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "shim/fd.h"

namespace moulin {

// What stands at a path; a link itself, not what it points to, as programs also replace
// a link "latest".
struct FileLook {
  bool exists = false;
  dev_t device = 0;
  ino_t inode = 0;
  int64_t modified_ns = 0;
  int64_t bytes = 0;
  bool operator==(const FileLook&) const = default;
};
// Follows links on the way to the file: for paths that the caller may choose.
FileLook look_at(const std::string& path);

// Judges looks at one file. The first one only counts as known.
class FileWatch {
 public:
  // True when another file, or other content, stands there than at the last look. A file
  // that was deleted is no change.
  bool take(const FileLook& look);

 private:
  bool began_ = false;
  FileLook known_;
};

// Wakes us when something in a folder was renamed into place or written. A help against
// waiting, not a source of truth: without it changes are seen at the next look.
class FolderAlarm {
 public:
  // Tries to watch the folder of `path`; call again while !armed(), it may come later.
  void arm(const std::string& path);
  bool armed() const { return armed_; }
  int descriptor() const { return inotify_.number(); }  // -1: none; readable: look now
  void drain();

 private:
  Fd inotify_;
  bool armed_ = false;
};

// Adds up the activity that a program declares in its activity file, in per cent.
class ActivityMeter {
 public:
  // One look at the file's text (nothing: no file), `wall` after the last one.
  void add(std::optional<std::string> text, Duration wall);
  Duration declared() const { return {declared_us_}; }    // wall time x activity
  Duration declared_wall() const { return {wall_us_}; }   // wall time with a readable file

 private:
  int64_t declared_us_ = 0;
  int64_t wall_us_ = 0;
};

// Thousandths of a per cent, 0 to 100,000, from "37", "37.5\n"; larger values count as
// 100. Nothing when it is no number.
std::optional<int64_t> parse_activity(std::string_view text);

// Is there anything of this name in the folder?
bool exists_in(const Fd& folder, const std::string& name);

}  // namespace moulin
