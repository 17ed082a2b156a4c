// SPDX-License-Identifier: MIT
#include "chip/memory/checkpoint_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

constexpr std::string_view kKind = "rubato-chip checkpoint 4\n";
constexpr std::size_t kPiece = std::size_t{1} << 24;  // zlib counts in 32 bits
constexpr std::uint64_t kLongestText = std::uint64_t{1} << 32;

gzFile handle_of(void* handle) { return static_cast<gzFile>(handle); }

}  // namespace

CheckpointWriter::CheckpointWriter(std::filesystem::path path)
    : path_(std::move(path)),
      temporary_(path_.string() + ".tmp"),
      handle_(gzopen(temporary_.c_str(), "wb1")) {
  if (handle_ == nullptr) throw UsageError("{}: cannot write the checkpoint", path_.string());
  bytes(std::as_bytes(std::span(kKind)));
}

CheckpointWriter::~CheckpointWriter() {
  if (handle_ == nullptr) return;
  gzclose(handle_of(handle_));
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void CheckpointWriter::bytes(std::span<const std::byte> data) {
  while (!data.empty()) {
    const std::size_t piece = std::min(data.size(), kPiece);
    if (gzwrite(handle_of(handle_), data.data(), static_cast<unsigned>(piece)) <= 0)
      throw UsageError("{}: the disk does not take the checkpoint", path_.string());
    data = data.subspan(piece);
  }
}

void CheckpointWriter::text(std::string_view value) {
  number(value.size());
  bytes(std::as_bytes(std::span(value)));
}

std::uint64_t CheckpointWriter::close() {
  const bool is_whole = gzclose(handle_of(std::exchange(handle_, nullptr))) == Z_OK;
  std::error_code error;
  if (is_whole) std::filesystem::rename(temporary_, path_, error);
  if (!is_whole || error) {
    std::filesystem::remove(temporary_, error);
    throw UsageError("{}: the disk did not take all of the checkpoint", path_.string());
  }
  return std::filesystem::file_size(path_);
}

CheckpointReader::CheckpointReader(std::filesystem::path path)
    : path_(std::move(path)), handle_(gzopen(path_.c_str(), "rb")) {
  if (handle_ == nullptr) throw UsageError("{}: cannot read the checkpoint", path_.string());
  std::string kind(kKind.size(), '\0');
  const int count = gzread(handle_of(handle_), kind.data(), static_cast<unsigned>(kind.size()));
  if (count == static_cast<int>(kind.size()) && kind == kKind) return;
  gzclose(handle_of(handle_));
  throw UsageError("{}: not a checkpoint of this version of rubato-chip", path_.string());
}

CheckpointReader::~CheckpointReader() { gzclose(handle_of(handle_)); }

void CheckpointReader::bytes(std::span<std::byte> data) {
  while (!data.empty()) {
    const std::size_t piece = std::min(data.size(), kPiece);
    if (gzread(handle_of(handle_), data.data(), static_cast<unsigned>(piece)) != static_cast<int>(piece))
      throw UsageError("{}: the checkpoint is damaged or cut off", path_.string());
    data = data.subspan(piece);
  }
}

std::string CheckpointReader::text() {
  const std::uint64_t size = number();
  if (size > kLongestText) refuse_damaged();
  std::string value(size, '\0');
  bytes(std::as_writable_bytes(std::span(value)));
  return value;
}

void CheckpointReader::refuse_damaged() const {
  throw UsageError("{}: the checkpoint is damaged", path_.string());
}

}  // namespace rubato::chip
