#include "cli/login.h"

#include <algorithm>

#include "base/json_reader.h"

namespace moulin::cli {

namespace {

constexpr size_t kFileBytesMax = 16'384;

Result<Login> parse_login(const std::string& text) {
  constexpr std::string_view kFields[] = {"url", "token"};
  Json document = TRY(parse_json(text));
  ObjectReader reader = TRY(ObjectReader::open(document, "", {.known = kFields}));
  Login login;
  const Json* url = TRY(reader.require("url"));
  const Json* token = TRY(reader.require("token"));
  login.url = TRY(read_text(*url, "url", {}));
  std::string secret = TRY(read_text(*token, "token", {}));
  login.token = TRY(clean_token(std::move(secret), "token"));
  return login;
}

}  // namespace

std::string login_file(const Surroundings& surroundings) {
  constexpr std::string_view kName = "/moulin/login.json";
  if (std::string folder = surroundings.variable("XDG_CONFIG_HOME"); !folder.empty()) return folder.append(kName);
  std::string home = surroundings.variable("HOME");
  return home.empty() ? "" : home.append("/.config").append(kName);
}

Result<std::optional<Login>> read_login(const Surroundings& surroundings) {
  std::string path = login_file(surroundings);
  if (path.empty()) return std::optional<Login>{};
  Result<std::string> text = surroundings.read_file(path, kFileBytesMax);
  if (!text && text.error().code == Code::kNotFound) return std::optional<Login>{};
  std::string whole = TRY(std::move(text));
  Result<Login> login = parse_login(whole);
  if (login) return std::optional<Login>{std::move(*login)};
  Error error = at_path(path, std::move(login).error());
  error.to_do = "log in again with `moulin login`, or remove the file";
  return error;
}

Status write_login(const Surroundings& surroundings, const Login& login) {
  std::string path = login_file(surroundings);
  if (path.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "there is no place to keep the login",
                 .to_do = "set HOME or XDG_CONFIG_HOME, or use MOULIN_URL and MOULIN_TOKEN instead"};
  }
  Json document = Json::object({{"url", login.url}, {"token", login.token}});
  return surroundings.write_private_file(path, write_json_pretty(document) + "\n");
}

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

}  // namespace moulin::cli
