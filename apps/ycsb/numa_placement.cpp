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

NumaPolicy policy_of(const std::string& text) {
  if (text == "interleave") return NumaPolicy::interleave;
  if (text == "local") return NumaPolicy::local;
  if (text.starts_with(kNode)) return NumaPolicy::node;
  throw InputError("--numa: '" + text + "' is none of interleave|local|node:N");
}

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

NumaPlacement::NumaPlacement(const std::string& text) : policy_(policy_of(text)), nodes_(numa_nodes()) {
  if (nodes_.empty())
    throw InputError(
        "--numa: this program cannot place memory: use the native engine, built with hwloc (package "
        "libhwloc-dev)");
  if (policy_ == NumaPolicy::node) nodes_ = {node_of(text, nodes_)};
}

unsigned NumaPlacement::next() {
  switch (policy_) {
    case NumaPolicy::interleave:
      return nodes_[turn_.fetch_add(1, std::memory_order_relaxed) % nodes_.size()];
    case NumaPolicy::local:
      return numa_node();
    case NumaPolicy::node:
      break;
  }
  return nodes_.front();
}

NumaBytes NumaPlacement::bytes() const {
  NumaBytes bytes;
  for (const unsigned node : nodes_) bytes.emplace_back(node, numa_bytes(node));
  return bytes;
}

}  // namespace rubato::apps::ycsb
