#include "base/result.h"

#include "base/check.h"

namespace moulin {

std::string_view to_text(Code code) {
  switch (code) {
    case Code::kInvalid: return "invalid";
    case Code::kUnauthenticated: return "unauthenticated";
    case Code::kForbidden: return "forbidden";
    case Code::kNotFound: return "not_found";
    case Code::kConflict: return "conflict";
    case Code::kTooLarge: return "too_large";
    case Code::kRefused: return "refused";
    case Code::kTooMany: return "too_many";
    case Code::kInternal: return "internal";
    case Code::kUnavailable: return "unavailable";
  }
  MOULIN_UNREACHABLE();
}

std::string Error::to_text() const {
  std::string text = field.empty() ? message : field + ": " + message;
  if (!given.empty()) text += "; given: " + given;
  if (!allowed.empty()) text += "; allowed: " + allowed;
  if (!to_do.empty()) text += "; to do: " + to_do;
  return text;
}

}  // namespace moulin
