#include "model/gpu_request.h"

#include <fmt/format.h>

#include <string>

#include "base/json_reader.h"

namespace moulin {

namespace {

constexpr std::string_view kFields[] = {"count", "share", "memory"};
constexpr std::string_view kForms =
    "a part of a device from 0.01 to 0.999, a whole number of devices from 1 to 1000000, {count: 2, share: 0.5}, or "
    "{memory: 20GiB}";
constexpr std::string_view kShareForm = "a number from 0.01 to 1 with at most three digits after the point";

Error refused(std::string_view path, std::string_view given, std::string_view message) {
  return {.code = Code::kInvalid,
          .message = std::string(message),
          .field = std::string(path),
          .given = shortened(given),
          .allowed = std::string(kForms)};
}

GpuRequest whole_devices(int64_t count) { return {.form = GpuForm::kDevices, .count = count, .share = kWholeDevice}; }

// 1.5 and the like: says how to write what may have been meant.
Error not_whole(std::string_view path, std::string_view given, int64_t milli) {
  int64_t devices = (milli + 999) / 1000;
  std::string each = to_text(Share{(milli + devices - 1) / devices});
  Error error = refused(path, given, "is neither a part of one device nor a whole number of devices");
  error.to_do = fmt::format(
      "write {0} for whole devices, or {{count: {0}, share: {1}}} ({0}x{1} on the command line) for {1} of each of {0}",
      devices, each);
  return error;
}

// Why a text is no amount, as far as one can tell.
std::string_view malformed_amount(std::string_view text) {
  if (text.starts_with('-')) return "is negative";
  size_t point = text.find('.');
  bool digits = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (digits && point != std::string_view::npos && text.size() - point > 4) {
    return "is finer than thousandths of a device";
  }
  return digits && point == std::string_view::npos ? "is too large" : "is no amount of GPU";
}

Result<GpuRequest> read_amount(std::string_view text, std::string_view path) {
  Result<int64_t> milli = parse_milli(text);
  if (!milli) return refused(path, text, malformed_amount(text));
  if (*milli == 0) {
    Error error = refused(path, text, "asks for nothing");
    error.to_do = "leave the field out for a workload without GPU";
    return error;
  }
  if (*milli < kShareMin.milli) return refused(path, text, "is below the smallest share, 0.01");
  if (*milli < kWholeDevice.milli) return GpuRequest{.form = GpuForm::kShare, .count = 1, .share = {*milli}};
  if (*milli / 1000 > kDevicesMax) return refused(path, text, "is too large");
  if (*milli % 1000 != 0) return not_whole(path, text, *milli);
  return whole_devices(*milli / 1000);
}

Result<Share> read_share(const Json& value, std::string_view path) {
  std::string text = TRY(read_amount_text(value, path, kShareForm));
  Result<int64_t> milli = parse_milli(text);
  if (milli && *milli >= kShareMin.milli && *milli <= kWholeDevice.milli) return Share{*milli};
  Error error = wrong_value(value, path, kShareForm);
  error.message = !milli                     ? malformed_amount(text)
                  : *milli < kShareMin.milli ? "is below the smallest share, 0.01"
                                             : "is more than one device";
  return error;
}

Result<GpuRequest> read_object(const Json& value, std::string_view path) {
  ObjectReader reader = TRY(ObjectReader::open(value, path, {.known = kFields}));
  const Json* count = reader.find("count");
  const Json* share = reader.find("share");
  if (const Json* memory = reader.find("memory")) {
    if (count != nullptr || share != nullptr) {
      return refused(path, write_json(value), "mixes `memory` with `count` or `share`");
    }
    return GpuRequest{
        .form = GpuForm::kMemory, .count = 1, .memory = TRY(read_memory(*memory, reader.path_of("memory")))};
  }
  if (count == nullptr && share == nullptr) return refused(path, write_json(value), "asks for nothing");
  GpuRequest request = whole_devices(1);
  if (count != nullptr) {
    request.count = TRY(read_integer(*count, reader.path_of("count"), {.min = 1, .max = kDevicesMax}));
  }
  if (share != nullptr) request.share = TRY(read_share(*share, reader.path_of("share")));
  if (request.share < kWholeDevice) request.form = GpuForm::kShare;
  return request;
}

}  // namespace

Result<GpuRequest> read_gpu_request(const Json& value, std::string_view path) {
  if (value.is_object()) return read_object(value, path);
  return read_amount(TRY(read_amount_text(value, path, kForms)), path);
}

Json write_gpu_request(const GpuRequest& request) {
  switch (request.form) {
    case GpuForm::kNone: return nullptr;
    case GpuForm::kDevices: return request.count;
    case GpuForm::kShare: {
      Json share = JsonNumber{to_text(request.share)};
      if (request.count == 1) return share;
      return Json::object({{"count", request.count}, {"share", std::move(share)}});
    }
    case GpuForm::kMemory: return Json::object({{"memory", to_text(request.memory)}});
  }
  MOULIN_UNREACHABLE();
}

Result<Bytes> read_memory(const Json& value, std::string_view path) {
  constexpr std::string_view kAllowed = "a number with a unit from 1MiB to 64TiB, such as 20GiB";
  std::string text = TRY(read_amount_text(value, path, kAllowed));
  Result<Bytes> bytes = parse_bytes(text);
  if (bytes && *bytes >= kMemoryMin && *bytes <= kMemoryMax) return bytes;
  Error error = wrong_value(value, path, kAllowed);
  error.message = text.starts_with('-') ? "is negative"
                  : !bytes              ? "is no amount of memory"
                  : *bytes < kMemoryMin ? "is less than 1MiB"
                                        : "is too large";
  if (value.is_number()) error.to_do = "write a unit: KiB, MiB, GiB or TiB";
  return error;
}

}  // namespace moulin
