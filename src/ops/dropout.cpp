#include <xgrad/ops/dropout.hpp>

#include <algorithm>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/ops/compare.hpp>

namespace xg {

template <class T>
Variable<T> dropout(Variable<T> x, double p, std::uint64_t seed) {
  if (!(p >= 0 && p < 1)) {
    detail::fail<ArgumentError>("dropout", "probability out of range", std::to_string(p),
                                "0 <= p < 1");
  }
  detail::Array<bool> kept{Extents(detail::extents("dropout", x))};
  detail::Random random(seed);
  std::generate_n(kept.data(), kept.size(), [&] { return random.next() >= p; });
  return where(detail::mask_from_array(std::move(kept)), std::move(x) * (1 / (1 - p)), 0);
}

template Variable<float> dropout(Variable<float>, double, std::uint64_t);
template Variable<double> dropout(Variable<double>, double, std::uint64_t);

}  // namespace xg
