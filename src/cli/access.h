// How a client finds the server and proves who it is, without settings where possible.
//
//   server  $MOULIN_URL, else the socket in the default data folder
//   token   $MOULIN_TOKEN, else the file $MOULIN_TOKEN_FILE, else, only for the default
//           socket, admin.token in the data folder
//
// The data folder: $MOULIN_DATA, else /var/lib/moulin for root, else
// $XDG_DATA_HOME/moulin or ~/.local/share/moulin.
#pragma once

#include <string>

#include "api/http_client.h"
#include "cli/surroundings.h"

namespace moulin {

struct Access {
  Endpoint endpoint;
  std::string server_from;  // "MOULIN_URL" or the path of the socket: for doctor and errors
  std::string token;        // empty: none was found
  std::string token_from;   // "MOULIN_TOKEN", or the path of the file
};

std::string default_data_folder(const Surroundings& surroundings);

// kInvalid: a variable is malformed; kNotFound, kForbidden: the named token file is not
// there or not ours to read. A missing default file is no error: token is empty.
Result<Access> find_access(const Surroundings& surroundings);

}  // namespace moulin
