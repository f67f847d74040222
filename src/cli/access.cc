#include "cli/access.h"

#include <algorithm>

#include "base/json_reader.h"

namespace moulin {

namespace {

constexpr size_t kTokenBytesMax = 4096;

// A token stands on one line; a header cannot hold more.
Result<std::string> clean_token(std::string text, std::string_view from) {
  size_t end = text.find_last_not_of(" \t\r\n");
  text.erase(end == std::string::npos ? 0 : end + 1);
  bool good = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (good) return text;
  return Error{.code = Code::kInvalid,
               .message = "holds no token",
               .field = std::string(from),
               .given = text.empty() ? "nothing" : "text with blanks or other characters that no token has",
               .to_do = "put what `moulin token create` printed into it"};
}

Result<std::string> token_of_file(const Surroundings& surroundings, const std::string& path) {
  std::string text = TRY(surroundings.read_file(path, kTokenBytesMax));
  return clean_token(std::move(text), path);
}

enum class Server { kDefault, kNamed };

Status find_token(const Surroundings& surroundings, Server server, Access& access) {
  if (std::string token = surroundings.variable("MOULIN_TOKEN"); !token.empty()) {
    access.token = TRY(clean_token(std::move(token), "MOULIN_TOKEN"));
    access.token_from = "MOULIN_TOKEN";
    return {};
  }
  std::string path = surroundings.variable("MOULIN_TOKEN_FILE");
  if (!path.empty()) {
    access.token = TRY(at_path("MOULIN_TOKEN_FILE", token_of_file(surroundings, path)));
    access.token_from = path;
    return {};
  }
  // An administrator's token goes to nobody but the socket that lies beside it.
  if (server == Server::kNamed) return {};
  path = default_data_folder(surroundings) + "/admin.token";
  Result<std::string> token = token_of_file(surroundings, path);
  if (!token && token.error().code == Code::kNotFound) return {};
  access.token = TRY(std::move(token));
  access.token_from = path;
  return {};
}

}  // namespace

std::string default_data_folder(const Surroundings& surroundings) {
  if (std::string folder = surroundings.variable("MOULIN_DATA"); !folder.empty()) return folder;
  if (surroundings.is_root) return "/var/lib/moulin";
  if (std::string folder = surroundings.variable("XDG_DATA_HOME"); !folder.empty()) return folder + "/moulin";
  return surroundings.variable("HOME") + "/.local/share/moulin";
}

Result<Access> find_access(const Surroundings& surroundings) {
  Access access;
  std::string url = surroundings.variable("MOULIN_URL");
  if (url.empty()) {
    access.server_from = default_data_folder(surroundings) + "/moulin.sock";
    access.endpoint.address = access.server_from;
  } else {
    access.server_from = "MOULIN_URL";
    Result<Endpoint> endpoint = parse_endpoint(url);
    if (!endpoint) {
      Error error = std::move(endpoint).error();
      error.field = "MOULIN_URL";
      return error;
    }
    access.endpoint = std::move(*endpoint);
  }
  TRY(find_token(surroundings, url.empty() ? Server::kDefault : Server::kNamed, access));
  return access;
}

}  // namespace moulin
