#include "cli/access.h"

#include "base/json_reader.h"
#include "cli/login.h"

namespace moulin::cli {

namespace {

constexpr size_t kTokenBytesMax = 4096;

Result<std::string> token_of_file(const Surroundings& surroundings, const std::string& path) {
  std::string text = TRY(surroundings.read_file(path, kTokenBytesMax));
  return clean_token(std::move(text), path);
}

// What the environment says; true when it says something.
Result<bool> find_named_token(const Surroundings& surroundings, Access& access) {
  if (std::string token = surroundings.variable("MOULIN_TOKEN"); !token.empty()) {
    access.token = TRY(clean_token(std::move(token), "MOULIN_TOKEN"));
    access.token_from = "MOULIN_TOKEN";
    return true;
  }
  std::string path = surroundings.variable("MOULIN_TOKEN_FILE");
  if (path.empty()) return false;
  access.token = TRY(at_path("MOULIN_TOKEN_FILE", token_of_file(surroundings, path)));
  access.token_from = path;
  return true;
}

// An administrator's token goes to nobody but the socket that lies beside it.
Status find_token_beside(const Surroundings& surroundings, const std::string& socket, Access& access) {
  std::string path = socket.substr(0, socket.rfind('/')) + "/admin.token";
  Result<std::string> token = token_of_file(surroundings, path);
  if (!token && token.error().code == Code::kNotFound) return {};
  access.token = TRY(std::move(token));
  access.token_from = path;
  return {};
}

// A token of a login goes only to the server that it is for.
Status find_token_of_login(const Surroundings& surroundings, Access& access) {
  std::optional<Login> login = TRY(read_login(surroundings));
  if (!login || login->url != to_text(access.endpoint)) return {};
  access.token = login->token;
  access.token_from = login_file(surroundings);
  return {};
}

Status use_socket(const Surroundings& surroundings, Access& access) {
  access.server_from = default_data_folder(surroundings) + "/moulin.sock";
  access.endpoint.address = access.server_from;
  if (TRY(find_named_token(surroundings, access))) return {};
  return find_token_beside(surroundings, access.server_from, access);
}

}  // namespace

std::string default_data_folder(const Surroundings& surroundings) {
  if (std::string folder = surroundings.variable("MOULIN_DATA"); !folder.empty()) return folder;
  if (surroundings.is_root) return "/var/lib/moulin";
  if (std::string folder = surroundings.variable("XDG_DATA_HOME"); !folder.empty()) return folder + "/moulin";
  return surroundings.variable("HOME") + "/.local/share/moulin";
}

std::string whereabouts_text(const std::string& server, const std::string& server_from) {
  return server.ends_with(server_from) ? server : server + ", from " + server_from;
}

Result<Endpoint> endpoint_from(std::string_view url, std::string_view from) {
  Result<Endpoint> endpoint = parse_endpoint(url);
  if (endpoint) return endpoint;
  Error error = std::move(endpoint).error();
  error.field = from;
  return error;
}

Result<Access> find_access(const Surroundings& surroundings) {
  Access access;
  if (std::string url = surroundings.variable("MOULIN_URL"); !url.empty()) {
    access.server_from = "MOULIN_URL";
    access.endpoint = TRY(endpoint_from(url, "MOULIN_URL"));
    if (!TRY(find_named_token(surroundings, access))) TRY(find_token_of_login(surroundings, access));
    return access;
  }
  std::optional<Login> login;
  if (surroundings.variable("MOULIN_DATA").empty()) login = TRY(read_login(surroundings));
  if (!login) {
    TRY(use_socket(surroundings, access));
    return access;
  }
  access.server_from = login_file(surroundings);
  access.endpoint = TRY(endpoint_from(login->url, access.server_from));
  if (TRY(find_named_token(surroundings, access))) return access;
  access.token = login->token;
  access.token_from = access.server_from;
  return access;
}

}  // namespace moulin::cli
