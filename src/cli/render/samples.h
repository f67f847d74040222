// Answers of a server, for the tests of what is rendered from them.
#pragma once

#include <string>

namespace moulin::cli::samples {

inline const std::string kWaiting = R"({
  "id": "w-0c9k2v7m3x1qz", "name": "bert-finetune", "project": "nlp", "owner": "ada", "kind": "job",
  "class": "training", "priority": 5, "state": "waiting", "state_since": "2026-03-01T11:48:00Z",
  "submitted": "2026-03-01T11:48:00Z", "origin": {"kind": "user"}, "simulated": true,
  "replicas": {"min": 1, "max": 1, "running": 0}, "placement": [], "attempts": [], "attempt_count": 0,
  "preemptions": 0, "retries": 0,
  "reasons": [{"code": "no_capacity", "text": "it needs 0.5 GPU, the largest free part is 0.25"},
              {"code": "behind", "text": "2 workloads of its project are served first"}],
  "expected_start": "2026-03-01T12:05:00Z", "expected_start_reason": "",
  "usage": {"held_gpu_seconds": 0, "lost_gpu_seconds": 0, "gpu_active_seconds": 0, "running_seconds": 0},
  "tags": {"team": "language"},
  "spec": {"kind": "job", "name": "bert-finetune", "project": "nlp", "run": ["python", "train.py", "--note",
     "two words"]}
})";

inline const std::string kRunning = R"({
  "id": "w-0c9k2v7m3x1r0", "name": "gang", "project": "nlp", "owner": "ada", "kind": "job",
  "class": "batch", "priority": 0, "state": "running", "state_since": "2026-03-01T11:55:00Z",
  "submitted": "2026-03-01T10:00:00Z", "origin": {"kind": "array", "name": "sweep", "index": 7}, "simulated": false,
  "replicas": {"min": 2, "max": 4, "running": 2},
  "placement": [
    {"replica": 0, "node": "n1", "cpu_milli": 4000, "memory_bytes": 17179869184, "gpus": [
      {"uuid": "GPU-1", "index": 0, "share_milli": 250, "memory_bytes": 21474836480, "isolation": "advisory"},
      {"uuid": "GPU-3", "index": 2, "share_milli": 250, "memory_bytes": 21474836480, "isolation": "advisory"},
      {"uuid": "GPU-4", "index": 3, "share_milli": 250, "memory_bytes": 21474836480, "isolation": "advisory"}]},
    {"replica": 1, "node": "n2", "cpu_milli": 0, "memory_bytes": 0, "gpus": [
      {"uuid": "GPU-2", "index": 3, "share_milli": 250, "memory_bytes": 21474836480, "isolation": "mps"}]}],
  "attempts": [
    {"number": 1, "state": "ended", "outcome": "preempted", "cause": "higher_class", "evicted_for": "w-0c9k2v7m3x1qz",
     "created": "2026-03-01T10:00:00Z", "started": "2026-03-01T10:00:01Z", "checkpointed": "2026-03-01T10:29:00Z",
     "ended": "2026-03-01T10:30:00Z", "held_gpu_seconds": 900, "lost_gpu_seconds": 30, "replicas": []},
    {"number": 2, "state": "ended", "outcome": "failed", "cause": "none", "created": "2026-03-01T11:00:00Z",
     "started": "2026-03-01T11:00:01Z", "ended": "2026-03-01T11:10:00Z", "held_gpu_seconds": 300,
     "lost_gpu_seconds": 0,
     "replicas": [{"replica": 1, "state": "exited", "node": "n2", "gpus": [], "created": "2026-03-01T11:00:00Z",
       "exit": {"signal": 9, "limit_hit": false, "vanished": false},
       "usage": {"cpu_seconds": 1, "memory_peak_bytes": 1, "gpu_active_seconds": 0}}]},
    {"number": 3, "state": "running", "outcome": "none", "cause": "none", "created": "2026-03-01T11:54:59Z",
     "started": "2026-03-01T11:55:00Z", "held_gpu_seconds": 150.5, "lost_gpu_seconds": 0, "replicas": []}],
  "attempt_count": 3, "preemptions": 1, "retries": 1, "reasons": [],
  "expected_start": null, "expected_start_reason": "",
  "usage": {"held_gpu_seconds": 1350.5, "lost_gpu_seconds": 30, "gpu_active_seconds": 800, "running_seconds": 2700},
  "tags": {}, "spec": {"run": "python gang.py | tee out"}
})";

inline const std::string kWhy = R"({
  "state": "waiting",
  "reasons": [
    {"code": "no_capacity", "text": "it needs 0.5 GPU, the largest free part is 0.25 on n1",
     "numbers": {"free_milli": 1250, "largest_milli": 250, "needed_milli": 500}, "names": {"node": "n1"}},
    {"code": "behind", "text": "2 workloads of its project are served first", "numbers": {"position": 3},
     "names": {}},
    {"code": "project_limit", "text": "project nlp is limited to 2 GPUs in pool default and holds 2; this needs 0.5",
     "numbers": {"bound": 2000, "held": 2000, "needed": 500},
     "names": {"project": "nlp", "resource": "gpu", "pool": "default"}}],
  "changes": [
    {"dimension": "share", "from": 500, "to": 250, "text": "ask for 0.25 GPU instead of 0.5", "starts_now": true},
    {"dimension": "gpu_memory", "from": 42949672960, "to": 21474836480, "text": "ask for 20GiB of GPU memory",
     "starts_now": true},
    {"dimension": "class", "from": "training", "to": "production", "text": "make it class production",
     "starts_now": true},
    {"dimension": "quota", "from": 2000, "to": 2500, "at": "nlp", "text": "raise the limit of nlp to 2.5",
     "starts_now": true},
    {"dimension": "topology", "from": "rack", "to": null, "text": "do without a rack of its own",
     "starts_now": true}],
  "expected_start": "2026-03-01T12:05:00Z", "expected_start_reason": "", "as_of": "2026-03-01T12:00:00Z"
})";

inline const std::string kWorkloads = R"({"items": [
  {"id": "w-0c9k2v7m3x1r0", "name": "gang", "project": "nlp", "owner": "ada", "kind": "job", "class": "batch",
   "priority": 0, "state": "running", "state_since": "2026-03-01T11:55:00Z", "submitted": "2026-03-01T10:00:00Z",
   "origin": {"kind": "user"}, "gpu_milli": 500, "replicas": {"min": 2, "max": 2, "running": 2}, "attempt": 2,
   "nodes": ["n1", "n2"], "reason": null, "expected_start": null, "held_gpu_seconds": 12.5,
   "gpu_active_seconds": 0, "tags": {}},
  {"id": "w-0c9k2v7m3x1qz", "name": "bert-finetune", "project": "nlp", "owner": "ada", "kind": "job",
     "class": "training",
   "priority": 0, "state": "waiting", "state_since": "2026-03-01T11:48:00Z", "submitted": "2026-03-01T11:48:00Z",
   "origin": {"kind": "user"}, "gpu_milli": 500, "replicas": {"min": 1, "max": 1, "running": 0}, "attempt": 0,
   "nodes": [], "reason": {"code": "no_capacity", "text": "it needs 0.5 GPU, the largest free part is 0.25"},
   "expected_start": "2026-03-01T12:05:00Z", "held_gpu_seconds": 0, "gpu_active_seconds": 0, "tags": {}},
  {"id": "w-0c9k2v7m3x1q0", "name": "cpu-only", "project": "default", "owner": "bob", "kind": "service",
   "class": "production", "priority": 0, "state": "failed", "state_since": "2026-02-27T10:00:00Z",
   "submitted": "2026-02-27T09:00:00Z", "origin": {"kind": "user"}, "gpu_milli": 0,
   "replicas": {"min": 5, "max": 5, "running": 0}, "attempt": 1, "nodes": ["a", "b", "c", "d", "e"],
   "exit": {"code": 3, "limit_hit": false, "vanished": false}, "reason": null,
   "expected_start": null, "held_gpu_seconds": 0, "gpu_active_seconds": 0, "tags": {}}
], "next": "more"})";

inline const std::string kQuota = R"({"items": [
  {"name": "organisation", "kind": "organisation", "parent": null, "depth": 0, "pool": "default", "resource": "gpu",
   "model": null, "guaranteed": 8000, "rest": false, "limit": null, "weight": 1, "rank": 0, "used": 6250,
   "production": 0, "borrowed": 0, "waiting": 500},
  {"name": "research", "kind": "department", "parent": "organisation", "depth": 1, "pool": "default",
     "resource": "gpu",
   "model": "H100-80GB", "guaranteed": 4000, "rest": false, "limit": 6000, "weight": 2, "rank": 5, "used": 6000,
   "production": 0, "borrowed": 2000, "waiting": 500},
  {"name": "nlp", "kind": "project", "parent": "research", "depth": 2, "pool": "old", "resource": "memory",
   "model": null, "guaranteed": 0, "rest": true, "limit": 549755813888, "weight": 1, "rank": 0, "used": 17179869184,
   "production": 0, "borrowed": 0, "waiting": 0}]})";

inline const std::string kQueue = R"({"items": [
  {"position": 1, "id": "w-0c9k2v7m3x1qz", "name": "bert-finetune", "project": "nlp", "owner": "ada",
     "class": "training",
   "priority": 5, "gpu_milli": 500, "submitted": "2026-03-01T11:48:00Z",
   "reason": {"code": "no_capacity", "text": "it needs 0.5 GPU, the largest free part is 0.25"},
   "expected_start": "2026-03-01T12:05:00Z"},
  {"position": 2, "id": "w-0c9k2v7m3x1q0", "name": "late", "project": "default", "owner": "bob", "class": "batch",
   "priority": 0, "gpu_milli": 8000, "submitted": "2026-02-27T09:00:00Z", "reason": null, "expected_start": null}],
  "next": null})";

inline const std::string kTree = R"({"items": [
  {"name": "default", "kind": "project", "parent": "organisation", "created": "2026-02-01T00:00:00Z", "quotas": [
    {"pool": "default", "resource": "gpu", "model": null, "guaranteed": 0, "rest": true, "limit": null,
     "weight": 1, "rank": 0}]},
  {"name": "nlp", "kind": "project", "parent": "research", "created": "2026-02-01T00:00:00Z", "quotas": [
    {"pool": "default", "resource": "gpu", "model": null, "guaranteed": 4000, "rest": false, "limit": 8000,
     "weight": 2, "rank": 1},
    {"pool": "old", "resource": "memory", "model": null, "guaranteed": 0, "rest": false, "limit": 549755813888,
     "weight": 1, "rank": 0}]},
  {"name": "empty", "kind": "project", "parent": "organisation", "created": "2026-02-01T00:00:00Z", "quotas": []}]})";

inline const std::string kGpus = R"({"project": "nlp", "source": "simulated", "simulated": true, "note": "",
  "limit_left_milli": 2500, "guarantee_left_milli": 1000, "items": [
  {"pool": "default", "model": "H100-80GB", "memory_bytes": 84825604096, "isolation": "advisory", "devices": 8,
   "healthy": 7, "free_devices": 2, "free_milli": 3250, "largest_share_milli": 1000, "largest_block_milli": 2000},
  {"pool": "old", "model": "T4-16GB", "memory_bytes": 16106127360, "isolation": "mps", "devices": 4,
   "healthy": 4, "free_devices": 0, "free_milli": 0, "largest_share_milli": 0, "largest_block_milli": 0}]})";

inline const std::string kNode =
    R"({"name": "n1", "pool": "default", "mode": "open", "presence": "up", "simulated": false,
  "cpu_milli": 64000, "cpu_free_milli": 60500, "memory_bytes": 549755813888, "memory_free_bytes": 500000000000,
  "labels": {"rack": "r7"}, "gpus": [
  {"uuid": "GPU-1", "index": 0, "model": "H100-80GB", "memory_bytes": 85899345920, "usable_memory_bytes": 84825604096,
   "free_milli": 250, "free_memory_bytes": 20000000000, "isolation": "advisory", "health": "healthy",
     "health_reason": "",
   "foreign_processes": 1, "foreign_memory_bytes": 1073741824, "active_milli": 873, "celsius": 61,
     "milliwatts": 412345,
   "holders": [{"workload": "w-0c9k2v7m3x1r0", "name": "gang", "replica": 0, "share_milli": 250, "memory_bytes": 1},
               {"workload": "w-0c9k2v7m3x1qz", "replica": 0, "share_milli": 500, "memory_bytes": 1}]},
  {"uuid": "GPU-2", "index": 1, "model": "H100-80GB", "memory_bytes": 85899345920, "usable_memory_bytes": 84825604096,
   "free_milli": 1000, "free_memory_bytes": 84825604096, "isolation": "advisory", "health": "unhealthy",
   "health_reason": "XID 79: the device has fallen off the bus; restart the machine", "foreign_processes": 0,
   "foreign_memory_bytes": 0, "holders": []}]})";

inline const std::string kServer = R"({"version": "0.1.0", "api_version": "v1", "epoch": 3,
  "started": "2026-03-01T09:00:00Z", "simulated": true, "source": "simulated", "driver_version": "",
     "cuda_version": "",
  "note": "", "accepts_commands": false, "refusal": "the disk is full", "isolates_users": false,
  "notes": ["no cgroup controllers: memory limits are enforced by looking once a second"],
  "workloads": {"running": 3, "waiting": 1, "failed": 0},
  "journal": {"last_sequence": 99, "records": 99, "payload_bytes": 1, "disk_bytes": 2097152, "snapshots": 1,
     "newest_snapshot": 50}})";

inline const std::string kEvents = R"({"items": [
  {"sequence": 3, "time": "2026-03-01T11:30:00Z", "type": "checkpointed", "workload": "w-0c9k2v7m3x1qz",
   "project": "nlp", "text": "replica 0 wrote a checkpoint", "data": {}},
  {"sequence": 4, "time": "2026-03-01T11:31:00Z", "type": "checkpointed", "workload": "w-0c9k2v7m3x1qz",
   "project": "nlp", "text": "replica 0 wrote a checkpoint", "data": {}},
  {"sequence": 1, "time": "2026-03-01T11:48:00Z", "type": "workload_submitted", "workload": "w-0c9k2v7m3x1qz",
   "project": "nlp", "by": "ada", "text": "submitted by ada", "data": {}},
  {"sequence": 2, "time": "2026-02-01T11:49:00Z", "type": "epoch_began", "text": "a server began", "data": {}}],
     "next": null})";

inline const std::string kDryRun = R"({"workloads": [
  {"name": "sweep", "project": "nlp", "count": 100, "accepted": true, "starts_now": true, "problem": null,
   "explanation": null, "spec": {}},
  {"name": "late", "project": "nlp", "count": 1, "accepted": true, "starts_now": false, "problem": null,
   "explanation": {"state": "waiting", "reasons": [{"code": "no_capacity", "numbers": {}, "names": {},
     "text": "it needs 0.5 GPU, the largest free part is 0.25"}], "changes": [{"dimension": "share", "from": 500,
     "to": 250, "text": "ask for 0.25 GPU instead of 0.5", "starts_now": true}], "expected_start": null,
     "expected_start_reason": "nothing that runs has a declared limit", "as_of": "2026-03-01T12:00:00Z"}, "spec": {}},
  {"name": "huge", "project": "nlp", "count": 1, "accepted": false, "starts_now": false,
   "problem": {"type": "urn:moulin:problem:refused", "title": "refused", "status": 422, "field": "--gpu",
     "detail": "no node has 9 devices", "given": "9", "allowed": "at most 8 on one node", "to_do": "use --replicas"},
   "explanation": null, "spec": {}}]})";

}  // namespace moulin::cli::samples
