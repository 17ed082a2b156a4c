// Streams, the file system library, stdio: everything in a folder of its own, removed at the end.
// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

int main() {
  const fs::path folder = "guest_files_test_folder";
  fs::remove_all(folder);
  fs::create_directories(folder / "a" / "b");
  {
    std::ofstream out(folder / "a" / "text");
    for (int i = 0; i < 1000; ++i) out << i << ' ' << i * 0.5 << '\n';
  }
  std::ifstream in(folder / "a" / "text");
  double sum = 0, value = 0;
  int index = 0, lines = 0;
  while (in >> index >> value) sum += value + index, ++lines;
  std::cout << lines << ' ' << sum << '\n';
  std::cout << fs::file_size(folder / "a" / "text") << '\n';
  fs::rename(folder / "a" / "text", folder / "a" / "renamed");
  fs::create_symlink("renamed", folder / "a" / "link");
  std::cout << fs::read_symlink(folder / "a" / "link") << ' ' << fs::exists(folder / "a" / "text") << '\n';
  fs::copy_file(folder / "a" / "renamed", folder / "a" / "b" / "copy");
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) std::cout << name << '\n';
  std::cout.flush();

  FILE* file = std::fopen("guest_files_test_folder/stdio", "w+");
  std::fprintf(file, "%08.3f|%-6s|%x|%c\n", 3.14159, "ab", 255, 'z');
  std::fseek(file, 0, SEEK_SET);
  char line[100];
  if (std::fgets(line, sizeof line, file) != nullptr) std::printf("%s", line);
  std::fclose(file);
  struct stat info;
  std::printf("%d %ld\n", stat("guest_files_test_folder/stdio", &info), static_cast<long>(info.st_size));
  std::printf("%d\n", open("guest_files_test_folder/missing", O_RDONLY) < 0 ? errno : 0);
  std::printf("%d\n", mkdir("guest_files_test_folder/a", 0755) < 0 ? errno : 0);
  std::printf("%d\n", rmdir("guest_files_test_folder/a") < 0 ? errno : 0);
  const int fd = open("guest_files_test_folder/stdio", O_RDWR);
  std::printf("%d %ld\n", ftruncate(fd, 5), static_cast<long>(lseek(fd, 0, SEEK_END)));
  std::printf("%ld %ld\n", static_cast<long>(pwrite(fd, "xyz", 3, 1)),
              static_cast<long>(pread(fd, line, 5, 0)));
  std::printf("%.5s\n", line);
  close(fd);
  std::printf("%d\n", dup(fd) < 0 ? errno : 0);
  std::cout << fs::remove_all(folder) << '\n';
  return 0;
}
