// One function for each operation of the contract; dispatch.cc calls them. Each answers
// its call exactly once, now or later.
#pragma once

#include "server/handlers/world.h"

namespace moulin::handle {

// workloads.cc, submit.cc
void submit_workloads(Call call);
void dry_run_workloads(Call call);
void list_workloads(Call call);
void show_workload(Call call);
void explain_workload(Call call);
void stop_workload(Call call);
void pause_workload(Call call);
void resume_workload(Call call);

// events.cc
void list_workload_events(Call call);
void stream_events(Call call);

// logs.cc
void read_workload_logs(Call call);
void exec_in_workload(Call call);

// tree.cc
void list_tree(Call call, TreeKind kind);
void create_tree_node(Call call, TreeKind kind);
void show_tree_node(Call call, TreeKind kind);
void remove_tree_node(Call call, TreeKind kind);
void change_quota(Call call, TreeKind kind);

// quota.cc
void list_quota(Call call);
void list_queue(Call call);

// identity.cc
void list_users(Call call);
void create_user(Call call);
void change_user(Call call);
void remove_user(Call call);
void list_tokens(Call call);
void issue_token(Call call);
void revoke_token(Call call);
void list_bindings(Call call);
void grant_role(Call call);
void revoke_role(Call call);
void who_am_i(Call call);

// hardware.cc
void list_nodes(Call call);
void show_node(Call call);
void change_node_mode(Call call, NodeMode mode);
void forget_gpu_faults(Call call);
void list_gpus(Call call);

// server_info.cc
void show_server(Call call);
void stop_server(Call call);
void check_readiness(Call call);

// metrics.cc
void read_metrics(Call call);

}  // namespace moulin::handle
