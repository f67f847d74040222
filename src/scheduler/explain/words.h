// Amounts and times as a sentence has them.
#pragma once

#include <string>

#include "model/quota.h"
#include "model/workload.h"

namespace moulin {

std::string gpu_words(Share share);                              // "0.25 GPU", "1 GPU", "8 GPUs"
std::string amount_words(Resource resource, int64_t amount);     // "4 GPUs", "2.5 CPU", "16GiB of memory"
std::string key_words(const QuotaKey& key);                      // "in pool default", "of H100 in pool default"
std::string count_words(int64_t count, std::string_view thing);  // "1 replica", "3 replicas"
std::string wait_words(Duration duration);                       // whole seconds, at least one: "2m30s"
std::string workload_words(const Workload& workload);            // "w-0000000000001 (bert)"
std::string request_words(const Resources& resources);  // of one replica: "2 GPUs", "0.5 GPU", "20GiB of GPU memory"

}  // namespace moulin
