// The part of the binary interface of NVIDIA's management library (libnvidia-ml.so.1,
// "NVML") that we use: numbers, structures and signatures, written down from NVIDIA's
// public documentation so that no SDK is needed to build. x86-64 and aarch64 Linux.
//
// Structures grow by new versions: a version word holds the size and, in its top byte,
// the version; functions get a suffix (_v2). The library keeps the old ones. nvml.cc asks
// for the newest name that it knows and falls back. The sizes below are asserted, because
// a wrong one would let the library write past our buffer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moulin::nvml {

// Return codes that make a difference to us. Any other value may come too.
enum class Return : int32_t {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,  // this device has no such thing
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,  // call again with a larger array
  kDriverNotLoaded = 9,
  kTimeout = 10,           // nothing happened while waiting
  kFunctionNotFound = 13,  // also ours: the symbol is not in the library
  kGpuIsLost = 15,         // fallen off the bus
  kResetRequired = 16,
  kOperatingSystem = 17,  // the device file is blocked, e.g. by a cgroup
  kVersionMismatch = 18,  // library and kernel module differ: reboot after an upgrade
  kArgumentVersionMismatch = 25,
  kUnknown = 999,
};

using Device = struct DeviceHandle*;
using EventSet = struct EventSetHandle*;

inline constexpr uint64_t kValueNotAvailable = ~uint64_t{0};  // memory of a process, when hidden
inline constexpr uint64_t kEventXid = 0x8;
inline constexpr uint32_t kTemperatureSensorGpu = 0;
inline constexpr uint32_t kErrorUncorrected = 1;
inline constexpr uint32_t kCounterVolatile = 0;
inline constexpr uint32_t kP2pCapNvlink = 2;
inline constexpr uint32_t kP2pStatusOk = 0;
inline constexpr uint32_t kFieldRecoveryAction = 230;  // since driver 560

inline constexpr uint32_t kNameSize = 96;  // of a product name
inline constexpr uint32_t kUuidSize = 96;
inline constexpr uint32_t kVersionSize = 80;  // of a driver version

constexpr uint32_t version_word(size_t size, uint32_t version) { return static_cast<uint32_t>(size) | version << 24; }

struct Utilization {
  uint32_t gpu;     // per cent of the last sample period (1/6 s to 1 s) with a kernel running
  uint32_t memory;  // per cent with memory traffic
};
static_assert(sizeof(Utilization) == 8);

struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;  // includes the reserve
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  uint32_t version = version_word(40, 2);
  uint64_t total;
  uint64_t reserved;
  uint64_t free;
  uint64_t used;  // without the reserve
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);

struct PciInfo {  // version 3; versions 1 and 2 are shorter and fill the legacy text only
  char bus_id_legacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t device_id;
  uint32_t subsystem_id;
  char bus_id[32];  // "00000000:3B:00.0"
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct ProcessV1 {
  uint32_t pid;
  uint64_t memory;
};
static_assert(sizeof(ProcessV1) == 16);

struct ProcessV2 {  // of the functions _v2 and _v3
  uint32_t pid;
  uint64_t memory;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(ProcessV2) == 24);

struct ProcessSample {  // of nvmlDeviceGetProcessUtilization, gone from some 580 drivers
  uint32_t pid;
  uint64_t timestamp;  // microseconds
  uint32_t sm;         // per cent
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
};
static_assert(sizeof(ProcessSample) == 32);

struct ProcessUtilization {  // its successor
  uint64_t timestamp;
  uint32_t pid;
  uint32_t sm;
  uint32_t memory;
  uint32_t encoder;
  uint32_t decoder;
  uint32_t jpeg;
  uint32_t optical_flow;
};
static_assert(sizeof(ProcessUtilization) == 40);

struct ProcessesUtilization {
  uint32_t version = version_word(24, 1);
  uint32_t count;
  uint64_t last_seen;
  ProcessUtilization* processes;
};
static_assert(sizeof(ProcessesUtilization) == 24);

struct Temperature {
  uint32_t version = version_word(12, 1);
  uint32_t sensor;
  int32_t celsius;
};
static_assert(sizeof(Temperature) == 12);

struct MigAttributes {
  uint32_t multiprocessors;
  uint32_t copy_engines;
  uint32_t decoders;
  uint32_t encoders;
  uint32_t jpeg;
  uint32_t optical_flow;
  uint32_t gpu_slices;
  uint32_t compute_slices;
  uint64_t memory_mib;
};
static_assert(sizeof(MigAttributes) == 40);

struct EventData {  // version 1 lacks the last two
  Device device;
  uint64_t type;
  uint64_t data;  // the XID
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(EventData) == 32);

struct FieldValue {
  uint32_t field;
  uint32_t scope;
  int64_t timestamp;
  int64_t latency_us;
  uint32_t value_type;
  Return answer;
  union {
    uint32_t unsigned_int;
    uint64_t unsigned_long_long;
    double floating;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

// Signatures.
using Init = Return();
using GetSystemText = Return(char* text, uint32_t size);
using GetSystemInt = Return(int* value);
using GetCount = Return(uint32_t* count);
using GetHandleByIndex = Return(uint32_t index, Device* device);
using GetDeviceText = Return(Device device, char* text, uint32_t size);
using GetDeviceUint = Return(Device device, uint32_t* value);
using GetMemory = Return(Device device, Memory* memory);
using GetMemoryV2 = Return(Device device, MemoryV2* memory);
using GetPciInfo = Return(Device device, PciInfo* pci);
using GetUtilization = Return(Device device, Utilization* utilization);
using GetTemperature = Return(Device device, uint32_t sensor, uint32_t* celsius);
using GetTemperatureV = Return(Device device, Temperature* temperature);
using GetTotalEccErrors = Return(Device device, uint32_t error, uint32_t counter, uint64_t* count);
using GetRemappedRows = Return(Device device, uint32_t* corrected, uint32_t* uncorrected, uint32_t* pending,
                               uint32_t* failed);
using GetProcesses = Return(Device device, uint32_t* count, void* processes);
using GetProcessSamples = Return(Device device, ProcessSample* samples, uint32_t* count, uint64_t last_seen);
using GetProcessesUtilization = Return(Device device, ProcessesUtilization* utilization);
using GetMigMode = Return(Device device, uint32_t* current, uint32_t* pending);
using GetMigDeviceByIndex = Return(Device device, uint32_t index, Device* mig);
using GetMigAttributes = Return(Device device, MigAttributes* attributes);
using GetP2pStatus = Return(Device one, Device other, uint32_t capability, uint32_t* status);
using GetFieldValues = Return(Device device, int count, FieldValue* values);
using GetEventTypes = Return(Device device, uint64_t* types);
using EventSetCreate = Return(EventSet* set);
using RegisterEvents = Return(Device device, uint64_t types, EventSet set);
using EventSetWait = Return(EventSet set, EventData* data, uint32_t timeout_ms);

}  // namespace moulin::nvml
