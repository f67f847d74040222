#include "journal/mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace moulin {
namespace {

constexpr std::string_view kMagic = "MOULMARK";
// magic, journal number, sequence, chain, checksum of these
constexpr size_t kMarkBytes = 8 + 16 + 8 + 16 + 16;

std::string encode_mark(const Mark& mark) {
  std::string out(kMagic);
  out += mark.number.view();
  append_number(out, mark.sequence.value);
  out += mark.chain.view();
  out += checksum_of(out).view();
  return out;
}

std::optional<Mark> decode_mark(std::string_view bytes) {
  if (bytes.size() != kMarkBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string_view body = bytes.substr(0, kMarkBytes - 16);
  if (checksum_of(body).view() != bytes.substr(kMarkBytes - 16)) return std::nullopt;
  return Mark{.number = {sixteen_bytes(bytes.substr(8, 16))},
              .sequence = {read_number(bytes, 24)},
              .chain = {sixteen_bytes(bytes.substr(32, 16))}};
}

}  // namespace

std::string mark_path(const std::string& journal_path) { return journal_path + "-mark"; }

Result<std::optional<Mark>> read_mark(const std::string& journal_path) {
  const Result<std::string> bytes = read_file(mark_path(journal_path), kibibytes(1));
  if (bytes) return decode_mark(*bytes);
  if (bytes.error().code == Code::kNotFound || bytes.error().code == Code::kTooLarge) return std::optional<Mark>();
  return bytes.error();
}

Result<MarkWriter> MarkWriter::open(const std::string& journal_path) {
  const std::string path = mark_path(journal_path);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return file_error(path, "open", errno);
  File file(::fdopen(descriptor, "r+b"));
  if (!file) return file_error(path, "open", errno);
  return MarkWriter(std::move(file));
}

void MarkWriter::write(const Mark& mark) {
  const std::string bytes = encode_mark(mark);
  [[maybe_unused]] const ssize_t written = ::pwrite(::fileno(file_.get()), bytes.data(), bytes.size(), 0);
}

}  // namespace moulin
