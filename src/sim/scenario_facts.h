// The facts of a scenario: nodes, quotas, how the engine behaves. Readers only.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/node.h"
#include "model/quota.h"
#include "sim/virtual_engine.h"

namespace moulin::scenario {

// "2x(8xH100-80GB)", or a list of such texts and of
//   {name: big, gpus: 4xA100-80GB, cpu: 64, memory: 512GiB, pool: a100, labels: {rack: r1}, isolation: mps}
Result<std::vector<Node>> read_nodes(const Json& value, std::string_view path);

// {gpu: {guaranteed: 2, limit: 4, weight: 1, rank: 0}, cpu: {limit: 16}, memory: {limit: 1TiB},
//  models: {H100-80GB: {limit: 2}}, pools: {a100: {gpu: {...}}}}; guaranteed may be `rest`.
// A member called `holds` is not read here.
Result<std::map<QuotaKey, Quota>> read_quotas(const Json& value, std::string_view path);

// {code: 1, signal: 9, error: text, vanished: true, limit_hit: true, done_file: true}, or a
// number: the exit code.
Result<Exit> read_exit(const Json& value, std::string_view path);

// {starts: at_once | never, starts_after: 5s, ends: at_once | never, ends_after: 5s,
//  answers: false, checkpoints: true, exit: 143}: what is not named stays as in `before`.
Result<EngineRule> read_engine_rule(const Json& value, std::string_view path, EngineRule before);

// A duration of a scenario.
Result<Duration> read_time(const Json& value, std::string_view path);

}  // namespace moulin::scenario
