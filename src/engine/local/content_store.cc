#include "engine/local/content_store.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include <fmt/format.h>

#include "shim/files.h"

namespace moulin {
namespace {

constexpr size_t kHashBytes = 32;
constexpr size_t kBlock = 256 * 1024;

class Hasher {
 public:
  Hasher() { crypto_generichash_init(&state_, nullptr, 0, kHashBytes); }
  void add(std::string_view bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string hex() {
    unsigned char digest[kHashBytes];
    crypto_generichash_final(&state_, digest, sizeof digest);
    std::string text;
    for (unsigned char byte : digest) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  crypto_generichash_state state_;
};

// Passes a file to `take` block by block.
template <class Take>
Status each_block(const Fd& file, Take take) {
  std::vector<char> block(kBlock);
  while (true) {
    ssize_t got = ::read(file.number(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read a file", errno);
    if (got == 0) return {};
    TRY(take(std::string_view(block.data(), static_cast<size_t>(got))));
  }
}

std::string shelf(const std::string& hash) { return hash.substr(0, 2); }
std::string place(const std::string& hash) { return hash.substr(0, 2) + "/" + hash.substr(2); }

}  // namespace

std::string content_hash(std::string_view bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.hex();
}

Result<ContentStore> ContentStore::open(const Fd& folder) {
  return ContentStore(TRY(make_folder_in(folder, "objects", 0700)));
}

Result<ContentStore::Stored> ContentStore::put(const Fd& file, Bytes limit) {
  static std::atomic<int64_t> counter = 0;
  std::string temporary = fmt::format(".new.{}.{}", ::getpid(), counter.fetch_add(1));
  Fd copy(::openat(objects_.number(), temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0400));
  if (!copy) return system_error("store a file", errno);
  Stored stored;
  Hasher hasher;
  Status copied = each_block(file, [&](std::string_view block) -> Status {
    stored.bytes.count += static_cast<int64_t>(block.size());
    if (stored.bytes > limit) return Error{.code = Code::kTooLarge, .message = "the file is too large"};
    hasher.add(block);
    return write_all(copy, block);
  });
  stored.hash = hasher.hex();
  if (copied) copied = publish(temporary, stored.hash);
  if (copied) return stored;
  ::unlinkat(objects_.number(), temporary.c_str(), 0);
  return copied.error();
}

Status ContentStore::publish(const std::string& temporary, const std::string& hash) const {
  TRY(make_folder_in(objects_, shelf(hash), 0700));
  // An equal file that is there already is replaced by its like.
  if (::renameat(objects_.number(), temporary.c_str(), objects_.number(), place(hash).c_str()) == 0) return {};
  return system_error("store a file", errno);
}

Status ContentStore::get(const std::string& hash, const Fd& out) const {
  Fd file(::openat(objects_.number(), place(hash).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return system_error(fmt::format("open the stored content {}", hash), errno);
  Hasher hasher;
  TRY(each_block(file, [&](std::string_view block) {
    hasher.add(block);
    return write_all(out, block);
  }));
  if (hasher.hex() == hash) return {};
  return Error{.code = Code::kInternal,
               .message = fmt::format("the stored content {} is damaged", hash),
               .to_do = "store the snapshot again from its folder"};
}

Status ContentStore::sync() const {
  if (::syncfs(objects_.number()) == 0) return {};
  return system_error("make a snapshot durable", errno);
}

}  // namespace moulin
