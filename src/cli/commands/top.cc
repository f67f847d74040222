// top: what the devices do now, looked at again and again on a terminal.
#include "cli/render/top.h"
#include "cli/commands/groups.h"
#include "cli/commands/pages.h"
#include "cli/session.h"

namespace moulin::cli {

namespace {

constexpr Duration kPause = seconds(2);
constexpr int64_t kWorkloadsMax = 1000;

// Another screen of the terminal, so that what was there before is back at the end.
class Screen {
 public:
  explicit Screen(Console& console) : console_(console) { console_.print("\x1b[?1049h\x1b[?25l"); }
  ~Screen() { console_.print("\x1b[?25h\x1b[?1049l"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Without a flicker: each line is written over and its rest cleared.
  void show(const std::string& text) {
    std::string out = "\x1b[H";
    for (char c : text) {
      if (c == '\n') out += "\x1b[K";
      out += c;
    }
    console_.print(out + "\x1b[J");
  }

 private:
  Console& console_;
};

Result<TopPicture> look(Session& session) {
  using enum WorkloadState;
  TopPicture picture;
  picture.nodes = TRY(pages_of(session, wire::ListNodes{}, kItemsMax)).items;
  wire::ListWorkloads live{.state = {kStarting, kRunning, kStopping}};
  picture.workloads = TRY(pages_of(session, live, kWorkloadsMax)).items;
  return picture;
}

int print_once(Session& session, const TopPicture& picture) {
  Console& console = session.console();
  if (console.is_json()) {
    JsonArray nodes;
    for (const wire::Node& node : picture.nodes) nodes.push_back(wire::write(node));
    JsonArray workloads;
    for (const wire::WorkloadSummary& workload : picture.workloads) workloads.push_back(wire::write(workload));
    console.print_json(Json::object({{"nodes", std::move(nodes)}, {"workloads", std::move(workloads)}}));
    return 0;
  }
  View view = console.view();
  view.height = 0;
  console.print(render_top(picture, view));
  return 0;
}

// A server that goes away is waited for: its workloads go on, and so do we.
int watch(Session& session, TopPicture first) {
  Console& console = session.console();
  std::unique_ptr<Interrupts> interrupts = session.surroundings().hold_interrupts();
  Screen screen(console);
  Result<TopPicture> picture = std::move(first);
  for (;;) {  // until an interrupt
    console.look_again();
    screen.show(picture ? render_top(*picture, console.view()) : error_text(picture.error(), console.view()));
    if (interrupts->wait(kPause)) return 0;
    picture = look(session);
  }
}

Result<int> top(Session& session) {
  TopPicture picture = TRY(look(session));
  Console& console = session.console();
  bool once = session.call().has("once") || console.is_json() || console.view().height == 0;
  return once ? print_once(session, picture) : watch(session, std::move(picture));
}

constexpr OptionSpec kTopOptions[] = {{.name = "once", .help = "print it once, as without a terminal"}};

constexpr Verb kVerbs[] = {
    {.name = "top",
     .group = "Hardware",
     .summary = "what the GPUs do now, and who holds them",
     .options = kTopOptions,
     .details = "Looks again every two seconds until Ctrl-C. ACTIVE is the last second of a device; USED\n"
                "is the part of what a workload held in which its devices worked, since it began.\n",
     .examples = "moulin top\nmoulin top --once",
     .run = top},
};

}  // namespace

std::span<const Verb> top_verbs() { return kVerbs; }

}  // namespace moulin::cli
