#include "journal/fault_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "base/check.h"

namespace moulin::testing {

// Our part of an open file; the real VFS's part lies behind it in the same memory.
struct FaultyFile {
  sqlite3_file base;  // first: SQLite sees only this
  FaultyDisk* disk;
  const char* path;  // valid as long as the file is open
  sqlite3_io_methods methods;

  static FaultyFile& of(sqlite3_file* file) { return *reinterpret_cast<FaultyFile*>(file); }
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(&of(file) + 1); }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out);
  static int remove(sqlite3_vfs* vfs, const char* path, int);
  static int last_error(sqlite3_vfs* vfs, int size, char* text);

  static int close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
  static int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), data, size, offset);
  }
  static int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset);
  static int truncate(sqlite3_file* file, sqlite3_int64 size);
  static int sync(sqlite3_file* file, int);
  static int size(sqlite3_file* file, sqlite3_int64* size) { return real(file)->pMethods->xFileSize(real(file), size); }
  static int lock(sqlite3_file* file, int level) { return real(file)->pMethods->xLock(real(file), level); }
  static int unlock(sqlite3_file* file, int level) { return real(file)->pMethods->xUnlock(real(file), level); }
  static int locked(sqlite3_file* file, int* out) { return real(file)->pMethods->xCheckReservedLock(real(file), out); }
  static int control(sqlite3_file* file, int what, void* argument) {
    if (what == SQLITE_FCNTL_LAST_ERRNO) {
      *static_cast<int*>(argument) = of(file).disk->last_errno_;
      return SQLITE_OK;
    }
    return real(file)->pMethods->xFileControl(real(file), what, argument);
  }
  static int sector(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
  static int device(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
  static int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
  }
  static int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
  }
  static void shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
  static int shm_unmap(sqlite3_file* file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }
};

namespace {

sqlite3_vfs* real_vfs() { return sqlite3_vfs_find("unix"); }

FaultyDisk& disk_of(sqlite3_vfs* vfs) { return *static_cast<FaultyDisk*>(vfs->pAppData); }

constexpr sqlite3_io_methods kMethods{
    .iVersion = 2,
    .xClose = FaultyFile::close,
    .xRead = FaultyFile::read,
    .xWrite = FaultyFile::write,
    .xTruncate = FaultyFile::truncate,
    .xSync = FaultyFile::sync,
    .xFileSize = FaultyFile::size,
    .xLock = FaultyFile::lock,
    .xUnlock = FaultyFile::unlock,
    .xCheckReservedLock = FaultyFile::locked,
    .xFileControl = FaultyFile::control,
    .xSectorSize = FaultyFile::sector,
    .xDeviceCharacteristics = FaultyFile::device,
    .xShmMap = FaultyFile::shm_map,
    .xShmLock = FaultyFile::shm_lock,
    .xShmBarrier = FaultyFile::shm_barrier,
    .xShmUnmap = FaultyFile::shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

}  // namespace

int FaultyFile::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* flags_out) {
  FaultyFile& faulty = of(file);
  faulty.disk = &disk_of(vfs);
  faulty.path = path == nullptr ? "" : path;
  faulty.base.pMethods = nullptr;
  const int result = real_vfs()->xOpen(real_vfs(), path, real(file), flags, flags_out);
  if (real(file)->pMethods != nullptr) faulty.base.pMethods = &kMethods;
  return result;
}

int FaultyFile::remove(sqlite3_vfs* vfs, const char* path, int) {
  if (disk_of(vfs).take(FaultyDisk::Operation::kChange) != 0) return SQLITE_IOERR_DELETE;
  disk_of(vfs).removed(path);
  return real_vfs()->xDelete(real_vfs(), path, 0);
}

int FaultyFile::last_error(sqlite3_vfs* vfs, int size, char* text) {
  if (const int number = disk_of(vfs).last_errno_; number != 0) return number;
  return real_vfs()->xGetLastError(real_vfs(), size, text);
}

int FaultyFile::write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  FaultyFile& faulty = of(file);
  const int failure = faulty.disk->take(FaultyDisk::Operation::kChange);
  if (failure == ENOSPC) {
    // A full disk takes what still fits.
    real(file)->pMethods->xWrite(real(file), data, size / 2, offset);
    return SQLITE_FULL;
  }
  if (failure != 0) return SQLITE_IOERR_WRITE;
  const int result = real(file)->pMethods->xWrite(real(file), data, size, offset);
  if (result == SQLITE_OK) {
    const std::string bytes(static_cast<const char*>(data), static_cast<size_t>(size));
    faulty.disk->record(faulty.path, {.offset = offset, .bytes = bytes});
  }
  return result;
}

int FaultyFile::truncate(sqlite3_file* file, sqlite3_int64 size) {
  FaultyFile& faulty = of(file);
  if (faulty.disk->take(FaultyDisk::Operation::kChange) != 0) return SQLITE_IOERR_TRUNCATE;
  faulty.disk->record(faulty.path, {.offset = 0, .bytes = {}, .truncate_to = size});
  return real(file)->pMethods->xTruncate(real(file), size);
}

// What a real fsync adds is not what these tests are about, and it is slow.
int FaultyFile::sync(sqlite3_file* file, int) {
  FaultyFile& faulty = of(file);
  if (faulty.disk->take(FaultyDisk::Operation::kSync) != 0) return SQLITE_IOERR_FSYNC;
  faulty.disk->synced(faulty.path);
  return SQLITE_OK;
}

FaultyDisk::FaultyDisk() {
  static std::atomic<int> count = 0;
  name_ = fmt::format("faulty-{}", ++count);
  vfs_ = new sqlite3_vfs(*real_vfs());
  vfs_->szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_vfs()->szOsFile;
  vfs_->zName = name_.c_str();
  vfs_->pAppData = this;
  vfs_->pNext = nullptr;
  vfs_->xOpen = FaultyFile::open;
  vfs_->xDelete = FaultyFile::remove;
  vfs_->xGetLastError = FaultyFile::last_error;
  MOULIN_CHECK(sqlite3_vfs_register(vfs_, 0) == SQLITE_OK, "the disk is registered");
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(vfs_);
  delete vfs_;
}

void FaultyDisk::fail(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  plan_ = plan;
  failing_ = true;
}

void FaultyDisk::mend() {
  const std::lock_guard lock(mutex_);
  failing_ = false;
  last_errno_ = 0;
}

int64_t FaultyDisk::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

int FaultyDisk::take(Operation operation) {
  const std::lock_guard lock(mutex_);
  ++operations_;
  if (!failing_) return 0;
  if (plan_.after > 0) {
    --plan_.after;
    return 0;
  }
  const bool is_sync = operation == Operation::kSync;
  const auto failure = [&] {
    switch (plan_.fault) {
      case DiskFault::kFull: return is_sync ? 0 : ENOSPC;
      case DiskFault::kBroken: return is_sync ? 0 : EIO;
      case DiskFault::kReadOnly: return is_sync ? 0 : EROFS;
      case DiskFault::kNoSync: return is_sync ? EIO : 0;
      case DiskFault::kPowerOff: return EIO;
    }
    MOULIN_UNREACHABLE();
  };
  const int number = failure();
  if (number != 0) last_errno_ = number;
  return number;
}

void FaultyDisk::record(const std::string& path, Change change) {
  const std::lock_guard lock(mutex_);
  files_[path].changes.push_back(std::move(change));
}

namespace {

void put(std::string& content, int64_t offset, std::string_view bytes) {
  const auto end = static_cast<size_t>(offset) + bytes.size();
  if (content.size() < end) content.resize(end);
  std::memcpy(content.data() + offset, bytes.data(), bytes.size());
}

}  // namespace

void FaultyDisk::synced(const std::string& path) {
  const std::lock_guard lock(mutex_);
  Content& content = files_[path];
  for (const Change& change : content.changes) {
    if (change.truncate_to >= 0)
      content.synced.resize(static_cast<size_t>(change.truncate_to));
    else
      put(content.synced, change.offset, change.bytes);
  }
  content.changes.clear();
}

void FaultyDisk::removed(const std::string& path) {
  const std::lock_guard lock(mutex_);
  files_.erase(path);
}

void FaultyDisk::load(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files_[entry.path().string()] = {.synced = {std::istreambuf_iterator<char>(file), {}}, .changes = {}};
  }
}

void FaultyDisk::restore(const std::string& folder, Rng& rng) const {
  constexpr int64_t kSector = 512;
  const std::lock_guard lock(mutex_);
  const int64_t lost = rng.chance(300) ? 0 : 400;
  for (const auto& [path, content] : files_) {
    std::string left = content.synced;
    for (const Change& change : content.changes) {
      if (rng.chance(lost)) continue;
      if (change.truncate_to >= 0) {
        left.resize(static_cast<size_t>(change.truncate_to));
        continue;
      }
      const auto size = static_cast<int64_t>(change.bytes.size());
      const int64_t kept = rng.chance(lost) ? std::min(size, rng.below(size / kSector + 1) * kSector) : size;
      put(left, change.offset, std::string_view(change.bytes).substr(0, static_cast<size_t>(kept)));
    }
    std::ofstream(folder + "/" + std::filesystem::path(path).filename().string(), std::ios::binary) << left;
  }
}

}  // namespace moulin::testing
