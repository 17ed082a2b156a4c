// Short names of functions, for readers of traces and others that show thousands of them. The same rules as
// python/rubato/names.py.
// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace rubato {

/// `visit` of "void app::(anonymous namespace)::visit<(Type)2>(Vertex*)", `lambda of visit` of
/// "visit(Vertex*)::{lambda(int)#1}"; names of another form stay.
inline std::string short_name(std::string_view function) {
  std::string_view rest = function;
  // A task of create_all(), which hands out pieces of a range: its second argument is the function that it
  // calls.
  constexpr std::string_view kPiece = "::engine::split_range<";
  if (const auto piece = rest.find(kPiece); piece != rest.npos) {
    const auto comma = rest.find(", ", piece);
    if (comma != rest.npos) rest.remove_prefix(comma + 2);
  }
  std::string name;
  int depth = 0;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    const char c = rest[i];
    if (c == '<' || c == '(') {
      ++depth;
    } else if (c == '>' || c == ')') {
      if (--depth < 0) break;
    } else if (depth == 0) {
      if (c == ',') break;
      name += c;
    }
  }
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  name.erase(0, name.rfind(' ') + 1);  // npos + 1 is 0
  const auto split = [](const std::string& qualified) {
    const auto colons = qualified.rfind("::");
    return colons == qualified.npos ? 0 : colons + 2;
  };
  std::string last = name.substr(split(name));
  const bool is_lambda = last.starts_with("{lambda#");
  if (is_lambda) {
    name.resize(split(name) == 0 ? 0 : split(name) - 2);
    last = name.substr(split(name));
  }
  bool is_identifier = !last.empty() && std::isdigit(static_cast<unsigned char>(last[0])) == 0;
  for (const char c : last) {
    is_identifier = is_identifier && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  }
  if (!is_identifier) return std::string(function);
  return is_lambda ? "lambda of " + last : last;
}

/// Short names that tell functions apart: of two that would be called `visit`, the second is `visit (2)`.
class ShortNames {
 public:
  const std::string& of(const std::string& function) {
    const auto [it, is_new] = names_.try_emplace(function);
    if (is_new) {
      const std::string name = short_name(function);
      it->second = name;
      for (int n = 2; !used_.insert(it->second).second; ++n)
        it->second = name + " (" + std::to_string(n) + ")";
    }
    return it->second;
  }
  /// By the whole names.
  const std::map<std::string, std::string>& all() const { return names_; }

 private:
  std::map<std::string, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace rubato
