#include <xgrad/ops/compare.hpp>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
Mask compare(const char* op, const Variable<T>& a, const Variable<T>& b, CompareKernel<T> kernel) {
  const Array<T>& x = array(op, a);
  const Array<T>& y = array(op, b);
  Array<bool> out(broadcast_shape(op, x.shape(), y.shape()));
  map(out, kernel, x, y);
  return mask_from_array(std::move(out));
}

template <class T>
class Where final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Where(Mask mask) : mask_(std::move(mask)) {}
  const char* name() const noexcept override { return "where"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<bool>& mask = array(name(), mask_);
    const Extents branches = broadcast_shape(name(), in[0].shape(), in[1].shape());
    Array<T> out(broadcast_shape(name(), branches, mask.shape()));
    const auto row = [](T* y, std::int64_t n, Operand<T> a, Operand<T> b, Operand<bool> m) {
      kernels<T>().where(m, a, b, y, n);
    };
    map_rows(out, Constants::taken, row, in[0], in[1], mask);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> zero(0);
    if (p.needs(0)) p.give(0, sum_to(where(mask_, p.grad(), zero), p.shape(0)));
    if (p.needs(1)) p.give(1, sum_to(where(mask_, zero, p.take_grad()), p.shape(1)));
  }

 private:
  Mask mask_;
};

}  // namespace
}  // namespace detail

template <class T>
Mask less(const Variable<T>& a, const Variable<T>& b) {
  return detail::compare("less", a, b, detail::kernels<T>().less);
}
template <class T>
Mask less_equal(const Variable<T>& a, const Variable<T>& b) {
  return detail::compare("less_equal", a, b, detail::kernels<T>().less_equal);
}
template <class T>
Mask equal(const Variable<T>& a, const Variable<T>& b) {
  return detail::compare("equal", a, b, detail::kernels<T>().equal);
}
template <class T>
Mask not_equal(const Variable<T>& a, const Variable<T>& b) {
  return detail::compare("not_equal", a, b, detail::kernels<T>().not_equal);
}
template <class T>
Variable<T> where(const Mask& mask, Variable<T> a, Variable<T> b) {
  (void)detail::array("where", mask);
  return detail::record(detail::make<detail::Where<T>>(mask), std::move(a), std::move(b));
}

#define XGRAD_INSTANTIATE(T)                                        \
  template Mask less(const Variable<T>&, const Variable<T>&);       \
  template Mask less_equal(const Variable<T>&, const Variable<T>&); \
  template Mask equal(const Variable<T>&, const Variable<T>&);      \
  template Mask not_equal(const Variable<T>&, const Variable<T>&);  \
  template Variable<T> where(const Mask&, Variable<T>, Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
