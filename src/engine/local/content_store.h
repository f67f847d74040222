// Files by the hash of their content.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/share.h"
#include "shim/fd.h"

namespace moulin {

// 64 hexadecimal digits: BLAKE2b with 256 bits.
std::string content_hash(std::string_view bytes);

// Thread-safe over instances and processes.
class ContentStore {
 public:
  // Makes <folder>/objects when it is not there.
  static Result<ContentStore> open(const Fd& folder);

  struct Stored {
    std::string hash{};
    Bytes bytes{};
  };
  // Copies a file, at most `limit` of it; kTooLarge above. Durable after sync().
  Result<Stored> put(const Fd& file, Bytes limit);
  // Writes the content of this hash to `out`. kNotFound; kInternal when it is damaged.
  Status get(const std::string& hash, const Fd& out) const;
  Status sync() const;

 private:
  explicit ContentStore(Fd objects) : objects_(std::move(objects)) {}
  Status publish(const std::string& temporary, const std::string& hash) const;

  Fd objects_;
};

}  // namespace moulin
