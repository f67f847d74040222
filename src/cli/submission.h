// From a command line or a file to the documents that are submitted. Pure, but for the
// reading of the file.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/call.h"
#include "cli/surroundings.h"

namespace moulin::cli {

// The workload file that the options of `run` stand for. `base` is what --like names,
// else null; options replace its fields. The folder is the current one unless the base
// or --folder says otherwise. What is wrong with a value is the server's to say.
Result<Json> document_of_run(const Call& call, const Surroundings& surroundings, Json base);

// The documents of a file, with the folder of the file filled in and put before a
// relative one. "-" is standard input, whose folder is the current one.
Result<std::vector<Json>> documents_of_file(const std::string& path, const Surroundings& surroundings);

// A field of an answer as the user of `run` wrote it: "workloads[0].resources.gpu" is
// "--gpu".
std::string field_of_run(const std::string& field);
// The same for a file with `count` documents: "resources.gpu", or "document 2: resources.gpu".
std::string field_of_file(const std::string& field, size_t count);

// "0.25", "2", "2x0.5" or "20GiB" as the file has it.
Json gpu_document(const std::string& text);

}  // namespace moulin::cli
