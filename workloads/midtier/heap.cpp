// SPDX-License-Identifier: MIT
#include "workloads/midtier/heap.hpp"

#include <algorithm>
#include <stdexcept>

namespace rubato::workloads::midtier {

Heap::Heap(std::size_t half)
    : half_(half), current_(new std::uint64_t[half]), other_(new std::uint64_t[half]) {}

Object* Heap::make(unsigned kind, unsigned refs, unsigned words) {
  const std::size_t size = std::size_t{1} + refs + words;
  if (!has_room(size)) throw std::length_error("a transaction makes more objects than there is room for");
  std::uint64_t* at = &current_[used_];
  used_ += size;
  at[0] = static_cast<std::uint64_t>(kind) << 40 | size << 20 | refs << 4;
  std::fill_n(at + 1, size - 1, 0);
  return reinterpret_cast<Object*>(at);  // NOLINT: an object is its words
}

Object* Heap::move(Object* object) {
  if (object == nullptr) return nullptr;
  if ((object->header_ & 1) != 0)
    return reinterpret_cast<Object*>(object->header_ & ~std::uint64_t{1});  // NOLINT
  const unsigned size = object->size();
  std::uint64_t* to = &current_[used_];
  used_ += size;
  std::copy_n(&object->header_, size, to);
  object->header_ = reinterpret_cast<std::uint64_t>(to) | 1;  // NOLINT
  return reinterpret_cast<Object*>(to);                       // NOLINT
}

Object* Heap::collect(Object* root) {
  std::swap(current_, other_);
  used_ = 0;
  ++collections_;
  Object* const moved = move(root);
  for (std::size_t scanned = 0; scanned < used_;) {
    auto* object = reinterpret_cast<Object*>(&current_[scanned]);  // NOLINT
    for (unsigned i = 0; i < object->refs(); ++i) object->set_ref(i, move(object->ref(i)));
    scanned += object->size();
  }
  return moved;
}

bool Heap::has(const Object* object) const {
  const auto* at = reinterpret_cast<const std::uint64_t*>(object);  // NOLINT
  return at >= current_.get() && at < current_.get() + used_ && at + object->size() <= current_.get() + used_;
}

}  // namespace rubato::workloads::midtier
