// SPDX-License-Identifier: MIT
#include "workloads/web/path_cache.hpp"

#include <algorithm>
#include <mutex>

namespace rubato::workloads::web {

PathCache::~PathCache() {
  for (Chain& chain : chains_) {
    while (chain.first != nullptr) {
      const std::unique_ptr<Entry> first(chain.first);
      chain.first = first->next;
    }
  }
}

unsigned PathCache::find(std::string_view path) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  Chain& chain = chains_[(hash ^ hash >> 32) % chains_.size()];
  const std::lock_guard<Latch> guard(chain.latch);
  for (Entry* entry = chain.first; entry != nullptr; entry = entry->next) {
    if (path == std::string_view(entry->path.data(), entry->size)) {
      ++entry->uses;
      return entry->file;
    }
  }
  const unsigned file = site_.resolve(path);
  if (file == Site::kNotFound) return file;
  auto* entry = new Entry{{}, static_cast<unsigned>(path.size()), file, 1, chain.first};
  std::copy(path.begin(), path.end(), entry->path.begin());
  chain.first = entry;
  return file;
}

std::uint64_t PathCache::uses() const {
  std::uint64_t uses = 0;
  for (const Chain& chain : chains_)
    for (const Entry* entry = chain.first; entry != nullptr; entry = entry->next) uses += entry->uses;
  return uses;
}

}  // namespace rubato::workloads::web
