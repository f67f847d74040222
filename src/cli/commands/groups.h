// The tables of verbs by topic; verbs.cc puts them together.
#pragma once

#include <span>

#include "cli/verb.h"

namespace moulin::cli {

std::span<const Verb> main_verbs();      // up: main runs it
std::span<const Verb> submit_verbs();    // run, apply
std::span<const Verb> workload_verbs();  // ps, show, why, stop, pause, resume, queue
std::span<const Verb> follow_verbs();    // logs, events
std::span<const Verb> exec_verbs();      // exec
std::span<const Verb> tree_verbs();      // quota, project, department
std::span<const Verb> hardware_verbs();  // gpus, node
std::span<const Verb> top_verbs();       // top
std::span<const Verb> identity_verbs();  // user, token, role
std::span<const Verb> access_verbs();    // login, logout, whoami
std::span<const Verb> server_verbs();    // doctor, down, version
std::span<const Verb> local_verbs();     // backup, restore, journal: main runs them
std::span<const Verb> shell_verbs();     // completion

}  // namespace moulin::cli
