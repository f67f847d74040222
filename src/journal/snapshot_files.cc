#include "journal/snapshot_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "journal/durable_file.h"

namespace moulin {
namespace {

constexpr std::string_view kMagic = "MOULSNAP";
constexpr std::string_view kPrefix = "snapshot-";
constexpr std::string_view kSuffix = ".bin";
// magic, journal number, sequence, chain, format, size of the bytes
constexpr size_t kHeaderBytes = 8 + 16 + 8 + 16 + 8 + 8;
constexpr size_t kChecksumBytes = 16;

std::string encode_header(const PlacedSnapshot& placed) {
  std::string out(kMagic);
  out += placed.number.view();
  append_number(out, placed.snapshot.sequence.value);
  out += placed.chain.view();
  append_number(out, placed.snapshot.format);
  append_number(out, static_cast<int64_t>(placed.snapshot.bytes.size()));
  return out;
}

Error damaged(const std::string& path, std::string_view finding) {
  return {.message = fmt::format("snapshot {} {}", path, finding),
          .to_do = "nothing: an older snapshot or the whole journal is used; you may delete the file"};
}

std::optional<Sequence> sequence_of(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  Sequence sequence;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), sequence.value);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) return std::nullopt;
  return sequence;
}

// The checksum covers header and bytes; the header holds their size, so hashing the two
// hashes in turn covers both without one more copy of the bytes.
Chain checksum_over(std::string_view header, std::string_view bytes) {
  return checksum_of(std::string(checksum_of(header).view()) + std::string(checksum_of(bytes).view()));
}

}  // namespace

std::string SnapshotFiles::path_of(Sequence sequence) const {
  return fmt::format("{}/{}{:020}{}", folder_, kPrefix, sequence.value, kSuffix);
}

Result<std::vector<Sequence>> SnapshotFiles::list() const {
  std::vector<Sequence> found;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder_, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (const auto sequence = sequence_of(entry->path().filename().string())) found.push_back(*sequence);
  }
  if (error) return file_error(folder_, "list", error.value());
  std::ranges::sort(found, std::greater<>());
  return found;
}

Status SnapshotFiles::save(const PlacedSnapshot& placed) const {
  if (placed.snapshot.bytes.size() > static_cast<size_t>(kSnapshotBytesMax.count)) {
    return Error{.code = Code::kTooLarge,
                 .message = "the snapshot is too large",
                 .given = to_text(Bytes{static_cast<int64_t>(placed.snapshot.bytes.size())}),
                 .allowed = "at most " + to_text(kSnapshotBytesMax)};
  }
  TRY(make_folder(folder_));
  const std::string header = encode_header(placed);
  const Chain checksum = checksum_over(header, placed.snapshot.bytes);
  TRY(replace_file(path_of(placed.snapshot.sequence), {header, placed.snapshot.bytes, checksum.view()}));
  const std::vector<Sequence> all = TRY(list());
  for (size_t index = kSnapshotsKept; index < all.size(); ++index) TRY(remove(all[index]));
  return {};
}

Result<PlacedSnapshot> SnapshotFiles::load(Sequence sequence) const {
  const std::string path = path_of(sequence);
  std::string bytes = TRY(read_file(path, kSnapshotBytesMax + kibibytes(1)));
  if (bytes.size() < kHeaderBytes + kChecksumBytes || !bytes.starts_with(kMagic)) {
    return damaged(path, "is cut short or no snapshot");
  }
  const std::string header = bytes.substr(0, kHeaderBytes);
  const size_t body_bytes = bytes.size() - kHeaderBytes - kChecksumBytes;
  const std::string_view body = std::string_view(bytes).substr(kHeaderBytes, body_bytes);
  const std::string_view stored = std::string_view(bytes).substr(kHeaderBytes + body_bytes);
  if (checksum_over(header, body).view() != stored) return damaged(path, "is damaged: its checksum differs");
  if (read_number(header, 24) != sequence.value) return damaged(path, "is not the one that its name says");
  PlacedSnapshot placed{.number = {sixteen_bytes(std::string_view(header).substr(8, 16))},
                        .chain = {sixteen_bytes(std::string_view(header).substr(32, 16))},
                        .snapshot = {.sequence = sequence,
                                     .format = static_cast<int32_t>(read_number(header, 48)),
                                     .bytes = {}}};
  bytes.resize(bytes.size() - kChecksumBytes);
  bytes.erase(0, kHeaderBytes);
  placed.snapshot.bytes = std::move(bytes);
  return placed;
}

Status SnapshotFiles::remove(Sequence sequence) const {
  const std::string path = path_of(sequence);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return file_error(path, "remove", errno);
}

Bytes SnapshotFiles::on_disk() const {
  Bytes sum{};
  const Result<std::vector<Sequence>> all = list();
  if (!all) return sum;
  for (const Sequence sequence : *all) sum += size_of_file(path_of(sequence));
  return sum;
}

}  // namespace moulin
