// rubato-native-info: what the native engine found out about this machine, for `rubato doctor` and for
// people.
//   rubato-native-info [--json] [--root FOLDER]
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_text.hpp"
#include "native/topology/cpu_list.hpp"
#include "native/topology/topology.hpp"

namespace {

using rubato::json_quoted;
using rubato::native::AllowedCpu;
using rubato::native::Topology;

std::string json(const Topology& topology) {
  std::string text = "{\"workers\": " + std::to_string(topology.workers);
  text += ", \"quota\": " + (topology.quota ? std::to_string(*topology.quota) : std::string("null"));
  text += std::string(", \"pinned\": ") + (topology.pins(topology.workers) ? "true" : "false");
  text += ", \"cpus\": [";
  for (std::size_t i = 0; i < topology.allowed.size(); ++i) {
    const AllowedCpu& cpu = topology.allowed[i];
    text += std::string(i == 0 ? "" : ", ") + "{\"cpu\": " + std::to_string(cpu.cpu) +
            ", \"group\": " + std::to_string(cpu.group) + ", \"node\": " + std::to_string(cpu.node) + "}";
  }
  text += "], \"derivation\": [";
  for (std::size_t i = 0; i < topology.derivation.size(); ++i) {
    text += (i == 0 ? "" : ", ") + json_quoted(topology.derivation[i]);
  }
  return text + "]}";
}

}  // namespace

int main(int count, char** arguments) {
  bool is_json = false;
  std::optional<std::filesystem::path> root;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json") {
      is_json = true;
    } else if (argument == "--root" && i + 1 < count) {
      root = arguments[++i];
    } else {
      std::fprintf(stderr, "usage: rubato-native-info [--json] [--root FOLDER with proc and sys]\n");
      return 2;
    }
  }
  const Topology topology = root ? rubato::native::derive_topology(rubato::native::current_affinity(), *root)
                                 : rubato::native::this_machine();
  if (is_json) {
    std::puts(json(topology).c_str());
  } else {
    for (const std::string& line : topology.derivation) std::puts(line.c_str());
  }
  return 0;
}
