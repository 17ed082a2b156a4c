// resource<T>: an object that tasks touch, behind a one-word handle. The handle also carries how to
// synchronize it, so that creating a task never touches the object (M5; MxTasking, Sec. 4).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "rubato/engine/native_check.hpp"
#include "rubato/engine/resource_header.hpp"
#include "rubato/synchronization.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// Tasks that may work on a resource at once.
enum class Isolation : std::uint8_t {
  exclusive,  ///< one task at a time
  /// Tasks with .access = reads at once, writers one at a time. Natively readers are optimistic unless
  /// another synchronization is asked for. They run beside a writer, too, may see a half-done write, and run
  /// again if the writer was at work. So all mutable data that they read must be `tracked`, their loops must
  /// end whatever they read, and pointers that they follow must lead to resources. For everything else (a
  /// std::map, say) ask for .synchronization = Synchronization::shared_latch: readers together, writers
  /// alone.
  shared_reads,
};
/// Hints from which an engine chooses the synchronization.
enum class Ratio : std::uint8_t { balanced, mostly_reads, mostly_writes };
/// Hint: how often tasks work on it.
enum class Frequency : std::uint8_t { normal, low, high };

/// Properties of the object, for make_resource().
struct ResourceOptions {
  Isolation isolation = Isolation::exclusive;  ///< semantic: which tasks may work on it at once
  Ratio ratio = Ratio::balanced;               ///< hint: whether tasks read or write it mostly
  Frequency frequency = Frequency::normal;     ///< hint: how often tasks work on it
  /// A request: wins over the hints above, and over the choice for all resources.
  Synchronization synchronization = Synchronization::automatic;
};

namespace engine {
/// Options as the 9 bits that a handle carries: the hints below, the request above them.
constexpr unsigned kHintBits = 6;
constexpr std::uint32_t option_bits(ResourceOptions o) {
  return static_cast<std::uint32_t>(o.isolation) | static_cast<std::uint32_t>(o.ratio) << 2 |
         static_cast<std::uint32_t>(o.frequency) << 4 |
         static_cast<std::uint32_t>(o.synchronization) << kHintBits;
}
constexpr ResourceOptions options_of(std::uint32_t bits) {
  return {static_cast<Isolation>(bits & 3), static_cast<Ratio>(bits >> 2 & 3),
          static_cast<Frequency>(bits >> 4 & 3), static_cast<Synchronization>(bits >> kHintBits & 7)};
}
}  // namespace engine

template <class T>
class resource;

template <class T, class... Args>
resource<T> make_resource(ResourceOptions options, Args&&... args);

template <class T>
void remove(resource<T> handle);

/// Trivially copyable, one word: the object's address below, the choices above. Empty when default-made; as
/// a locale that is 0, on every engine.
template <class T>
class resource {
 public:
  resource() = default;
  /// The object; null if empty.
  T* get() const { return reinterpret_cast<T*>(word_ & kAddressMask); }
  /// The object.
  T* operator->() const { return get(); }
  /// The object.
  T& operator*() const { return *get(); }
  /// Whether the handle names an object.
  explicit operator bool() const { return word_ != 0; }
  /// Whether both name the same object, with the same options.
  bool operator==(const resource&) const = default;

  /// The options that make_resource() got.
  ResourceOptions options() const {
    return engine::options_of(static_cast<std::uint32_t>(word_ >> kAddressBits));
  }
  /// Locale for `.on = handle`.
  operator Locale() const {
    return Locale::of_resource(word_ & kAddressMask, options().isolation == Isolation::shared_reads,
                               static_cast<std::uint16_t>(word_ >> kAddressBits));
  }

 private:
  template <class U, class... Args>
  friend resource<U> make_resource(ResourceOptions options, Args&&... args);
  template <class U>
  friend void remove(resource<U> handle);
  static constexpr unsigned kAddressBits = 48;  // user addresses of x86-64, RISC-V Sv48 and AArch64
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << kAddressBits) - 1;

  resource(T* object, ResourceOptions o)
      : word_(reinterpret_cast<std::uintptr_t>(object) | std::uint64_t{engine::option_bits(o)}
                                                             << kAddressBits) {}

  std::uint64_t word_ = 0;
};

namespace engine {

#if defined(RUBATO_ENGINE_NATIVE)
/// Memory of resources: on huge pages if there are many. From any thread.
void* allocate_resource(std::size_t bytes, std::align_val_t alignment);
void free_resource(void* block, std::size_t bytes, std::align_val_t alignment);
#endif

/// The header ends where the object begins, however the object is aligned: engines find it from the handle
/// alone.
template <std::size_t padding>
struct PaddedHeader {
  unsigned char unused[padding] = {};
  ResourceHeader value;
};
template <>
struct PaddedHeader<0> {
  ResourceHeader value;
};

template <class T>
struct ResourceBlock {
  static constexpr std::size_t kAlignment = alignof(T) > 64 ? alignof(T) : 64;
  static constexpr std::size_t kPadding = kAlignment - sizeof(ResourceHeader);
  PaddedHeader<kPadding> header;
  alignas(kAlignment) T object;

  template <class... Args>
  explicit ResourceBlock(Args&&... args) : header{}, object(std::forward<Args>(args)...) {
    check::made(&object, sizeof(T));
  }
  ResourceBlock(const ResourceBlock&) = delete;
  ResourceBlock& operator=(const ResourceBlock&) = delete;
  ~ResourceBlock() { check::destroyed(&object); }

#if defined(RUBATO_ENGINE_NATIVE)
  static void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate_resource(bytes, alignment);
  }
  static void operator delete(void* block, std::size_t bytes, std::align_val_t alignment) {
    free_resource(block, bytes, alignment);
  }
#endif
};

}  // namespace engine

/// Makes an object on lines of its own. Inside and outside tasks.
template <class T, class... Args>
inline resource<T> make_resource(ResourceOptions options, Args&&... args) {
  using Block = engine::ResourceBlock<T>;
  auto block = std::make_unique<Block>(std::forward<Args>(args)...);
  block->header.value.bytes = sizeof(Block);
  block->header.value.destroy = [](engine::ResourceHeader* header) {
    std::unique_ptr<Block>(reinterpret_cast<Block*>(reinterpret_cast<char*>(header) - Block::kPadding))
        .reset();
  };
  return resource<T>(&block.release()->object, options);
}

/// Retires the object. Outside run() it is destroyed at once, inside at the latest when run() ends. The
/// native engine destroys an object earlier if a task removed it; one that another thread removes while a
/// hold is open waits for the end. Earlier means as soon as all tasks have ended that
///   - were running at the removal, or
///   - were pending then and are annotated with a resource, whichever, or
///   - are annotated with a resource and were created by one of these, or in turn by one that was.
/// A task that may run after the removal and still has the handle must be one of these. A handle does not
/// count in
///   - a task without a locale, or with a number for one,
///   - a task that on_commit() asked for,
///   - a task that another thread created and no worker has taken over yet.
///
/// Errors: an empty handle, and removing twice (TaskError), as long as the object is not freed; after that
/// the handle means nothing, as a pointer would.
template <class T>
inline void remove(resource<T> handle) {
  if (!handle) engine::misuse(errors::removed_nothing());
  auto* header = reinterpret_cast<engine::ResourceHeader*>(reinterpret_cast<char*>(handle.get()) -
                                                           sizeof(engine::ResourceHeader));
  if (!engine::mark_removed(*header)) engine::misuse(errors::removed_twice());
  engine::retire(header);
}

}  // namespace rubato::inline v0
