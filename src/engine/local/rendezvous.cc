#include "engine/local/rendezvous.h"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <atomic>
#include <charconv>

#include "shim/fd.h"
#include "shim/files.h"

namespace moulin {
namespace {

constexpr int kPorts = 12'000;
constexpr int kLowest = 10'240;

// The first of kPorts ports below those that the system gives to outgoing connections,
// where there is room for so many.
int first_port() {
  Result<std::string> text = read_file_at("/proc/sys/net/ipv4/ip_local_port_range", kibibytes(1));
  int low = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), low);
  return low >= kLowest + kPorts ? low - kPorts : kLowest;
}

uint32_t random_start() {
  uint32_t number = 0;
  [[maybe_unused]] ssize_t got = ::getrandom(&number, sizeof number, 0);
  return number;
}

bool is_free(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<int> reserve_port() {
  static const int first = first_port();
  static std::atomic<uint32_t> next = random_start();
  for (int tries = 0; tries < kPortTriesMax; ++tries) {
    int port = first + static_cast<int>(next.fetch_add(1) % kPorts);
    if (is_free(port)) return port;
  }
  return Error{.code = Code::kUnavailable,
               .message = "no free TCP port was found for a rendezvous",
               .to_do = "look with `ss -ltn` which programs hold so many ports"};
}

}  // namespace moulin
