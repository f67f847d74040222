// Whole files, replaced so that a crash leaves the old content or the new.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/share.h"

namespace moulin {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// The error of a failed system call on a file; `number` is its errno. kNotFound for
// ENOENT, else kUnavailable with what to do.
Error file_error(const std::string& path, std::string_view doing, int number);

// What a person can do about a failed write to a file or folder.
const char* advice_on(int number);

// Makes the folder, readable by its owner only, if it is not there. Its parent must be.
Status make_folder(const std::string& path);

// Writes the parts one after the other to "<path>.new", fsyncs, renames it to `path` and
// fsyncs the folder. On failure `path` is as before and nothing is left over.
Status replace_file(const std::string& path, const std::vector<std::string_view>& parts);

// fsyncs `fresh`, renames it to `path` and fsyncs the folder.
Status publish_file(const std::string& fresh, const std::string& path);

// An empty file that only its owner can read. kConflict: it is there already.
Status make_private_file(const std::string& path);

bool exists(const std::string& path);
void remove_file(const std::string& path);  // if it is there; a failure shows when its name is used again

// The whole file. kNotFound when there is none, kTooLarge above `most`.
Result<std::string> read_file(const std::string& path, Bytes most);

// Size in bytes; 0 for a file that is not there.
Bytes size_of_file(const std::string& path);

}  // namespace moulin
