// The configuration as TOML: reading with file and line in every error, and writing.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "chip/config/schema.hpp"

namespace rubato::chip {
namespace {

bool is_section(std::string_view name) {
  return std::any_of(keys().begin(), keys().end(), [&](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) && key.name[name.size()] == '.';
  });
}

class Reader {
 public:
  Reader(Config& config, const std::string& file) : config_(config), file_(file) {}

  void read(const toml::table& root) {
    for (auto&& [name, node] : root) read_section(std::string(name.str()), node);
  }

 private:
  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }

  void read_section(const std::string& name, const toml::node& node) {
    if (!is_section(name)) refuse_unknown(name, node);
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      throw UsageError("{}: {} is a section; write [{}] and its keys below", where(node), name, name);
    }
    for (auto&& [key_name, value] : *table) read_key(fmt::format("{}.{}", name, key_name.str()), value);
  }

  void read_key(const std::string& name, const toml::node& node) {
    const Key* key = find_key(name);
    if (key == nullptr) refuse_unknown(name, node);
    if (const auto* b = node.as_boolean()) return assign(config_, *key, Value{b->get()}, where(node));
    if (const auto* f = node.as_floating_point()) return assign(config_, *key, Value{f->get()}, where(node));
    if (const auto* s = node.as_string()) return assign_text(config_, *key, s->get(), where(node));
    if (const auto* i = node.as_integer()) {
      if (i->get() >= 0) {
        const Value value{static_cast<std::uint64_t>(i->get())};
        check_written(*key, value, where(node));
        return assign(config_, *key, value, where(node));
      }
      throw UsageError("{}: {} is {}, expected {}", where(node), name, i->get(), key->expected());
    }
    throw UsageError("{}: {} is no single value, expected {}", where(node), name, key->expected());
  }

  [[noreturn]] void refuse_unknown(const std::string& name, const toml::node& node) const {
    const std::string near = nearest_key(name);
    throw UsageError(
        "{}: there is no key '{}'{}", where(node), name,
        near.empty() ? "; rubato-chip --help-config lists all" : fmt::format("; did you mean {}?", near));
  }

  Config& config_;
  const std::string& file_;
};

}  // namespace

void load_toml_text(Config& config, std::string_view text, const std::string& name) {
  toml::table root;
  try {
    root = toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw UsageError("{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
  const toml::table* resolved = root["config"].as_table();  // of a run.toml
  Reader(config, name).read(resolved != nullptr ? *resolved : root);
}

void load_toml(Config& config, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw UsageError("{}: cannot read this configuration file", path);
  load_toml_text(config, text, path);
}

std::string toml_value(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *u);
  if (const auto* d = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *d);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  // A JSON string is one of TOML, but for DEL. TOML is UTF-8: bytes that are not, in the name of a file, are
  // replaced.
  const nlohmann::json text = std::get<std::string>(value);
  std::string quoted = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (std::size_t at = 0; (at = quoted.find('\x7f', at)) != std::string::npos;)
    quoted.replace(at, 1, "\\u007f");
  return quoted;
}

std::string write_toml(const Config& config, std::string_view prefix, bool comments) {
  std::string out;
  std::string_view section;
  for (const Key& key : keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      out += fmt::format("{}[{}{}]\n", out.empty() ? "" : "\n", prefix, section);
    }
    if (comments) out += fmt::format("\n# {}\n# {}.\n", key.description, key.expected());
    const Value value = key.get(config);
    const bool is_automatic = key.automatic && value == Value{std::uint64_t{0}};
    out += fmt::format("{} = {}\n", key.name.substr(dot + 1), is_automatic ? "\"auto\"" : toml_value(value));
  }
  return out;
}

}  // namespace rubato::chip
