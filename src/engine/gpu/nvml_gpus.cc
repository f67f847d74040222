#include "engine/gpu/nvml_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "engine/gpu/activity_totals.h"
#include "engine/gpu/fault_memory.h"
#include "engine/gpu/health_board.h"
#include "engine/gpu/host.h"
#include "engine/gpu/reading.h"
#include "shim/process_info.h"

namespace moulin {

namespace {

// One of our threads.
struct Worker {
  enum class Kind { kCallsLibrary, kPublisher };
  Kind kind = Kind::kCallsLibrary;
  bool ended = false;  // it will not touch anything of ours again
  std::thread thread{};
};

std::chrono::microseconds as_chrono(Duration duration) { return std::chrono::microseconds(duration.us); }

// Why discovery ended without devices, for a person.
std::string no_devices_note(nvml::Return answer) {
  if (answer == nvml::Return::kDriverNotLoaded) {
    return "NVIDIA's library is installed but the driver is not loaded (modprobe nvidia, or restart the machine)";
  }
  if (answer == nvml::Return::kVersionMismatch) {
    return "NVIDIA's library and kernel module have different versions: restart the machine after the driver's upgrade";
  }
  return fmt::format("NVIDIA's library does not start: {}", to_text(answer));
}

void describe(const DeviceList& list, GpuInventory& inventory) {
  inventory.source = list.devices.empty() ? GpuSource::kNone : GpuSource::kDriver;
  inventory.driver_version = list.driver_version;
  inventory.cuda_version = list.cuda_version;
  inventory.details = list.details;
  inventory.note = join(list.unreachable, "; ");
  if (list.devices.empty() && inventory.note.empty()) inventory.note = "the driver finds no NVIDIA device";
}

}  // namespace

// Owned by the NvmlGpus and by each of its threads. Everything after `mutex` is guarded by
// it, but for is_ours.
struct NvmlGpus::Shared {
  Shared(NvmlGpusOptions given, NvmlFunctions found)
      : options(std::move(given)),
        functions(found),
        driver_watch(std::make_shared<CallWatch>(options.clock)),
        event_watch(std::make_shared<CallWatch>(options.clock)) {}

  const NvmlGpusOptions options;
  const NvmlFunctions functions;
  const std::shared_ptr<CallWatch> driver_watch;
  const std::shared_ptr<CallWatch> event_watch;

  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  bool watching = false;
  bool fresh = false;         // something to publish
  bool faults_dirty = false;  // XIDs to write to the fault file
  std::list<Worker> workers;  // driver, events, publisher, as far as started
  std::optional<NvmlAnswer<DeviceList>> listed;
  std::string boot_id;
  std::function<void(std::vector<GpuChange>)> on_change;
  HealthBoard board;
  std::shared_ptr<const GpuSamples> latest = std::make_shared<GpuSamples>();

  // A thread that comes back from a hung call must not ask an owner that is gone.
  std::mutex is_ours_mutex;
  std::function<bool(int64_t)> is_ours;

  static void start(const std::shared_ptr<Shared>& self, Worker::Kind kind, void (Shared::*body)());
  void run_driver();
  void look_again_and_again(Nvml& nvml, std::vector<KnownDevice> known);
  void run_events();
  void note_xid(Nvml& nvml, const Nvml::Xid& xid, const std::vector<KnownDevice>& known);
  void run_publisher();
  bool wait_until_watching();
  bool pause(Duration duration);
  bool ask_is_ours(int64_t pid);
  std::vector<Gpu> first_verdicts(const DeviceList& list);
  std::optional<std::string> hang() const;
};

// Called with `mutex` held.
void NvmlGpus::Shared::start(const std::shared_ptr<Shared>& self, Worker::Kind kind, void (Shared::*body)()) {
  Worker& worker = self->workers.emplace_back(Worker{.kind = kind});
  worker.thread = std::thread([self, body, &worker] {
    (self.get()->*body)();
    std::lock_guard lock(self->mutex);
    worker.ended = true;
    self->changed.notify_all();
  });
}

// False: we are to stop.
bool NvmlGpus::Shared::wait_until_watching() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return watching || stopping; });
  return !stopping;
}

bool NvmlGpus::Shared::pause(Duration duration) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, as_chrono(duration), [&] { return stopping; });
}

bool NvmlGpus::Shared::ask_is_ours(int64_t pid) {
  std::lock_guard lock(is_ours_mutex);
  return is_ours && is_ours(pid);
}

// Before the first look, from the XIDs of an earlier server and the MIG mode. Called with
// `mutex` held.
std::vector<Gpu> NvmlGpus::Shared::first_verdicts(const DeviceList& list) {
  XidsByGpu faults = recall_faults(options.data_folder, boot_id);
  std::vector<Gpu> gpus = list.gpus;
  std::vector<GpuReading> expected;
  for (size_t i = 0; i < gpus.size(); ++i) {
    for (int32_t xid : faults[gpus[i].uuid]) board.add_xid(gpus[i].uuid, xid);
    GpuSigns signs{.mig_enabled = list.details[i].mig_enabled, .xids = faults[gpus[i].uuid]};
    GpuVerdict verdict = judge(signs);
    gpus[i].health = verdict.health;
    gpus[i].health_reason = verdict.reason;
    signs.xids.clear();
    expected.push_back({.sample = {.uuid = gpus[i].uuid, .verdict = {}}, .signs = std::move(signs)});
  }
  board.expect(std::move(expected));
  return gpus;
}

void NvmlGpus::Shared::run_driver() {
  Nvml nvml(functions, driver_watch);
  nvml::Return started = nvml.init();
  NvmlAnswer<DeviceList> list = std::unexpected(started);
  if (started == nvml::Return::kSuccess) list = list_devices(nvml, options.sys_folder);
  {
    std::lock_guard lock(mutex);
    listed = list;
    changed.notify_all();
  }
  if (list && wait_until_watching()) look_again_and_again(nvml, std::move(list->devices));
}

void NvmlGpus::Shared::look_again_and_again(Nvml& nvml, std::vector<KnownDevice> known) {
  ActivityTotals totals;
  do {
    std::vector<GpuReading> readings;
    for (KnownDevice& device : known) {
      readings.push_back(read_device(nvml, device, [this](int64_t pid) { return ask_is_ours(pid); }));
    }
    totals.add(readings, options.clock());
    std::lock_guard lock(mutex);
    board.set_readings(std::move(readings));
    fresh = true;
    changed.notify_all();
  } while (pause(options.period));
}

void NvmlGpus::Shared::run_events() {
  if (!wait_until_watching()) return;
  std::vector<KnownDevice> known;
  std::vector<NvmlDevice> devices;
  {
    std::lock_guard lock(mutex);
    known = (*listed)->devices;
  }
  for (const KnownDevice& device : known) devices.push_back(device.device);
  Nvml nvml(functions, event_watch);
  NvmlAnswer<nvml::EventSet> set = nvml.listen_for_xids(devices);
  if (!set) return;  // ECC, row remapping and the recovery action still tell of faults
  for (bool more = true; more; more = pause(Duration{})) {
    NvmlAnswer<Nvml::Xid> xid = nvml.wait_for_xid(*set, options.event_wait);
    if (xid) {
      note_xid(nvml, *xid, known);
    } else if (xid.error() != nvml::Return::kTimeout && !pause(options.period)) {
      return;
    }
  }
}

void NvmlGpus::Shared::note_xid(Nvml& nvml, const Nvml::Xid& xid, const std::vector<KnownDevice>& known) {
  auto same_handle = [&](const KnownDevice& device) { return device.device.handle == xid.device; };
  auto found = std::find_if(known.begin(), known.end(), same_handle);
  if (found == known.end()) {
    NvmlAnswer<std::string> uuid = nvml.uuid({.handle = xid.device, .index = -1});
    auto same_uuid = [&](const KnownDevice& device) { return uuid && device.uuid.text == *uuid; };
    found = std::find_if(known.begin(), known.end(), same_uuid);
  }
  if (found == known.end()) return;
  std::lock_guard lock(mutex);
  board.add_xid(found->uuid, xid.number);
  fresh = faults_dirty = true;
  changed.notify_all();
}

// The sentence has no growing number in it, or every tick would be a change.
std::optional<std::string> NvmlGpus::Shared::hang() const {
  auto beyond = [](const CallWatch& watch, Duration bound) -> std::optional<std::string> {
    std::optional<CallWatch::Call> call = watch.under_way();
    if (!call || call->since <= bound) return std::nullopt;
    std::string device = call->device < 0 ? "" : fmt::format(" about device {}", call->device);
    return fmt::format(
        "the driver has not answered {}{} for more than {}: look into the kernel's log; a restart of the "
        "machine may be needed",
        call->function, device, to_text(bound));
  };
  if (std::optional<std::string> sentence = beyond(*driver_watch, options.call_bound)) return sentence;
  return beyond(*event_watch, options.call_bound + options.event_wait);
}

void NvmlGpus::Shared::run_publisher() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    board.set_hang(hang());
    HealthBoard::Publication publication = board.publish();
    latest = publication.samples;
    fresh = false;
    XidsByGpu faults = board.xids();
    bool write = std::exchange(faults_dirty, false);
    lock.unlock();
    if (!publication.changes.empty() && on_change) on_change(std::move(publication.changes));
    bool written = !write || remember_faults(options.data_folder, boot_id, faults).has_value();
    lock.lock();
    faults_dirty = faults_dirty || !written;
    changed.wait_for(lock, as_chrono(options.publish_tick), [&] { return stopping || fresh; });
  }
}

Result<std::unique_ptr<NvmlGpus>> NvmlGpus::open(NvmlGpusOptions options) {
  if (!options.clock) options.clock = boot_time_now;
  NvmlFunctions functions = TRY(load_nvml(options.library));
  return std::unique_ptr<NvmlGpus>(new NvmlGpus(std::make_shared<Shared>(std::move(options), functions)));
}

NvmlGpus::~NvmlGpus() {
  {
    std::lock_guard lock(shared_->is_ours_mutex);
    shared_->is_ours = nullptr;
  }
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  auto all_ended = [&] {
    return std::all_of(shared_->workers.begin(), shared_->workers.end(),
                       [](const Worker& worker) { return worker.ended; });
  };
  shared_->changed.wait_for(lock, as_chrono(shared_->options.stop_bound), all_ended);
  // The publisher never calls the library: waiting for it is safe, and needed, because it
  // calls our owner.
  std::vector<std::thread> to_join;
  for (Worker& worker : shared_->workers) {
    if (worker.ended || worker.kind == Worker::Kind::kPublisher) {
      to_join.push_back(std::move(worker.thread));
    } else {
      worker.thread.detach();
    }
  }
  lock.unlock();
  for (std::thread& thread : to_join) thread.join();
}

Result<GpuInventory> NvmlGpus::discover() {
  HostFacts host = TRY(host_facts(shared_->options.proc_folder));
  Node node{.name = NodeName(host.name), .cpu = host.cpu, .memory = host.memory, .gpus = {}, .labels = {}};
  GpuInventory inventory{.nodes = {}};
  std::unique_lock lock(shared_->mutex);
  MOULIN_CHECK(shared_->workers.empty(), "discover is called once");
  shared_->boot_id = host.boot_id;
  Shared::start(shared_, Worker::Kind::kCallsLibrary, &Shared::run_driver);
  Duration bound = shared_->options.load_bound;
  if (!shared_->changed.wait_for(lock, as_chrono(bound), [&] { return shared_->listed.has_value(); })) {
    return Error{.code = Code::kUnavailable,
                 .message = fmt::format("NVIDIA's driver does not answer within {}", to_text(bound)),
                 .to_do = "look into the kernel's log; a restart of the machine may be needed"};
  }
  if (!*shared_->listed) {
    inventory.note = no_devices_note(shared_->listed->error());
  } else {
    describe(**shared_->listed, inventory);
    node.gpus = shared_->first_verdicts(**shared_->listed);
  }
  inventory.nodes.push_back(std::move(node));
  return inventory;
}

void NvmlGpus::watch(GpuWatcher watcher) {
  {
    std::lock_guard lock(shared_->is_ours_mutex);
    shared_->is_ours = std::move(watcher.is_ours);
  }
  std::lock_guard lock(shared_->mutex);
  MOULIN_CHECK(!shared_->watching, "watch is called once");
  shared_->on_change = std::move(watcher.on_change);
  shared_->watching = true;
  if (!shared_->listed || !*shared_->listed) return;
  Shared::start(shared_, Worker::Kind::kCallsLibrary, &Shared::run_events);
  Shared::start(shared_, Worker::Kind::kPublisher, &Shared::run_publisher);
  shared_->changed.notify_all();
}

std::shared_ptr<const GpuSamples> NvmlGpus::latest() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->latest;
}

std::function<std::shared_ptr<const GpuSamples>()> NvmlGpus::looks() const {
  return [shared = shared_] {
    std::lock_guard lock(shared->mutex);
    return shared->latest;
  };
}

void NvmlGpus::forget_faults(const GpuUuid& uuid) {
  std::lock_guard lock(shared_->mutex);
  shared_->board.forget_xids(uuid);
  shared_->fresh = shared_->faults_dirty = true;
  shared_->changed.notify_all();
}

}  // namespace moulin
