#include "cli/words.h"

#include <algorithm>
#include <array>

#include "model/identity.h"
#include "model/quota.h"
#include "model/workload.h"
#include "model/workload_spec.h"

namespace moulin::cli {

namespace {

using enum ValueSource;

constexpr std::array<std::string_view, 2> kWishes{"any", "required"};
constexpr std::array<std::string_view, 2> kCodeModes{"live", "snapshot"};
constexpr std::array<std::string_view, 2> kStreams{"stdout", "stderr"};
constexpr std::array<std::string_view, 2> kEngines{"local", "virtual"};
constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

constexpr ValueWord kWordsOfHelp[] = {
    {"ACCOUNT"},
    {"AMOUNT"},
    {"BYTES"},
    {"CLASS", kListed, kWords<Class>},
    {"CORES"},
    {"DEPARTMENT", kDepartment},
    {"DIR", kFolder},
    {"DURATION"},
    {"ENGINE", kListed, kEngines},
    {"FILE", kFile},
    {"FIRST-LAST"},
    {"FOLDER", kFolder},
    {"GPU-UUID"},
    {"HOST:PORT"},
    {"ID", kWorkload},
    {"KEY=VALUE"},
    {"KEY[=VALUE]"},
    {"KIND", kListed, kWords<Kind>},
    {"MODE", kListed, kCodeModes},
    {"MODEL", kModel},
    {"N"},
    {"NAME"},
    {"NODE", kNode},
    {"PATH", kFile},
    {"PLACE", kPlace},
    {"POOL", kPool},
    {"PROJECT", kProject},
    {"RESOURCE", kListed, kWords<Resource>},
    {"ROLE", kListed, kWords<Role>},
    {"SHELL", kListed, kShells},
    {"SIZE"},
    {"SPEC"},
    {"STATE", kListed, kWords<WorkloadState>},
    {"STREAM", kListed, kStreams},
    {"TEXT"},
    {"TIME"},
    {"TOKEN", kToken},
    {"URL"},
    {"USER", kUser},
    {"WISH", kListed, kWishes},
};

}  // namespace

const ValueWord* find_value_word(std::string_view word) {
  auto found = std::find_if(std::begin(kWordsOfHelp), std::end(kWordsOfHelp),
                            [&](const ValueWord& known) { return known.word == word; });
  return found == std::end(kWordsOfHelp) ? nullptr : &*found;
}

}  // namespace moulin::cli
