#include <iomanip>
#include <iostream>
#include <limits>
#include <locale>
#include <sstream>

#include <doctest/doctest.h>

#include <xgrad/display.hpp>
#include <xgrad/xgrad.hpp>

using xg::Mask;
using xg::Variable;

namespace {

template <class X>
std::string text(const X& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

/// The values alone.
template <class T>
std::string values(const Variable<T>& x) {
  const std::string all = text(x);
  return all.substr(0, all.find(" Variable<"));
}

}  // namespace

TEST_CASE("a variable prints its values, shape, dtype and where it comes from") {
  Variable<double> x({{1, 2}, {3, 4}}, true);
  CHECK(text(x) == "[[1. 2.]\n [3. 4.]] Variable<double> shape (2, 2), requires grad");
  CHECK(text(matmul(x, x)) == "[[ 7. 10.]\n [15. 22.]] Variable<double> shape (2, 2), from matmul");
  x.set_name("a\nb");
  CHECK(text(x.detach()) == "[[1. 2.]\n [3. 4.]] Variable<double> shape (2, 2)");
  CHECK(text(x) == "[[1. 2.]\n [3. 4.]] Variable<double> shape (2, 2), requires grad, named 'a b'");
  CHECK(text(Variable<float>({0.1, 2})) == "[0.1 2. ] Variable<float> shape (2,)");
  CHECK(text(sum(x)) == "10.0 Variable<double> shape (), from sum");
  CHECK(text(Variable<double>()) == "Variable<double> (undefined)");
  CHECK(text(Mask{{true, false}}) == "[[ True False]] Mask shape (1, 2)");
  CHECK(text(Mask()) == "Mask (undefined)");
}

// Each expectation is NumPy 2.4's str() of the same array.
TEST_CASE("values print as NumPy prints them") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  using V = Variable<double>;
  CHECK(values(V({1, -2.5, 1.0 / 3})) == "[ 1.         -2.5         0.33333333]");
  CHECK(values(V({nan, inf, -inf, 1})) == "[ nan  inf -inf   1.]");
  CHECK(values(V({nan, 0.25})) == "[ nan 0.25]");
  CHECK(values(V({nan, nan})) == "[nan nan]");
  CHECK(values(V({-0.0, 0})) == "[-0.  0.]");
  CHECK(values(V({1e-5, 1})) == "[1.e-05 1.e+00]");
  CHECK(values(V({1e-100, -1.25})) == "[ 1.00e-100 -1.25e+000]");
  CHECK(values(V({1e8, 1})) == "[1.e+08 1.e+00]");
  CHECK(values(V({99999999, 1e6})) == "[99999999.  1000000.]");
  CHECK(values(V({1.0 / 3, 1e4 / 3})) == "[3.33333333e-01 3.33333333e+03]");
  CHECK(values(Variable<float>({0.1, 1.0 / 3})) == "[0.1        0.33333334]");
  CHECK(values(Variable<float>({1e6, 5e5})) == "[1.e+06 5.e+05]");
  CHECK(values(V({{{1, 2}}, {{3, 4}}})) == "[[[1. 2.]]\n\n [[3. 4.]]]");
  CHECK(values(xg::zeros<double>({2, 0})) == "[]");
  CHECK(values(V(0.1)) == "0.1");
  CHECK(values(xg::arange<double>(0, 25)) ==
        "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
        " 18. 19. 20. 21. 22. 23. 24.]");
}

TEST_CASE("long arrays are shortened, whatever their strides are") {
  CHECK(values(xg::arange<double>(0, 1001)) == "[   0.    1.    2. ...  998.  999. 1000.]");
  const Variable<double> x = reshape(xg::arange<double>(0, 1200), {30, 40});
  CHECK(values(x) ==
        "[[0.000e+00 1.000e+00 2.000e+00 ... 3.700e+01 3.800e+01 3.900e+01]\n"
        " [4.000e+01 4.100e+01 4.200e+01 ... 7.700e+01 7.800e+01 7.900e+01]\n"
        " [8.000e+01 8.100e+01 8.200e+01 ... 1.170e+02 1.180e+02 1.190e+02]\n"
        " ...\n"
        " [1.080e+03 1.081e+03 1.082e+03 ... 1.117e+03 1.118e+03 1.119e+03]\n"
        " [1.120e+03 1.121e+03 1.122e+03 ... 1.157e+03 1.158e+03 1.159e+03]\n"
        " [1.160e+03 1.161e+03 1.162e+03 ... 1.197e+03 1.198e+03 1.199e+03]]");
  CHECK(values(transpose(x)) == values(transpose(x).clone()));
}

TEST_CASE("neither locale nor stream flags matter, and the flags stay") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };
  std::ostringstream out;
  out.imbue(std::locale(std::locale(), new Comma));
  out << std::fixed << std::setprecision(2) << std::showpos << Variable<double>({0.125, 2});
  CHECK(out.str() == "[0.125 2.   ] Variable<double> shape (2,)");
  CHECK((out.flags() & std::ios::fixed) != 0);
  CHECK(out.precision() == 2);
}

TEST_CASE("show prints one line on std::cout") {
  std::ostringstream out;
  std::streambuf* before = std::cout.rdbuf(out.rdbuf());
  show(Variable<float>({1}));
  show(Mask{{true}});
  std::cout.rdbuf(before);
  CHECK(out.str() == "[1.] Variable<float> shape (1,)\n[[ True]] Mask shape (1, 1)\n");
}

TEST_CASE("the mime bundle has a text and a table") {
  Variable<double> x({{1, -2}, {0.5, 4}}, true);
  x.set_name("<b> & \"q\"");
  const nlohmann::json bundle = mime_bundle_repr(x);
  CHECK(bundle.size() == 2);
  CHECK(bundle["text/plain"] == text(x));
  const std::string html = bundle["text/html"];
  CHECK(html.find("&lt;b&gt; &amp; &quot;q&quot;") != std::string::npos);
  CHECK(html.find("<b> &") == std::string::npos);
  CHECK(html.find("rgba(40,120,230,0.5)\">4</td>") != std::string::npos);
  CHECK(html.find("rgba(230,110,20,0.25)\">-2</td>") != std::string::npos);
  CHECK(html.find("color:#") == std::string::npos);  // the page's own text colour
  x.set_name("\xFF\xE0\x80\x80");                    // no UTF-8: a lone byte, an overlong form
  CHECK_NOTHROW((void)mime_bundle_repr(x).dump());

  const std::string mask = mime_bundle_repr(Mask{{true, false}})["text/html"];
  CHECK(mask.find("fill-opacity=\".7\" d=\"M0 0h13v13h-13z\"/>") != std::string::npos);
  CHECK(mime_bundle_repr(Variable<float>())["text/plain"] == "Variable<float> (undefined)");
  CHECK_NOTHROW((void)mime_bundle_repr(xg::zeros<float>({2, 0, 3})));
}

TEST_CASE("tables of big arrays stay small") {
  const auto size = [](const xg::Dims& shape) {
    return picture(xg::randn<double>(shape, 1)).html.size();
  };
  CHECK(size({1000, 1000}) < 30000);
  CHECK(size({300, 4, 4}) < 50000);
  CHECK(size({1000000}) < 5000);
}
