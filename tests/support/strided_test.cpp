#include "strided.hpp"

#include "allclose.hpp"

using test::Layout;
using xg::Variable;

TEST_CASE_TEMPLATE("a strided variable is a leaf with the values of its original", T, float,
                   double) {
  for (const xg::Shape& shape : {xg::Shape{2, 3, 4}, {3, 2}, {5}, {1, 1}, {}, {0, 3}, {3, 1}}) {
    const Variable<T> x = xg::randn<T>(shape, 3);
    for (Layout layout : test::kLayouts) {
      CAPTURE(test::text(shape));
      CAPTURE(test::name(layout));
      Variable<T> y = test::laid_out(x, layout);
      CHECK(y.is_leaf());
      CHECK_FALSE(y.requires_grad());
      if (layout != Layout::broadcast) CHECK_CLOSE(y, x, test::exactly);
      CHECK(y.shape() == shape);
      const auto strides = y.strides();
      y.set_requires_grad();
      CHECK(y.strides() == strides);
      CHECK(y.is_leaf());
    }
  }
}

TEST_CASE("each layout has the strides it is named for") {
  using Strides = std::vector<std::ptrdiff_t>;
  const Variable<double> x = xg::randn<double>({2, 3}, 4);
  CHECK(test::laid_out(x, Layout::contiguous).strides() == Strides{3, 1});
  CHECK(test::laid_out(x, Layout::transposed).strides() == Strides{1, 2});
  CHECK(test::laid_out(x, Layout::stepped).strides() == Strides{12, 2});
  CHECK(test::laid_out(x, Layout::reversed).strides() == Strides{-3, -1});
  CHECK(test::laid_out(x, Layout::broadcast).strides() == Strides{0, 1});
  CHECK(test::laid_out(x, Layout::offset).strides() == Strides{5, 1});
  for (Layout layout : test::kLayouts) CHECK(test::lies(test::laid_out(x, layout), layout));
}

TEST_CASE("a layout that a shape cannot have is not claimed") {
  const Variable<double> scalar(2);
  const Variable<double> one({{2}});
  const Variable<double> line({1, 2});
  CHECK_FALSE(test::lies(test::laid_out(line, Layout::transposed), Layout::transposed));
  for (Layout layout : {Layout::transposed, Layout::stepped, Layout::reversed, Layout::broadcast}) {
    CHECK_FALSE(test::lies(test::laid_out(scalar, layout), layout));
    CHECK_FALSE(test::lies(test::laid_out(one, layout), layout));
  }
}
