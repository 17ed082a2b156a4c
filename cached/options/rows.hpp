// Rows of the tables of options: how they set a field of the settings, and show it in `stats settings`.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "cached/options/option.hpp"

namespace rubato::cached {

template <class T, class Class>
Class class_of(T Class::*);

/// The field of the settings, or of those of TLS in them.
template <auto Field>
auto& field(auto& settings) {
  if constexpr (std::is_same_v<decltype(class_of(Field)), TlsSettings>)
    return settings.tls.*Field;
  else
    return settings.*Field;
}

template <auto Field>
void on(Settings& settings) {
  field<Field>(settings) = true;
}
template <auto Field>
void off(Settings& settings) {
  field<Field>(settings) = false;
}
template <auto Field, class V>
void put(Settings& settings, V value) {
  field<Field>(settings) = value;
}

template <class T>
auto loaded(const T& value) {
  if constexpr (requires { value.load(); })
    return value.load();
  else
    return value;
}

/// memcached's words for it.
template <auto Field>
std::string show(const InForce& now) {
  const auto value = loaded(field<Field>(now.settings));
  if constexpr (std::is_same_v<decltype(value), const bool>)
    return value ? "yes" : "no";
  else
    return fmt::format("{}", value);
}
template <auto Field, int digits>
std::string show_rounded(const InForce& now) {
  return fmt::format("{:.{}f}", loaded(field<Field>(now.settings)), digits);
}
/// memcached prints its null pointers, as `(null)` where it leaves them to printf.
inline std::string or_null(const std::string& text, const char* null) { return text.empty() ? null : text; }

}  // namespace rubato::cached
