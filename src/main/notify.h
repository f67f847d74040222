// Telling a service manager that the server serves.
#pragma once

#include <string_view>

namespace moulin {

// Sends "READY=1" or the like to $NOTIFY_SOCKET, as systemd's sd_notify(3) describes.
// Nothing happens without that variable; a failure is no failure of ours.
void notify_manager(std::string_view message);

}  // namespace moulin
