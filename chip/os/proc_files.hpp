// Folders that exist in the guest only, as /proc/self/fd: a list of names.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chip/os/open_file.hpp"

namespace rubato::chip {

class ListedFolder : public OpenFile {
 public:
  using List = std::function<std::vector<ListedFile>()>;
  /// @param list gives the names, when they are read from the begin on
  ListedFolder(List list, std::uint32_t open_flags, std::string file_path)
      : OpenFile(open_flags, std::move(file_path)), list_(std::move(list)) {
    is_directory = true;
  }
  std::int64_t read(std::span<std::byte>) override { return -EISDIR; }
  std::int64_t seek(std::int64_t offset, int whence) override;
  std::int64_t stat(abi::Stat& result) override;
  std::uint32_t poll(std::uint32_t events) override { return events & (PollBits::kIn | PollBits::kOut); }
  std::int64_t next_entry(const ListedFile*& entry) override {
    if (position_ == 0) entries_ = list_();
    entry = position_ < entries_.size() ? &entries_[position_] : nullptr;
    return 0;
  }
  void advance() override { ++position_; }
  std::int64_t position() const override { return static_cast<std::int64_t>(position_); }

 private:
  List list_;
  std::vector<ListedFile> entries_;
  std::size_t position_ = 0;
};

/// The name of a thread, as /proc has it: a write gives it another.
class NameFile final : public TextFile {
 public:
  using SetName = std::function<void(const std::string&)>;
  NameFile(const std::string& name, SetName set_name, std::uint32_t open_flags, std::string file_path)
      : TextFile(name + "\n", open_flags, std::move(file_path)), set_name_(std::move(set_name)) {}
  std::int64_t write(std::span<const std::byte> from) override;

 private:
  SetName set_name_;
};

}  // namespace rubato::chip
