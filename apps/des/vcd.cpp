// SPDX-License-Identifier: MIT
// Identifier codes count in base 94 over the printable characters '!' to '~'.
#include "apps/des/vcd.hpp"

#include <cinttypes>
#include <cstdio>

#include "apps/common/output_file.hpp"

namespace rubato::apps {
namespace {

std::string code(std::uint32_t net) {
  std::string text;
  do {
    text += static_cast<char>('!' + net % 94);
    net /= 94;
  } while (net != 0);
  return text;
}

}  // namespace

void write_vcd(const std::string& path, const std::string& scope, const Circuit& circuit,
               const std::vector<Change>& log, std::uint64_t end, Resolution unit) {
  OutputFile file(path);
  std::FILE* const out = file.get();
  std::fprintf(out, "$version Rubato des $end\n$timescale 1%s $end\n$scope module %s $end\n",
               unit == Resolution::fs ? "fs" : "ps", scope.c_str());
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    std::fprintf(out, "$var wire 1 %s %s $end\n", code(g).c_str(), circuit.names[g].c_str());
  }
  std::fprintf(out, "$upscope $end\n$enddefinitions $end\n#0\n$dumpvars\n");
  const auto before = settle_initially(circuit);
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) std::fprintf(out, "%u%s\n", before[g], code(g).c_str());
  std::fprintf(out, "$end\n");
  std::uint64_t time = 0;
  for (const Change& change : log) {
    if (change.time != time) std::fprintf(out, "#%" PRIu64 "\n", change.time);
    time = change.time;
    std::fprintf(out, "%" PRIu32 "%s\n", change.value, code(change.net).c_str());
  }
  if (end > time) std::fprintf(out, "#%" PRIu64 "\n", end);
  file.finish();
}

}  // namespace rubato::apps
