// What the fake library is told to do: a text file, read again at every call, so that a
// test can change it while the library runs.
//
//   # comment
//   driver 570.86.15
//   cuda 12080
//   init 9                                    answer of nvmlInit; 0 unless said
//   device 0 uuid GPU-1111                    a device exists once it has a uuid
//   device 0 name NVIDIA H100 80GB HBM3
//   device 0 memory TOTAL RESERVED USED       bytes
//   device 0 pci 00000000:3B:00.0
//   device 0 active 87                        per cent
//   device 0 celsius 61
//   device 0 milliwatts 350000
//   device 0 ecc 2
//   device 0 remapped PENDING FAILED
//   device 0 recovery 1
//   device 0 compute PID BYTES [PERCENT]      also graphics, mps; BYTES -1: hidden
//   device 0 nvlink 1                         to device 1
//   device 0 migmode 1
//   device 0 mig MIG-2222 1g.10gb 9728        uuid, profile, MiB
//   device 0 xid 79                           reported once for each such line
//   fail FUNCTION CODE [DEVICE]               * for all functions about a device
//   hang FUNCTION PREFIX [DEVICE]             see use_fake_nvml.h
//
// A value that is not given is "not supported".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moulin::fake {

class Script {
 public:
  // An absent file is an empty script.
  static Script read(const std::string& path);

  // The rest of the lines "FIRST ...", e.g. all("fail").
  std::vector<std::string> all(const std::string& first) const;
  // The rest of the lines "device INDEX KEY ...".
  std::vector<std::string> of_device(int64_t index, const std::string& key) const;
  int64_t device_count() const;

 private:
  std::vector<std::string> lines_;
};

std::vector<std::string> words(const std::string& text);
// A whole number, or `otherwise`.
int64_t number(const std::string& text, int64_t otherwise);
// Word `position` of the only or first of `lines` as a number; nothing without it.
std::optional<int64_t> number_at(const std::vector<std::string>& lines, size_t position);

}  // namespace moulin::fake
