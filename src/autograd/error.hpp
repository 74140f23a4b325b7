#ifndef XGRAD_AUTOGRAD_ERROR_HPP
#define XGRAD_AUTOGRAD_ERROR_HPP

#include <stdexcept>
#include <string>

#include <xgrad/autograd/config.hpp>

namespace xg {

/// Every error of the library. Its text reads `[op] what is wrong: got ..., expected ...`.
class XGRAD_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

/// A shape, an axis or an index that does not fit.
class XGRAD_API ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

/// A mask that is undefined or does not broadcast.
class XGRAD_API MaskError : public Error {
 public:
  using Error::Error;
  ~MaskError() override;
};

/// Misuse of the graph: an undefined handle, a used graph, a write to a result.
class XGRAD_API GraphError : public Error {
 public:
  using Error::Error;
  ~GraphError() override;
};

/// A gradient check that could not be run.
class XGRAD_API GradcheckError : public Error {
 public:
  using Error::Error;
  ~GradcheckError() override;
};

/// An argument out of its range, such as a head count of zero.
class XGRAD_API ArgumentError : public Error {
 public:
  using Error::Error;
  ~ArgumentError() override;
};

/// Memory that could not be had, or a size that does not fit the address space.
class XGRAD_API AllocationError : public Error {
 public:
  using Error::Error;
  ~AllocationError() override;
};

/// A file that is missing, damaged or of the wrong kind.
class XGRAD_API FileError : public Error {
 public:
  using Error::Error;
  ~FileError() override;
};

}  // namespace xg

#endif
