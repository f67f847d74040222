// One WebSocket (RFC 6455), with a loop of its own on the thread that calls run().
//
//   auto socket = TRY(WebSocket::connect(endpoint, "/api/v1/...", token));
//   socket->on_message = [&](WebSocket::Kind kind, std::string_view bytes) { ... };
//   socket->when(0, WebSocket::Wait::kReadable, [&] { ... });   // another descriptor
//   socket->run();                                              // until either side closes
//
// Beast does the protocol; nothing of it is seen here, since it takes long to compile.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/http_client.h"
#include "api/http_responder.h"
#include "base/instant.h"
#include "base/result.h"

namespace moulin {

// One thread at a time, but for stop(). Pings are answered, and sent every kBeat, so that
// a proxy between does not take silence for the end. There is no limit to it: a peer may
// wait for its reader. One that is gone is told of by the kernel, also while reading is
// held: at once, or by the next ping when it left behind what TCP could not deliver; a
// machine that is gone when TCP gives up on it.
class WebSocket {
 public:
  enum class Kind { kText, kBinary };
  enum class Wait { kReadable, kWritable };
  static constexpr size_t kMessageMax = 1 << 20;
  static constexpr Duration kBeat = seconds(20);

  // Does this request ask for one? If not, an Error for it.
  static Status check(const Request& request);
  // The server's side: answers the handshake of `request` on its connection. After close()
  // it waits for the client without limit, which may have much to read; see on_beat.
  static Result<std::unique_ptr<WebSocket>> accept(TakenOver connection, const Request& request);
  // The client's side. An answer that is none of a WebSocket is the Error of its problem
  // document. `target` is encoded, without the base path.
  static Result<std::unique_ptr<WebSocket>> connect(const Endpoint& endpoint, const std::string& target,
                                                    const std::string& token);
  ~WebSocket();

  std::function<void(Kind, std::string_view)> on_message;
  std::function<void()> on_room;  // everything that was queued has been sent
  std::function<void()> on_beat;  // again and again; for limits to time
  Duration beat = kBeat;          // before run()

  // Queues a message. Nothing after close().
  void send(Kind kind, std::string bytes);
  size_t unsent() const;  // bytes
  // While held, no message is read: the peer waits once buffers are full.
  enum class Reading { kOn, kHeld };
  void read_on(Reading reading);
  // Once, when the descriptor is ready; a regular file always is. Asked again before that,
  // the later callback counts. When it cannot be waited for, for want of descriptors, that
  // ends us.
  void when(int descriptor, Wait wait, std::function<void()> then);
  // Waits for it no more, before its owner closes it: until then ours keeps it open, too.
  void forget(int descriptor);
  // Sends what is queued, says good-bye, and run() returns.
  void close();
  // Thread-safe; run() returns soon, without good-bye.
  void stop();

  // Until closed or broken; why it broke, or nothing.
  std::string run();

 private:
  struct Implementation;
  explicit WebSocket(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace moulin
