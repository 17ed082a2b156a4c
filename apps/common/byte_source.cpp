// Plain files through stdio; gzip (RFC 1952) around Boost.Beast's header-only inflate, which also compiles
// for RISC-V. Concatenated members are one stream; lengths and CRC-32 of each member are checked.
// SPDX-License-Identifier: MIT
#include "apps/common/byte_source.hpp"

#include <sys/stat.h>

#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "apps/common/input_error.hpp"

namespace rubato::apps {
namespace {

class PlainFile final : public ByteSource {
 public:
  explicit PlainFile(std::FILE* file) : file_(file) {}
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
  ~PlainFile() override { std::fclose(file_); }
  std::size_t read(char* to, std::size_t size) override {
    const std::size_t got = std::fread(to, 1, size, file_);
    if (got < size && std::ferror(file_) != 0)
      throw DamagedFile(std::string("reading failed: ") + std::strerror(errno));
    return got;
  }

 private:
  std::FILE* file_;
};

class GzipFile final : public ByteSource {
 public:
  explicit GzipFile(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), input_(64 * 1024) {}

  std::size_t read(char* to, std::size_t size) override {
    while (true) {
      if (!in_member_ && !begin_member()) return 0;
      const std::size_t got = inflate(to, size);
      if (got != 0 || size == 0) return got;
    }
  }

 private:
  /// Makes at least one packed byte available, or says that there is none.
  bool refill() {
    if (next_ != end_) return true;
    next_ = 0;
    end_ = packed_->read(input_.data(), input_.size());
    return end_ != 0;
  }
  unsigned byte() {
    if (!refill()) throw DamagedFile("the gzip file is truncated");
    return static_cast<unsigned char>(input_[next_++]);
  }
  std::uint32_t word(unsigned bytes) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= byte() << (8 * i);
    return value;
  }

  /// The header of the next member; false at the end of the file.
  bool begin_member() {
    if (!refill()) return false;
    if (byte() != 0x1f || byte() != 0x8b) throw DamagedFile("bytes that are not gzip follow the gzip data");
    if (byte() != 8) throw DamagedFile("the gzip file uses an unknown compression method");
    const unsigned flags = byte();
    if ((flags & 0xe0) != 0) throw DamagedFile("the gzip header has reserved flags set");
    for (int i = 0; i < 6; ++i) byte();  // time, extra flags, system
    if ((flags & 4) != 0) {
      for (std::uint32_t extra = word(2); extra > 0; --extra) byte();
    }
    if ((flags & 8) != 0) skip_string();   // name
    if ((flags & 16) != 0) skip_string();  // comment
    if ((flags & 2) != 0) word(2);         // header CRC
    stream_.reset();
    crc_.reset();
    length_ = 0;
    in_member_ = true;
    return true;
  }
  void skip_string() {
    while (byte() != 0) {
    }
  }

  /// 0 only at the end of the member, whose trailer is checked then.
  std::size_t inflate(char* to, std::size_t size) {
    boost::beast::zlib::z_params params;
    params.next_out = to;
    params.avail_out = size;
    boost::beast::error_code error;
    while (params.avail_out == size && error != boost::beast::zlib::error::end_of_stream) {
      if (!refill()) throw DamagedFile("the gzip file is truncated");
      params.next_in = input_.data() + next_;
      params.avail_in = end_ - next_;
      stream_.write(params, boost::beast::zlib::Flush::sync, error);
      next_ = end_ - params.avail_in;
      if (error && error != boost::beast::zlib::error::end_of_stream &&
          error != boost::beast::zlib::error::need_buffers) {
        throw DamagedFile("the gzip data is corrupt: " + error.message());
      }
    }
    const std::size_t got = size - params.avail_out;
    crc_.process_bytes(to, got);
    length_ += static_cast<std::uint32_t>(got);
    if (error == boost::beast::zlib::error::end_of_stream) {
      in_member_ = false;
      if (word(4) != crc_.checksum()) throw DamagedFile("the gzip data is corrupt: its checksum differs");
      if (word(4) != length_) throw DamagedFile("the gzip data is corrupt: its length differs");
    }
    return got;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> input_;
  std::size_t next_ = 0, end_ = 0;  // input_[next_, end_) is not used yet
  bool in_member_ = false;
  boost::beast::zlib::inflate_stream stream_;
  boost::crc_32_type crc_;
  std::uint32_t length_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw InputError("cannot open " + path + ": " + std::strerror(errno));
  auto plain = std::make_unique<PlainFile>(file);
  struct stat status {};
  if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw InputError("cannot read " + path + ": it is a directory");
  }
  unsigned char magic[2] = {0, 0};
  const std::size_t got = std::fread(magic, 1, 2, file);
  if (std::fseek(file, 0, SEEK_SET) != 0)
    throw InputError("cannot read " + path + ": it is not a regular file");
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) return std::make_unique<GzipFile>(std::move(plain));
  return plain;
}

}  // namespace rubato::apps
