#ifndef XGRAD_IO_NPZ_HPP
#define XGRAD_IO_NPZ_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <xgrad/autograd/variable.hpp>
#include <xgrad/io/npy.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg {

/// A named array to save: `{"query", x}`, x a Variable or a Mask.
class XGRAD_API NpzItem {
 public:
  NpzItem(std::string name, const Variable<float>& x);
  NpzItem(std::string name, const Variable<double>& x);
  NpzItem(std::string name, const Mask& mask);

  const std::string& name() const noexcept { return name_; }
  const std::string& bytes() const noexcept { return *bytes_; }

 private:
  std::string name_;
  std::shared_ptr<const std::string> bytes_;  // a .npy file
};

/// Writes a NumPy .npz file, uncompressed: `save_npz(path, {{"query", x}, {"mask", m}})`.
///
/// float is saved as float32, double as float64, a Mask as bool, whatever the strides are. The same
/// arrays give the same bytes. The file appears whole or, on an error, not at all: an existing one
/// then stays as it was. Throws ArgumentError if there is no array or a name is empty, twice there,
/// not UTF-8, longer than 65531 bytes or holds a slash; GraphError or MaskError for an undefined
/// array; FileError if the file cannot be written.
XGRAD_API void save_npz(const std::string& path, const std::vector<NpzItem>& arrays);

template <class T>
void save_npz(const std::string& path, const std::map<std::string, Variable<T>>& arrays) {
  std::vector<NpzItem> items;
  for (const auto& [name, x] : arrays) items.emplace_back(name, x);
  save_npz(path, items);
}

/// Reads a NumPy .npz file (savez or savez_compressed), by name, with the dtypes that it holds.
///
/// Throws FileError if it is missing, not a zip archive, truncated, damaged, encrypted, compressed
/// by a method other than deflate, empty, or has a member that is not a .npy file, twice there or
/// in a folder.
XGRAD_API std::map<std::string, NpyArray> read_npz(const std::string& path);

/// The same for a file that holds float32 only (T = float) or float64 only (T = double). Throws
/// FileError, naming the array, for any other dtype.
template <class T>
XGRAD_API std::map<std::string, Variable<T>> load_npz(const std::string& path);

}  // namespace xg

#endif
