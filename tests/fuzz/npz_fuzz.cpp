#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.hpp"

// The input is a file: an archive if it starts as one, else a single array.

namespace {

/// A file that lives in memory only.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("fuzz", 0)) {
    fuzz::require(descriptor_ >= 0, "no memfd");
    fuzz::require(write(descriptor_, data, size) == static_cast<ssize_t>(size), "short write");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::size_t product(const xg::Shape& shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  return size;
}

void read_all(const xg::NpyArray& array) {
  const auto check = [&](const auto& x) {
    fuzz::require(x.shape() == array.shape, "another shape");
    fuzz::require(x.to_vector().size() == product(array.shape), "another number of values");
  };
  fuzz::attempt([&] { check(array.to_variable<float>()); });
  fuzz::attempt([&] { check(array.to_variable<double>()); });
  fuzz::attempt([&] { check(array.to_mask()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  fuzz::attempt([&] {
    if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
      for (const auto& named : xg::read_npz(file.path())) read_all(named.second);
    } else {
      read_all(xg::read_npy(file.path()));
    }
  });
  return 0;
}
