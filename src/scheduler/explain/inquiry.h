// A question to the rules: why does this applicant not start now?
#pragma once

#include <vector>

#include "model/reason.h"
#include "scheduler/applicant.h"
#include "scheduler/eviction/stock.h"
#include "scheduler/overlay.h"

namespace moulin {

// Whether reasons need their sentences and numbers, or only their codes, which are found
// much more quickly.
enum class Detail { kSentences, kCodes };

// References must outlive it. Whoever is asked leaves the overlay as it was.
struct Inquiry {
  Overlay& overlay;  // without the applicant's own claim
  const Applicant& applicant;
  const Workload* workload = nullptr;  // nullptr: not submitted yet
  UnitStock& stock;                    // of that overlay
  bool too_disruptive = false;         // an eviction was found and given up for that
  const Claim* claim = nullptr;        // its own, or what its first pass would make; nullptr: none
  Detail detail = Detail::kSentences;
  bool codes_only() const { return detail == Detail::kCodes; }
  const WorkloadSpec& spec() const { return applicant.spec; }
  int64_t replicas() const { return applicant.spec.replicas.min; }
};

// Whether it would start now, without any eviction.
bool can_start(const Inquiry& inquiry);

// How many replicas of a changed request the free room holds, up to the minimum; limits
// are not looked at.
int64_t replicas_with(const Inquiry& inquiry, const Resources& changed);

// One function for each rule that can block. Each adds its reasons, or none.
using Reasons = std::vector<Reason>;
void explain_admission(const Inquiry& inquiry, Reasons& reasons);   // never_fits, limit_exceeded
void explain_limits(const Inquiry& inquiry, Reasons& reasons);      // project_limit, ancestor_limit
void explain_guarantee(const Inquiry& inquiry, Reasons& reasons);   // guarantee_needed
void explain_model(const Inquiry& inquiry, Reasons& reasons);       // model_unavailable
void explain_gpu(const Inquiry& inquiry, Reasons& reasons);         // no_capacity, no_gpu_memory, fragmented
void explain_beside_gpu(const Inquiry& inquiry, Reasons& reasons);  // no_cpu, no_memory
void explain_gang(const Inquiry& inquiry, Reasons& reasons);        // gang_short
void explain_protection(const Inquiry& inquiry, Reasons& reasons);  // protected
void explain_claims(const Inquiry& inquiry, Reasons& reasons);      // claimed_by
void explain_queue(const Inquiry& inquiry, Reasons& reasons);       // behind
void explain_back_off(const Inquiry& inquiry, Reasons& reasons);    // back_off
void explain_nodes(const Inquiry& inquiry, Reasons& reasons);       // node_unavailable
void explain_engine(const Inquiry& inquiry, Reasons& reasons);      // engine_error

// For the owner of a claim: what it waits for. False, and nothing added: it has none.
bool explain_own_claim(const Inquiry& inquiry, Reasons& reasons);

}  // namespace moulin
