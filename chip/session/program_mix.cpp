// SPDX-License-Identifier: MIT
#include "chip/session/program_mix.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "chip/config/schema.hpp"
#include "chip/session/run_directory.hpp"

namespace rubato::chip {
namespace {

const std::vector<std::string> kMixKeys = {"path", "arguments", "copies", "cores", "stdin", "roi"};

/// First and last, as "1-15" or "3".
std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_cores(const std::string& text) {
  const auto dash = text.find('-');
  const auto first = parse_count(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_count(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

class MixReader {
 public:
  MixReader(const Config& config, const std::string& file)
      : config_(config), file_(file), line_by_core_(config.chip.cores) {}

  std::vector<MixedProgram> read(const toml::table& root) {
    const bool is_run = root.contains("format");  // a run.toml, which has more
    for (auto&& [name, node] : root)
      if (name.str() != "program" && !is_run)
        throw UsageError("{}: there is no table {} in a mix of programs: each program is a [[program]]",
                         where(node), name.str());
    const toml::array* const entries = root["program"].as_array();
    if (entries == nullptr || entries->empty())
      throw UsageError("{}: a mix of programs has a [[program]] for each", file_);
    for (const toml::node& entry : *entries) {
      if (!entry.is_table())
        throw UsageError("{}: each program is a table, headed by [[program]]", where(entry));
      read_entry(*entry.as_table());
    }
    return std::move(programs_);
  }

 private:
  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", file_, node.source().begin.line);
  }

  void read_entry(const toml::table& entry) {
    for (auto&& [name, node] : entry) {
      const std::string key(name.str());
      if (std::find(kMixKeys.begin(), kMixKeys.end(), key) != kMixKeys.end()) continue;
      const std::string near = nearest({key, kMixKeys});
      throw UsageError("{}: a program has no {}{}", where(node), key,
                       near.empty() ? "" : fmt::format(", did you mean {}?", near));
    }
    MixedProgram program;
    program.path = text_of(entry, "path", true);
    program.stdin_file = text_of(entry, "stdin", false);
    program.roi = text_of(entry, "roi", false);
    if (program.roi.empty()) program.roi = config_.run.roi;
    if (const toml::node* const node = entry.get("arguments")) {
      const toml::array* const list = node->as_array();
      if (list == nullptr || (!list->empty() && !list->is_homogeneous(toml::node_type::string)))
        throw UsageError("{}: arguments is no list of strings, as [\"--size\", \"10\"]", where(*node));
      for (const toml::node& word : *list) program.arguments.push_back(word.as_string()->get());
    }
    std::int64_t copies = 1;
    if (const toml::node* const node = entry.get("copies")) {
      const auto* const number = node->as_integer();
      if (number == nullptr || number->get() < 1 || number->get() > config_.chip.cores)
        throw UsageError("{}: copies is no number from 1 to {} (chip.cores)", where(*node),
                         config_.chip.cores);
      copies = number->get();
    }
    place(entry, std::move(program), static_cast<std::uint32_t>(copies));
  }

  std::string text_of(const toml::table& entry, const char* key, bool is_needed) const {
    const toml::node* const node = entry.get(key);
    if (node == nullptr && !is_needed) return {};
    if (node == nullptr)
      throw UsageError("{}: {} is missing: a program needs path and cores", where(entry), key);
    const auto* const text = node->as_string();
    if (text == nullptr || text->get().empty())
      throw UsageError("{}: {} is no text, as {} = \"...\"", where(*node), key, key);
    return text->get();
  }

  void place(const toml::table& entry, MixedProgram program, std::uint32_t copies) {
    const std::string text = text_of(entry, "cores", true);
    const std::string at = where(*entry.get("cores"));
    const auto range = parse_cores(text);
    if (!range) throw UsageError("{}: cores is \"{}\", expected a range as \"1-15\" or \"3\"", at, text);
    const auto [first, last] = *range;
    const std::uint64_t cores = last - first + 1, of_tile = config_.chip.cores_per_tile;
    if (last >= config_.chip.cores)
      throw UsageError("{}: cores is \"{}\", but the chip has cores 0 to {} (chip.cores)", at, text,
                       config_.chip.cores - 1);
    if (cores % copies != 0)
      throw UsageError("{}: cores is \"{}\", which is {}, and {} copies cannot share them equally", at, text,
                       cores, copies);
    if (first % of_tile != 0 || cores / copies % of_tile != 0)
      throw UsageError(
          "{}: cores is \"{}\" for {} cop{}, but a program has whole tiles, of {} cores each "
          "(chip.cores_per_tile): multiples of {}, from a multiple on",
          at, text, copies, copies == 1 ? "y" : "ies", of_tile, of_tile);
    for (std::uint64_t core = first; core <= last; ++core) {
      if (line_by_core_[core] != 0)
        throw UsageError("{}: core {} has a program already, that of line {}", at, core, line_by_core_[core]);
      line_by_core_[core] = entry.source().begin.line;
    }
    program.cores = static_cast<std::uint32_t>(cores / copies);
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      program.first_core = static_cast<std::uint32_t>(first) + copy * program.cores;
      programs_.push_back(program);
    }
  }

  const Config& config_;
  const std::string& file_;
  std::vector<std::uint32_t> line_by_core_;  // of the entry that has it; 0: none
  std::vector<MixedProgram> programs_;
};

}  // namespace

std::vector<MixedProgram> load_mix(const Config& config, const std::string& file) {
  return load_mix_text(config, read_file(file), file);
}

std::vector<MixedProgram> load_mix_text(const Config& config, std::string_view text,
                                        const std::string& name) {
  try {
    return MixReader(config, name).read(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    throw UsageError("{}:{}: {}", name, error.source().begin.line, error.description());
  }
}

}  // namespace rubato::chip
