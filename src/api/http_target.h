// What we read ourselves of a request: its target, its Host and its Origin. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http_types.h"
#include "base/result.h"

namespace moulin {

struct Target {
  std::vector<std::string> segments{};
  std::vector<QueryItem> query{};
  bool operator==(const Target&) const = default;
};

inline constexpr size_t kSegmentsMax = 16;
inline constexpr size_t kQueryItemsMax = 64;

// "/api/v1/workloads?state=running&tag=a%3Db" decoded, with `base_path` ("" or
// "/moulin", no slash at the end) taken off. Refused: anything that does not start with
// '/', a broken or overlong escape, what is not UTF-8 after decoding, control
// characters, an encoded '/', the segments "." and "..", empty segments but a last one,
// and more pieces than the limits above. kNotFound: outside the base path.
Result<Target> parse_target(std::string_view target, std::string_view base_path);

// %41 becomes 'A'; in a query (`plus_is_space`) also '+' a space.
enum class Plus { kKept, kIsSpace };
Result<std::string> decode_percent(std::string_view text, Plus plus);
// Everything but letters, digits and "-._~" becomes %XX; the inverse of the above.
std::string encode_percent(std::string_view text);

struct HostAndPort {
  std::string host;  // lower case; an IPv6 address without brackets
  std::optional<uint16_t> port{};
  bool operator==(const HostAndPort&) const = default;
};

// "localhost:8080", "127.0.0.1", "[::1]:80".
Result<HostAndPort> parse_host(std::string_view text);

// "localhost", 127.0.0.0/8 and ::1.
bool is_loopback_name(std::string_view host);

// A page of another site that resolves its own name to 127.0.0.1 reaches our port, but
// not our Host check: only loopback names and `names` pass. A page of another site
// that sends a form to us does not pass the Origin check of requests that change
// something. Requests without Origin come from programs and pass.
struct HostPolicy {
  std::vector<std::string> names{};  // further names that this server answers to, lower case
};
Status check_host(const Headers& headers, const HostPolicy& policy);
Status check_origin(const Headers& headers, const HostPolicy& policy);

// Trailing and doubled slashes are mended: "moulin/" is "/moulin", "/" is "".
Result<std::string> parse_base_path(std::string_view text);

}  // namespace moulin
