#include "shim/protocol.h"

namespace moulin {

std::string frame(MessageKind kind, std::string_view body) {
  MOULIN_CHECK(body.size() < kFrameBytesMax, "a message of ours is bounded");
  size_t size = body.size() + 1;
  std::string bytes;
  bytes.reserve(size + 4);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(size >> shift & 0xff);
  bytes += static_cast<char>(kind);
  bytes += body;
  return bytes;
}

Result<std::optional<Message>> FrameReader::next() {
  if (buffer_.size() < 4) return std::optional<Message>();
  size_t size = 0;
  for (unsigned i = 0; i < 4; ++i) size |= size_t{static_cast<unsigned char>(buffer_[i])} << (8 * i);
  if (size == 0) return Error{.code = Code::kInvalid, .message = "an empty frame"};
  if (size > kFrameBytesMax) return Error{.code = Code::kTooLarge, .message = "a frame above 1 MiB"};
  if (buffer_.size() < 4 + size) return std::optional<Message>();
  Message message{.kind = static_cast<MessageKind>(buffer_[4]), .body = buffer_.substr(5, size - 1)};
  buffer_.erase(0, 4 + size);
  return std::optional<Message>(std::move(message));
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  // The compiler must not stop at the first difference.
  volatile unsigned char result = difference;
  return result == 0;
}

}  // namespace moulin
