#ifndef XGRAD_IO_NPY_HPP
#define XGRAD_IO_NPY_HPP

#include <map>
#include <string>

#include <xgrad/autograd/variable.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg {

/// One array of a NumPy file, not yet converted.
struct XGRAD_API NpyArray {
  std::string name;   ///< the file's or member's name without ".npy"
  std::string dtype;  ///< NumPy's name of it: "float32", "bool", "int64", "big-endian float32", ...
  Shape shape;
  std::string bytes;  ///< the array as a .npy file, its header checked

  /// float32 becomes Variable<float>, float64 Variable<double>, in C or Fortran order. Throws
  /// FileError for any other dtype: nothing is converted silently.
  template <class T>
  Variable<T> to_variable() const;
  /// Throws FileError unless the dtype is bool.
  Mask to_mask() const;
};

/// Reads one .npy file. Throws FileError if it is missing, truncated or damaged.
XGRAD_API NpyArray read_npy(const std::string& path);

/// Reads every .npy file of a folder, by name. Throws FileError as read_npy does, and if there is
/// none.
XGRAD_API std::map<std::string, NpyArray> read_npy_folder(const std::string& path);

namespace detail {

/// Checks the contents of a .npy file; `where` is how errors name it. Throws FileError.
XGRAD_API NpyArray parse_npy(const char* op, const std::string& where, std::string name,
                             const std::string& file);
template <class T>
Variable<T> to_variable(const char* op, const NpyArray& array);

/// A .npy file with the values, in row-major order.
template <class T>
std::string npy_file(const char* op, const Variable<T>& x);
std::string npy_file(const char* op, const Mask& mask);

}  // namespace detail

}  // namespace xg

#endif
