// Pages that are built: templates of text with places for the user's data. Users' records are shared: any
// thread serves any user.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "workloads/common/latch.hpp"
#include "workloads/web/response.hpp"

namespace rubato::workloads::web {

class Pages {
 public:
  Pages(unsigned templates, unsigned users, std::uint64_t seed);

  /// Builds a page for a user into the response. @returns the sum of its words
  std::uint64_t build(unsigned page, unsigned user, Response& response);
  /// How often pages were built, by the users' records.
  [[nodiscard]] std::uint64_t visits() const;

 private:
  enum class Place : std::uint8_t { name, visits, advertisement, last_page };
  struct Part {
    std::vector<std::uint64_t> text;
    std::uint64_t check = 0;  ///< the sum of the text's words
    Place then = Place::name;
  };
  struct alignas(64) User {
    DataLatch latch;  // of the next four
    std::uint32_t last_page = 0;
    std::uint64_t visits = 0, interests = 0;
    std::array<std::uint64_t, 8> pages{};  ///< of the last visits
    std::array<std::uint64_t, 3> name{};
  };
  struct alignas(64) Advertisement {
    std::array<std::uint64_t, 24> text{};
    std::uint64_t check = 0;
  };

  std::vector<std::vector<Part>> templates_;
  std::vector<User> users_;
  std::vector<Advertisement> advertisements_;
};

}  // namespace rubato::workloads::web
