// For tests of what destructors of tasks and captures do.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <utility>

namespace rubato::inline v0 {

/// Acts when the last owner is destroyed.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> act) : act_(std::move(act)) {}
  AtEnd(AtEnd&& other) noexcept : act_(std::exchange(other.act_, nullptr)) {}
  AtEnd& operator=(AtEnd&&) = delete;
  ~AtEnd() {
    if (act_) act_();
  }

 private:
  std::function<void()> act_;
};

}  // namespace rubato::inline v0
