// SPDX-License-Identifier: MIT
#include "apps/ycsb/numa_placement.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "apps/common/input_error.hpp"
#include "rubato/numa.hpp"

namespace rubato::apps::ycsb {
namespace {

constexpr std::string_view kNode = "node:";

std::string listed(const std::vector<unsigned>& nodes) {
  std::string list;
  for (const unsigned node : nodes) list += (list.empty() ? "" : ", ") + std::to_string(node);
  return list;
}

unsigned node_of(const std::string& text, const std::vector<unsigned>& nodes) {
  unsigned node = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + kNode.size(), end, node);
  if (parsed.ec != std::errc() || parsed.ptr != end)
    throw InputError("--numa: '" + text + "' needs the number of a NUMA node, as in node:0");
  if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
    throw InputError("--numa " + text + ": this machine has no such NUMA node, but " + listed(nodes));
  return node;
}

}  // namespace

NumaPlacement::NumaPlacement(const std::string& text) : is_local_(text == "local"), nodes_(numa_nodes()) {
  const bool is_node = text.starts_with(kNode);
  if (!is_local_ && !is_node && text != "interleave")
    throw InputError("--numa: '" + text + "' is none of interleave|local|node:N");
  if (nodes_.empty())
    throw InputError(
        "--numa: this program cannot place memory: use the native engine, built with hwloc (package "
        "libhwloc-dev)");
  if (is_node) nodes_ = {node_of(text, nodes_)};
  if (nodes_.back() > kLargestNode)
    throw InputError("--numa " + text + ": NUMA node " + std::to_string(nodes_.back()) +
                     " is out of reach, since ycsb places nodes of its tree on NUMA nodes 0 to " +
                     std::to_string(kLargestNode) + ": name one of these, as in node:0");
}

unsigned NumaPlacement::next() {
  return is_local_ ? numa_node() : nodes_[turn_.fetch_add(1, std::memory_order_relaxed) % nodes_.size()];
}

NumaBytes NumaPlacement::bytes() const {
  NumaBytes bytes;
  for (const unsigned node : nodes_) bytes.emplace_back(node, numa_bytes(node));
  return bytes;
}

void NumaPlacement::note_visit(unsigned node) {
  NumaVisits& visits = visits_.local();
  ++visits.all;
  if (numa_node() == node) ++visits.near;
}

NumaVisits NumaPlacement::visits() {
  return visits_.combine([](NumaVisits a, NumaVisits b) {
    return NumaVisits{a.near + b.near, a.all + b.all};
  });
}

}  // namespace rubato::apps::ycsb
