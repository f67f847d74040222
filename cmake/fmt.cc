// The parts of fmt that a program links with, for Debian packages no archive of them.
#include <fmt/format-inl.h>

namespace fmt {

template auto detail::dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto detail::dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto detail::thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto detail::decimal_point_impl(locale_ref) -> char;
template void detail::vformat_to(buffer<char>&, string_view, basic_format_args<buffer_context<char>>, locale_ref);

}  // namespace fmt
