#include "engine/local/code_snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "engine/local/code_walk.h"
#include "engine/local/content_store.h"
#include "shim/files.h"
#include "shim/record.h"

namespace moulin {
namespace {

constexpr std::string_view kManifestKind = "snapshot";
constexpr Bytes kManifestMax = mebibytes(64);

enum class ItemKind { kFolder, kFile, kProgram, kLink };
struct Item {
  std::string path{};
  ItemKind kind = ItemKind::kFile;
  std::string content{};  // hash of a file, target of a link
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "path", self.path);
    visit(2, "kind", self.kind);
    visit(3, "content", self.content);
  }
};
struct Manifest {
  std::vector<Item> items{};
  template <class Self, class Visit>
  static void describe(Self& self, Visit& visit) {
    visit(1, "items", self.items);
  }
};

Error too_much(std::string given, std::string allowed) {
  return {.code = Code::kRefused,
          .message = "the code folder is too large for a snapshot",
          .field = "code",
          .given = std::move(given),
          .allowed = std::move(allowed),
          .to_do = "leave data and results out with a .gitignore, or use `code: live`"};
}

class Collector {
 public:
  Collector(ContentStore& store, const SnapshotLimits& limits) : store_(store), limits_(limits) {}

  Status visit(const WalkedEntry& entry) {
    mode_t mode = entry.facts.st_mode;
    if (!S_ISDIR(mode) && !S_ISREG(mode) && !S_ISLNK(mode)) {
      ++summary.passed_over;
      return {};
    }
    if (++summary.entries > limits_.entries) {
      return too_much(fmt::format("more than {} files", limits_.entries), fmt::format("{} files", limits_.entries));
    }
    Item item{.path = entry.path};
    if (S_ISDIR(mode)) item.kind = ItemKind::kFolder;
    else if (S_ISLNK(mode)) TRY(take_link(entry, item));
    else TRY(take_file(entry, item));
    manifest.items.push_back(std::move(item));
    return {};
  }

  Manifest manifest;
  StoredSnapshot summary;

 private:
  static Status take_link(const WalkedEntry& entry, Item& item) {
    char target[4096];
    ssize_t size = ::readlinkat(entry.folder.number(), entry.name.c_str(), target, sizeof target);
    if (size < 0) return system_error(fmt::format("read the link {}", entry.path), errno);
    item.kind = ItemKind::kLink;
    item.content.assign(target, static_cast<size_t>(size));
    return {};
  }

  Status take_file(const WalkedEntry& entry, Item& item) {
    Fd file(::openat(entry.folder.number(), entry.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file) return system_error(fmt::format("open {}", entry.path), errno);
    Result<ContentStore::Stored> stored = store_.put(file, limits_.bytes - summary.bytes);
    if (!stored && stored.error().code == Code::kTooLarge) {
      return too_much(fmt::format("more than {} with {}", to_text(limits_.bytes), entry.path), to_text(limits_.bytes));
    }
    if (!stored) return stored.error();
    summary.bytes += stored->bytes;
    item.kind = (entry.facts.st_mode & S_IXUSR) != 0 ? ItemKind::kProgram : ItemKind::kFile;
    item.content = stored->hash;
    return {};
  }

  ContentStore& store_;
  const SnapshotLimits& limits_;
};

Status make_item(const Item& item, const Fd& root, const ContentStore& store) {
  const char* path = item.path.c_str();
  switch (item.kind) {
    case ItemKind::kFolder:
      if (::mkdirat(root.number(), path, 0700) == 0) return {};
      return system_error(fmt::format("make the folder {}", item.path), errno);
    case ItemKind::kLink:
      if (::symlinkat(item.content.c_str(), root.number(), path) == 0) return {};
      return system_error(fmt::format("make the link {}", item.path), errno);
    case ItemKind::kFile:
    case ItemKind::kProgram: {
      mode_t mode = item.kind == ItemKind::kProgram ? 0555 : 0444;
      Fd file(::openat(root.number(), path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file) return system_error(fmt::format("make {}", item.path), errno);
      TRY(store.get(item.content, file));
      if (::fchmod(file.number(), mode) == 0) return {};
      return system_error(fmt::format("protect {}", item.path), errno);
    }
  }
  MOULIN_UNREACHABLE();
}

Status make_tree(const Manifest& manifest, const Fd& root, const ContentStore& store) {
  for (const Item& item : manifest.items) TRY(make_item(item, root, store));
  // Folders last: nothing can be made in them afterwards.
  for (const Item& item : manifest.items) {
    if (item.kind == ItemKind::kFolder) ::fchmodat(root.number(), item.path.c_str(), 0555, 0);
  }
  ::fchmod(root.number(), 0555);
  return {};
}

bool is_safe(const Item& item) {
  bool inside = !item.path.empty() && item.path.front() != '/' && item.path.find('\0') == item.path.npos;
  return inside && !("/" + item.path + "/").contains("/../");
}

}  // namespace

Result<SnapshotId> parse_snapshot_id(std::string_view text) {
  bool hex = text.find_first_not_of("0123456789abcdef") == text.npos;
  if (hex && text.size() == 64) return SnapshotId{std::string(text)};
  return Error{.code = Code::kInvalid, .message = "not the id of a snapshot", .given = std::string(text.substr(0, 80)),
               .allowed = "64 hexadecimal digits"};
}

Result<StoredSnapshot> store_snapshot(const std::string& folder, const std::string& snapshots,
                                      const SnapshotLimits& limits) {
  if (::mkdir(snapshots.c_str(), 0711) != 0 && errno != EEXIST) {
    return system_error(fmt::format("make the folder {}", snapshots), errno);
  }
  Fd root = TRY(open_chosen_folder(snapshots));
  Fd manifests = TRY(make_folder_in(root, "manifests", 0700));
  ContentStore store = TRY(ContentStore::open(root));
  Collector collector(store, limits);
  TRY(walk_code(folder, [&collector](const WalkedEntry& entry) { return collector.visit(entry); }));
  TRY(store.sync());
  std::string bytes = encode_record(kManifestKind, collector.manifest);
  collector.summary.id.text = content_hash(bytes);
  TRY(write_atomically(manifests, collector.summary.id.text, bytes, Durability::kDisk));
  return collector.summary;
}

Result<std::string> materialise_snapshot(const SnapshotId& id, const std::string& snapshots) {
  std::string path = fmt::format("{}/{}", snapshots, id.text);
  if (::access(path.c_str(), F_OK) == 0) return path;
  Fd root = TRY(open_chosen_folder(snapshots));
  Fd manifests = TRY(open_folder_in(root, "manifests"));
  ContentStore store = TRY(ContentStore::open(root));
  std::string bytes = TRY(read_file_in(manifests, id.text, kManifestMax));
  if (content_hash(bytes) != id.text) {
    return Error{.code = Code::kInternal, .message = fmt::format("the snapshot {} is damaged", id.text)};
  }
  Manifest manifest = TRY(decode_record<Manifest>(kManifestKind, bytes));
  if (!std::ranges::all_of(manifest.items, is_safe)) {
    return Error{.code = Code::kInternal, .message = fmt::format("the snapshot {} leads out of its folder", id.text)};
  }

  static std::atomic<int64_t> counter = 0;
  std::string temporary = fmt::format(".new.{}.{}", ::getpid(), counter.fetch_add(1));
  Fd tree = TRY(make_folder_in(root, temporary, 0700));
  Status made = make_tree(manifest, tree, store);
  bool placed = made && ::renameat(root.number(), temporary.c_str(), root.number(), id.text.c_str()) == 0;
  if (placed) return path;
  std::error_code ignored;
  std::filesystem::remove_all(fmt::format("{}/{}", snapshots, temporary), ignored);
  if (!made) return made.error();
  // Somebody else was as quick.
  if (::access(path.c_str(), F_OK) == 0) return path;
  return Error{.code = Code::kUnavailable, .message = fmt::format("cannot put the snapshot in place at {}", path)};
}

}  // namespace moulin
