#include "api/http_target.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace moulin {

namespace {

Error bad_target(std::string message, std::string_view given, std::string allowed) {
  return {.code = Code::kInvalid,
          .message = std::move(message),
          .field = "target",
          .given = shortened(is_utf8(given) ? given : encode_percent(given)),
          .allowed = std::move(allowed)};
}

Error bad_host(std::string_view given) {
  return {.code = Code::kInvalid,
          .message = "not a host name",
          .field = "Host",
          .given = shortened(is_utf8(given) ? given : encode_percent(given)),
          .allowed = "NAME, NAME:PORT, [IPv6] or [IPv6]:PORT"};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

Result<std::string> decode_segment(std::string_view text) {
  std::string segment = TRY(decode_percent(text, Plus::kKept));
  if (segment == "." || segment == "..") {
    return bad_target("a path may not step through folders", text, "names without '.' and '..' as a whole");
  }
  if (segment.find('/') != std::string::npos) {
    return bad_target("a path may not hold an encoded slash", text, "names without '/'");
  }
  if (std::ranges::any_of(segment, is_control)) {
    return bad_target("a path may not hold control characters", text, "printable UTF-8");
  }
  return segment;
}

Status read_path(std::string_view path, Target& target) {
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash that begins each segment
    const std::string_view text = path.substr(0, path.find('/'));
    if (text.empty()) return bad_target("a path may not hold an empty segment", path, "one slash between names");
    if (target.segments.size() == kSegmentsMax) return bad_target("the path is too deep", path, "16 segments");
    target.segments.push_back(TRY(decode_segment(text)));
    path.remove_prefix(text.size());
  }
  return {};
}

Status read_query(std::string_view query, Target& target) {
  for (const std::string_view text : split(query, '&')) {
    if (text.empty()) continue;
    if (target.query.size() == kQueryItemsMax) return bad_target("too many query parameters", query, "64 parameters");
    const size_t equals = std::min(text.find('='), text.size());
    QueryItem item{.name = TRY(decode_percent(text.substr(0, equals), Plus::kIsSpace)),
                   .value = TRY(decode_percent(text.substr(std::min(equals + 1, text.size())), Plus::kIsSpace))};
    if (std::ranges::any_of(item.name, is_control) || std::ranges::any_of(item.value, is_control)) {
      return bad_target("a query may not hold control characters", text, "printable UTF-8");
    }
    target.query.push_back(std::move(item));
  }
  return {};
}

Result<std::string_view> without_base(std::string_view path, std::string_view base_path) {
  if (path.starts_with(base_path) && (path.size() == base_path.size() || path[base_path.size()] == '/')) {
    return path.substr(base_path.size());
  }
  return Error{.code = Code::kNotFound,
               .message = "the path lies outside this server's base path",
               .field = "target",
               .given = shortened(is_utf8(path) ? path : encode_percent(path)),
               .allowed = std::string(base_path) + "/..."};
}

Result<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return Error{.code = Code::kInvalid, .message = "not a port", .given = shortened(text), .allowed = "0 to 65535"};
  }
  return port;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_allowed_host(std::string_view host, const HostPolicy& policy) {
  return is_loopback_name(host) || std::ranges::find(policy.names, host) != policy.names.end();
}

Error foreign(std::string message, std::string field, const std::string& given, const HostPolicy& policy) {
  std::string allowed = "localhost, 127.0.0.1, [::1]";
  for (const std::string& name : policy.names) allowed += ", " + name;
  return {.code = Code::kForbidden,
          .message = std::move(message),
          .field = std::move(field),
          .given = shortened(given),
          .allowed = std::move(allowed),
          .to_do = "reach the server under one of these names"};
}

}  // namespace

Result<std::string> decode_percent(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return bad_target("a broken percent escape", text, "% and two hexadecimal digits");
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(plus == Plus::kIsSpace && text[i] == '+' ? ' ' : text[i]);
    }
  }
  if (!is_utf8(decoded)) return bad_target("not UTF-8 after decoding", text, "UTF-8");
  return decoded;
}

std::string encode_percent(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      encoded.push_back(c);
    } else {
      encoded.push_back('%');
      encoded.push_back(kDigits[byte >> 4]);
      encoded.push_back(kDigits[byte & 15]);
    }
  }
  return encoded;
}

Result<Target> parse_target(std::string_view target, std::string_view base_path) {
  if (!target.starts_with('/')) return bad_target("not a path", target, "a path that starts with '/'");
  if (target.find('#') != std::string_view::npos) return bad_target("a fragment is not sent", target, "no '#'");
  const size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = TRY(without_base(target.substr(0, mark), base_path));
  Target parsed;
  TRY(read_path(path, parsed));
  TRY(read_query(target.substr(std::min(mark + 1, target.size())), parsed));
  return parsed;
}

Result<HostAndPort> parse_host(std::string_view text) {
  HostAndPort parsed;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_host(text);
    parsed.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    const auto is_address = [](char c) { return hex_digit(c) >= 0 || c == ':' || c == '.'; };
    if (parsed.host.empty() || !std::ranges::all_of(parsed.host, is_address)) return bad_host(text);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    parsed.host = text.substr(0, end);
    rest = text.substr(end);
    for (char& c : parsed.host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (parsed.host.empty() || !std::ranges::all_of(parsed.host, is_host_character)) return bad_host(text);
  }
  if (rest.empty()) return parsed;
  const Result<uint16_t> port = parse_port(rest.substr(1));
  if (rest.front() != ':' || !port) return bad_host(text);
  parsed.port = *port;
  return parsed;
}

bool is_loopback_name(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  if (!host.starts_with("127.")) return false;
  // Four numbers, so that the name "127.evil.example" is not taken for an address.
  const std::vector<std::string_view> parts = split(host, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           return !part.empty() && part.size() <= 3 &&
                  std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
         });
}

Status check_host(const Headers& headers, const HostPolicy& policy) {
  const auto hosts = std::ranges::count(headers, "host", &Header::name);
  if (hosts != 1) {
    return Error{.code = Code::kInvalid,
                 .message = hosts == 0 ? "the Host header is missing" : "more than one Host header",
                 .field = "Host",
                 .allowed = "exactly one"};
  }
  const std::string& given = *find_header(headers, "host");
  const HostAndPort host = TRY(parse_host(given));
  if (!is_allowed_host(host.host, policy))
    return foreign("this server does not answer to that name", "Host", given, policy);
  return {};
}

Status check_origin(const Headers& headers, const HostPolicy& policy) {
  const std::string* origin = find_header(headers, "origin");
  if (origin == nullptr) return {};
  const Error refusal = foreign("a page of another site may not change anything here", "Origin", *origin, policy);
  std::string_view rest = *origin;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return refusal;  // also "null", which sandboxed pages and files send
  }
  const Result<HostAndPort> from = parse_host(rest);
  const std::string* host = find_header(headers, "host");
  const Result<HostAndPort> here = host == nullptr ? Result<HostAndPort>(refusal) : parse_host(*host);
  if (!from || !here || !is_allowed_host(from->host, policy)) return refusal;
  // Another port of this machine is another site: a notebook's page, say.
  if (from->host != here->host || from->port != here->port) return refusal;
  return {};
}

Result<std::string> parse_base_path(std::string_view text) {
  std::string path;
  for (const std::string_view part : split(text, '/')) {
    if (part.empty()) continue;
    if (!std::ranges::all_of(part, [](char c) { return is_host_character(c) || (c >= 'A' && c <= 'Z'); }) ||
        part == "." || part == "..") {
      return Error{.code = Code::kInvalid,
                   .message = "not a base path",
                   .field = "base_path",
                   .given = shortened(text),
                   .allowed = "names of letters, digits, '.', '-' and '_' with slashes between"};
    }
    path.append("/").append(part);
  }
  return path;
}

}  // namespace moulin
