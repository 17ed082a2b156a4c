// The filters of a home's banks (LlcBanks): each counts the lines of its own bank.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/coherence/filter/line_filter.hpp"

namespace rubato::chip {

class BankedFilter final : public LineFilter {
 public:
  /// `banks`: as many filters as banks, a power of two. Lines are frames.
  explicit BankedFilter(std::vector<std::unique_ptr<LineFilter>> banks) : banks_(std::move(banks)) {
    RUBATO_CHECK(std::has_single_bit(banks_.size()));
  }

  void insert(LineAddr frame) override {
    const Use use(*this, frame);
    use.bank.insert(frame);
  }
  void erase(LineAddr frame) override {
    const Use use(*this, frame);
    use.bank.erase(frame);
  }
  bool may_hold(LineAddr frame) override {
    const Use use(*this, frame);
    return use.bank.may_hold(frame);
  }
  bool is_saturated(LineAddr frame) const override { return bank_of(frame).is_saturated(frame); }
  std::uint64_t key(LineAddr frame) const override {
    return bank_of(frame).key(frame) * banks_.size() + bank_index(frame);
  }

 private:
  /// Adds the rows of an access of a bank to those of all.
  struct Use {
    Use(BankedFilter& all, LineAddr frame) : bank(all.bank_of(frame)), sum(all.rows_), before(bank.rows()) {}
    ~Use() {
      sum.read += bank.rows().read - before.read;
      sum.written += bank.rows().written - before.written;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    LineFilter& bank;
    Rows& sum;
    Rows before;
  };
  std::size_t bank_index(LineAddr frame) const { return frame.value & (banks_.size() - 1); }
  LineFilter& bank_of(LineAddr frame) const { return *banks_[bank_index(frame)]; }

  std::vector<std::unique_ptr<LineFilter>> banks_;
};

}  // namespace rubato::chip
