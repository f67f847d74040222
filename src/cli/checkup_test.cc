#include "cli/checkup.h"

#include "cli/render/samples.h"
#include "cli/testing.h"

namespace moulin::cli {

namespace {

using testing::sample;
using testing::sample_view;

Access sample_access() {
  return {.endpoint = {.address = TcpAddress{.host = "127.0.0.1", .port = 6468}},
          .server_from = "MOULIN_URL",
          .token = "t",
          .token_from = "MOULIN_TOKEN"};
}

std::string text_of(const Checkup& checkup) {
  return render_findings(findings_of(checkup, sample_view()), sample_view());
}

}  // namespace

TEST_CASE("a server in trouble, with what to do") {
  Access access = sample_access();
  Checkup checkup{.access = access, .client_version = "0.2.0"};
  checkup.server = sample<wire::Server>(samples::kServer);
  checkup.myself = wire::Myself{.user = "ada"};
  checkup.myself->expires = WallTime{testing::sample_now().us + hours(3).us};
  checkup.nodes = {sample<wire::Node>(samples::kNode)};
  checkup.nodes.push_back({.name = "n2", .mode = NodeMode::kDraining});
  checkup.nodes.push_back({.name = "n3", .presence = Presence::kDown});
  testing::check_snapshot("doctor", text_of(checkup));
}

TEST_CASE("a server in order has nothing to do") {
  Access access = sample_access();
  Checkup checkup{.access = access, .client_version = "0.1.0"};
  checkup.server = sample<wire::Server>(samples::kServer);
  checkup.server->accepts_commands = true;
  checkup.server->source = wire::GpuSource::kDriver;
  checkup.server->driver_version = "570.86";
  checkup.server->cuda_version = "12.8";
  checkup.server->isolates_users = true;
  checkup.server->notes.clear();
  checkup.myself = wire::Myself{.user = "ada"};
  checkup.myself->roles = {{.user = "ada", .at = "nlp", .role = Role::kMember}};
  for (const Finding& finding : findings_of(checkup, sample_view())) {
    CHECK_MESSAGE(finding.verdict == Finding::Verdict::kGood, finding.text);
    CHECK(finding.to_do.empty());
  }
  testing::check_snapshot("doctor_good", text_of(checkup));
}

TEST_CASE("no server, no token, a wrong token") {
  Access access = sample_access();
  Checkup checkup{.access = access};
  checkup.refusal = Error{.code = Code::kUnavailable, .message = "no server answers", .to_do = "start one"};
  std::vector<Finding> findings = findings_of(checkup, sample_view());
  CHECK(findings.size() == 1);
  CHECK(findings[0].to_do == "start one");
  checkup.refusal = Error{.code = Code::kUnauthenticated, .message = "no valid token"};
  CHECK(findings_of(checkup, sample_view()).at(1).text == "from MOULIN_TOKEN: no valid token");
  access.token = "";
  CHECK(findings_of(checkup, sample_view()).at(1).text == "none was found");
}

}  // namespace moulin::cli
