#include <xgrad/autograd/error.hpp>

namespace xg {

const char* version() noexcept { return XGRAD_VERSION; }

// Out of line, so that each class has one typeinfo, in the library, and a program or a notebook
// cell catches what the library threw.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
MaskError::~MaskError() = default;
GraphError::~GraphError() = default;
GradcheckError::~GradcheckError() = default;
ArgumentError::~ArgumentError() = default;
AllocationError::~AllocationError() = default;
FileError::~FileError() = default;

}  // namespace xg
