#include "engine/local/rendezvous.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

#include "shim/fd.h"

namespace moulin {
namespace {

TEST_CASE("ports are free, differ, and are not those of outgoing connections") {
  std::set<int> seen;
  for (int i = 0; i < 100; ++i) {
    Result<int> port = reserve_port();
    REQUIRE(port.has_value());
    CHECK(*port >= 10'240);
    CHECK(*port < 65'536);
    CHECK(seen.insert(*port).second);
  }
}

TEST_CASE("a port that was reserved can be bound") {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(reserve_port().value()));
  CHECK(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

}  // namespace
}  // namespace moulin
