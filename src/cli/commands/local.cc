// Verbs that work on a data folder and not on a server. What they do stands in src/main;
// their options and help stand here with all others.
#include "cli/commands/groups.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kGroup = "Data folder";

constexpr OptionSpec kData{.name = "data", .value = "DIR", .help = "the data folder (unless given: as `moulin up`)"};

constexpr OptionSpec kUpOptions[] = {
    {.name = "data",
     .value = "DIR",
     .help = "where the installation lives (unless given: $MOULIN_DATA, /var/lib/moulin for root, else "
             "~/.local/share/moulin)"},
    {.name = "listen",
     .value = "HOST:PORT",
     .help = "loopback address of the API; port 0 takes any free one (unless given: 127.0.0.1:6468)"},
    {.name = "host",
     .value = "NAME",
     .help = "a further name that it answers to, as a proxy before it passes it on",
     .repeat = OptionSpec::Repeat::kMany},
    {.name = "base-path", .value = "PATH", .help = "serve below this path, as a proxy before it has it"},
    {.name = "simulate",
     .value = "SPEC",
     .help = "pretend to have GPUs: 8xH100-80GB, or '500x(8xH100-80GB)'; marked as simulated everywhere"},
    {.name = "engine",
     .value = "ENGINE",
     .help = "local, or virtual: nothing runs, and workloads only take their time (unless given: local)"},
    {.name = "keep-logs",
     .value = "DURATION",
     .help = "remove the logs of ended attempts after this time; 0: never (unless given: 30d)"},
    {.name = "keep-logs-size",
     .value = "SIZE",
     .help = "and the oldest of them when all are larger; 0: no limit (unless given: 50GiB)"},
    {.name = "copy", .help = "the folder is a copy: go on with its history, leave alone what the original started"},
    {.name = "service", .help = "write a unit of systemd with these options, and start it where systemd runs"},
    {.name = "unit-folder", .value = "DIR", .help = "with --service: write the unit there, and start nothing"},
};
constexpr OptionSpec kDataOptions[] = {kData};
constexpr OptionSpec kBackupOptions[] = {
    kData, {.name = "logs", .help = "with the log files of all workloads, which may be large"}};

constexpr std::string_view kUpDetails =
    "In the foreground. With --json it prints one line {\"url\": ..., \"token_file\": ...} when\n"
    "it serves. Clients on this machine find a server with the default folder by themselves,\n"
    "another one with MOULIN_DATA=DIR. Stopping it (Ctrl-C, SIGTERM, `moulin down`) leaves\n"
    "workloads running; the next `moulin up` takes them over again.\n";

constexpr Verb kUpVerbs[] = {
    {.name = "up",
     .group = "Start here",
     .summary = "serve this machine",
     .options = kUpOptions,
     .details = kUpDetails,
     .examples = "moulin up\nmoulin up --data /tmp/try --simulate 8xH100-80GB\nmoulin up --service"},
};

constexpr Verb kLocalVerbs[] = {
    {.name = "backup",
     .group = kGroup,
     .arguments = "FOLDER",
     .words_min = 1,
     .words_max = 1,
     .summary = "copy everything that the server knows into a new folder",
     .options = kBackupOptions,
     .details = "Works beside a running server, and reads the copy back whole before it gives it its\n"
                "name. Tokens are not in it, only their hashes.\n",
     .examples = "moulin backup /backup/moulin-2026-11-30"},
    {.name = "restore",
     .group = kGroup,
     .arguments = "FOLDER",
     .words_min = 1,
     .words_max = 1,
     .summary = "make a data folder from a backup",
     .options = kDataOptions,
     .details = "The data folder must be new or empty. Processes are not in a backup: what ran when it\n"
                "was made starts again with `moulin up`, as its retry rules say.\n",
     .examples = "moulin restore /backup/moulin-2026-11-30\n"
                 "moulin restore /backup/moulin-2026-11-30 --data /tmp/try"},
    {.name = "journal verify",
     .group = kGroup,
     .summary = "read all that happened, and check that it is whole",
     .options = kDataOptions,
     .details = "Needs no server, and works beside a running one. Exits 1 when it is damaged.\n",
     .examples = "moulin journal verify\nmoulin journal verify --data /tmp/try"},
    {.name = "journal stats",
     .group = kGroup,
     .summary = "count it by kind, and what it takes",
     .options = kDataOptions,
     .details = "Needs no server, and works beside a running one.\n",
     .examples = "moulin journal stats"},
};

}  // namespace

std::span<const Verb> main_verbs() { return kUpVerbs; }
std::span<const Verb> local_verbs() { return kLocalVerbs; }

}  // namespace moulin::cli
