// How a client finds the server and proves who it is, without settings where possible.
//
//   server  $MOULIN_URL, else the socket in $MOULIN_DATA, else where `moulin login` went,
//           else the socket in the default data folder
//   token   $MOULIN_TOKEN, else the file $MOULIN_TOKEN_FILE, else the one of the login when
//           it is for that server, else, only for a socket of a data folder, its admin.token
//
// The data folder: $MOULIN_DATA, else /var/lib/moulin for root, else
// $XDG_DATA_HOME/moulin or ~/.local/share/moulin.
#pragma once

#include <cstdint>
#include <string>

#include "api/http_client.h"
#include "cli/surroundings.h"

namespace moulin::cli {

// Where `moulin up` listens unless told otherwise.
inline constexpr uint16_t kUsualPort = 6468;

struct Access {
  Endpoint endpoint;
  std::string server_from;  // "MOULIN_URL", or the path of the socket or login: for doctor and errors
  std::string token;        // empty: none was found
  std::string token_from;   // "MOULIN_TOKEN", or the path of the file
};

std::string default_data_folder(const Surroundings& surroundings);

// "http://127.0.0.1:6468, from MOULIN_URL"; of a socket the path says it all.
std::string whereabouts_text(const std::string& server, const std::string& server_from);

// The endpoint of a URL that stands in `from`, which the Error names.
Result<Endpoint> endpoint_from(std::string_view url, std::string_view from);

// kInvalid: a variable or the login is malformed; kNotFound, kForbidden: the named token
// file is not there or not ours to read. A missing default file is no error: token is empty.
Result<Access> find_access(const Surroundings& surroundings);

}  // namespace moulin::cli
