// check_gpu [LIBRARY]: what Moulin sees of the GPUs of this machine. Exit code: GpuCheck.

#include <cstdio>

#include "engine/gpu/check_gpu.h"
#include "engine/gpu/find_gpus.h"

int main(int count, char** words) {
  moulin::GpuOptions options;
  if (count > 1) options.library = words[1];
  moulin::Result<std::unique_ptr<moulin::Gpus>> gpus = moulin::find_gpus(std::move(options));
  if (!gpus) {
    std::fprintf(stderr, "%s\n", gpus.error().to_text().c_str());
    return static_cast<int>(moulin::GpuCheck::kNoGpus);
  }
  return static_cast<int>(moulin::check_gpu(**gpus, stdout));
}
