#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include <xgrad/report/attention.hpp>
#include <xgrad/report/charts.hpp>
#include <xgrad/report/html.hpp>
#include <xgrad/xgrad.hpp>

namespace report = xg::report;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string page_of(const xg::RoutingResult& result) {
  report::Page page;
  page.title = "Test";
  page.sections = {report::routing_weights(result), report::routing_features(result),
                   report::routing_checks(result)};
  return page.html();
}

}  // namespace

TEST_CASE("text is escaped") {
  CHECK(report::escape("<b> & \"q\" 'a'") == "&lt;b&gt; &amp; &quot;q&quot; &#39;a&#39;");
  report::Page page;
  page.title = "a < b";
  page.tiles = {{"<label>", "<value>", "<note>"}};
  const std::string html = page.html();
  CHECK(has(html, "<h1>a &lt; b</h1>"));
  CHECK(has(html, "&lt;label&gt;"));
  CHECK_FALSE(has(html, "<label>"));
}

TEST_CASE("numbers are written short") {
  CHECK(report::fixed(0.8438, 2) == "0.84");
  CHECK(report::fixed(-0.001, 2) == "0.00");
  CHECK(report::fixed(-0.5, 1) == "-0.5");
  CHECK(report::scientific(4.44e-16) == "4.4e-16");
  CHECK(report::scientific(0) == "0");
}

TEST_CASE("a heat map has a cell for each weight, and a dot for 0") {
  const std::string map = report::heat_map({{"q"}, {"a", "b", "c"}, {0.25, 0.75, 0}});
  CHECK(has(map, "q \u2192 a: 0.2500"));
  CHECK(has(map, ">0.750</text>"));
  CHECK(has(map, "<circle"));
  CHECK_FALSE(has(map, "q \u2192 c"));
}

TEST_CASE("bars stand at their values and marks at their targets") {
  const std::string right = report::bars({{"x"}, {2}, {2}, {report::Color::head0}});
  const std::string wrong = report::bars({{"x"}, {1}, {2}, {report::Color::head0}});
  CHECK(has(right, "x: 2.000000, target 2.000000"));
  CHECK(has(wrong, "x: 1.000000, target 2.000000"));
  CHECK(right != wrong);
}

TEST_CASE("a bar's number stands beyond a mark that would strike it through") {
  const auto height = [](double got, double want, const std::string& number) {
    const std::string svg = report::bars({{"x"}, {got}, {want}, {report::Color::head0}});
    const std::size_t end = svg.find(">" + number + "</text>");
    return std::stod(svg.substr(svg.rfind(" y=\"", end) + 4));
  };
  CHECK(height(1.9, 2, "1.90") == height(2, 2, "2.00"));
  CHECK(height(-1.9, -2, "-1.90") == height(-2, -2, "-2.00"));
  CHECK(height(1, 2, "1.00") > height(2, 2, "2.00"));
}

TEST_CASE("the page of a right function shows every number of both heads") {
  const std::string html = page_of(xg::run_routing(xg::multi_head_attention<double>));
  for (const char* weight :
       {"0.844", "0.114", "0.042", "0.035", "0.705", "0.259", "0.107", "0.787"}) {
    CAPTURE(weight);
    CHECK(has(html, std::string(">") + weight + "</text>"));
  }
  CHECK(has(html, "submitted function"));
  CHECK(has(html, "reference preview"));
  CHECK_FALSE(has(html, "failed</span>"));
  CHECK_FALSE(has(html, "Right is: "));
}

TEST_CASE("the page of a function that throws or gives nothing says so") {
  const auto throws = [](const auto&...) -> xg::Attention<double> {
    throw std::invalid_argument("<not written>");
  };
  const std::string thrown = page_of(xg::run_routing(throws));
  CHECK(has(thrown, "threw: &lt;not written&gt;"));
  CHECK(has(thrown, "There are no weights of shape [1,2,2,3]"));
  CHECK(has(thrown, "failed</span>"));
  const auto empty = [](const auto&...) { return xg::Attention<double>{}; };
  CHECK(has(page_of(xg::run_routing(empty)), "an undefined Variable"));
}

TEST_CASE("NaN reaches the page as text, not as a coordinate") {
  const auto nan = [](const auto& q, const auto& k, const auto& v, const auto& wq, const auto& wk,
                      const auto& wv, const auto& wo, std::int64_t heads, const xg::Mask& mask) {
    auto [output, weights] = xg::multi_head_attention(q, k, v, wq, wk, wv, wo, heads, mask);
    constexpr double none = -std::numeric_limits<double>::quiet_NaN();
    return xg::Attention<double>{output * none, weights * none};
  };
  const std::string html = page_of(xg::run_routing(nan));
  CHECK(has(html, ">nan</text>"));
  CHECK(has(html, "Right is: Query 0 takes key 0"));
  CHECK_FALSE(has(html, "\"nan\""));
  CHECK_FALSE(has(html, " nan "));
  CHECK_FALSE(has(html, "-nan"));
}
