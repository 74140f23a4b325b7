#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/display.hpp>
#include <xgrad/display/hook.hpp>
#include <xgrad/xgrad.hpp>

using xg::Mask;
using xg::Picture;
using xg::Variable;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const std::string kHostile = "<b> & \"q\" 'a' \\N \xC3\xA4\xE2\x82\xAC \xFF\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// Empty if each tag of the XML (or such HTML) is closed, each attribute quoted and each & an
/// entity; else what is wrong.
std::string xml_fault(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    if (xml[i] == '&') {
      const std::size_t end = xml.find(';', i);
      if (end == std::string::npos || end - i > 8) return "a lone &";
    }
    if (xml[i] == '>') return "a lone >";
    if (xml[i] != '<') continue;
    if (xml.compare(i, 4, "<!--") == 0) {
      i = xml.find("-->", i) + 2;
      continue;
    }
    std::size_t end = i + 1;
    bool quoted = false;
    for (; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      if (xml[end] == '<') return "a < in a tag";
    }
    if (end == xml.size()) return "an open tag";
    const std::string tag = xml.substr(i + 1, end - i - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "a wrong " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    i = end;
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

/// Every form is what it says; a number that is not finite is never a coordinate.
void check_forms(const Picture& picture) {
  CHECK_FALSE(picture.text.empty());
  CHECK(xml_fault(picture.html) == "");
  CHECK(xml_fault(picture.svg) == "");
  for (const char* word : {"nan\"", "inf\"", "\"nan", "\"inf", "\"-inf"}) {
    CAPTURE(word);
    CHECK_FALSE(has(picture.svg, word));
  }
  CHECK_FALSE(has(picture.vega_lite, "<"));
  if (picture.vega_lite.empty()) return;
  const nlohmann::json chart = nlohmann::json::parse(picture.vega_lite);
  CHECK(chart["$schema"] == "https://vega.github.io/schema/vega-lite/v5.json");
  CHECK_NOTHROW((void)mime_bundle_repr(picture).dump());
}

/// std::cout while it lives.
class Output {
 public:
  Output() : before_(std::cout.rdbuf(out_.rdbuf())) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { std::cout.rdbuf(before_); }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  std::streambuf* before_;
};

Picture hooked;
struct Hook {
  explicit Hook(void (*f)(const Picture&)) { xgrad_set_display(f); }
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  ~Hook() { xgrad_set_display(nullptr); }
};

const Variable<double> kWeights({{{0.75, 0.25, 0}, {0.5, 0, 0.5}}, {{0, 1, 0}, {0.2, 0.3, 0.5}}});

}  // namespace

namespace mine {
struct Thing {};
Picture picture(const Thing&) { return {"a thing", "<i>a thing</i>", "", ""}; }
}  // namespace mine

TEST_CASE("without a kernel show prints the text form of everything") {
  Variable<double> x({1, 2}, true);
  const Output out;
  xg::show(x);
  sum(x * x).backward();
  xg::show(x);
  xg::show(xg::graph(sum(x)));
  xg::show(xg::plot({1.0, 2.0}));
  xg::show(mine::Thing());
  CHECK(out.text() ==
        "[1. 2.] Variable<double> shape (2,), requires grad\n"
        "[1. 2.] Variable<double> shape (2,), requires grad\ngradient\n[2. 4.]\n"
        "sum () <- leaf (2,), |grad| 4.472\n(Variable<double>: 1 operation, 1 leaf)\n"
        "plot, 2 steps\n\u2581\u2588  1 \u2192 2\n"
        "a thing\n");
}

TEST_CASE("what is printed before a picture comes before it") {
  static std::string events;
  // As a kernel's: what is printed appears when it is flushed.
  struct Buffer : std::stringbuf {
    int sync() override {
      events += str();
      str("");
      return 0;
    }
  } buffer;
  std::streambuf* const before = std::cout.rdbuf(&buffer);
  {
    const Hook hook([](const Picture&) { events += "[picture]"; });
    std::cout << "text";
    xg::show(mine::Thing());
  }
  std::cout.rdbuf(before);
  CHECK(events == "text[picture]");
}

TEST_CASE("a kernel's display gets the picture, and its exception comes through") {
  const Output out;
  {
    const Hook hook([](const Picture& picture) { hooked = picture; });
    xg::show(Mask{{true, false}});
    CHECK(has(hooked.html, "<svg"));
    xg::show(mine::Thing());
    CHECK(hooked.html == "<i>a thing</i>");
  }
  {
    const Hook hook([](const Picture&) { throw std::runtime_error("no display"); });
    CHECK_THROWS_WITH(xg::show(mine::Thing()), "no display");
  }
  CHECK(out.text().empty());
  xg::show(mine::Thing());
  CHECK(out.text() == "a thing\n");
}

TEST_CASE("a bundle has exactly the forms that a picture has") {
  const auto types = [](const nlohmann::json& bundle) {
    std::string out;
    for (const auto& item : bundle.items()) out += item.key() + " ";
    return out;
  };
  const Variable<float> x({{0.5F, 0.5F}, {1, 0}});
  CHECK(types(mime_bundle_repr(x)) == "text/html text/plain ");
  CHECK(types(mime_bundle_repr(xg::graph(x))) == "image/svg+xml text/plain ");
  const nlohmann::json heads = mime_bundle_repr(xg::Attention<float>{x, x});
  CHECK(types(heads) == "application/vnd.vegalite.v5+json image/svg+xml text/plain ");
  CHECK(heads["application/vnd.vegalite.v5+json"]["data"]["values"].size() == 4);
  CHECK(types(mime_bundle_repr(xg::plot({1.0, 2.0}))) == types(heads));
}

TEST_CASE("the gradient stands beside the values") {
  Variable<double> x({{1, -2}, {3, 4}}, true);
  CHECK_FALSE(has(picture(x).html, "gradient"));
  sum(x * x).backward();
  const Picture both = picture(x);
  check_forms(both);
  CHECK(count(both.html, "<table") == 2);
  CHECK(both.html.find(">4</td>") < both.html.find("<div>gradient"));
  CHECK(both.html.find("<div>gradient") < both.html.find(">8</td>"));
  Variable<double> y = x * x;
  y.retain_grad();
  sum(y).backward();
  CHECK(has(picture(y).text, ", from mul\ngradient\n[[1. 1.]\n [1. 1.]]"));
}

TEST_CASE("hostile values are pictures too") {
  for (const Variable<double>& x :
       {Variable<double>(), Variable<double>(kNaN), Variable<double>(1e308), xg::zeros<double>({0}),
        xg::zeros<double>({3, 0, 2}), Variable<double>({{kNaN, kInf}, {-kInf, -0.0}}),
        Variable<double>({1e308, -1e308}), xg::ones<double>({1, 2, 1, 2, 1, 2}),
        transpose(xg::randn<double>({50, 2, 30}, 1)),
        broadcast_to(Variable<double>(1.0), {1 << 20, 1 << 20})}) {
    check_forms(picture(x));
    CHECK(picture(x).html.size() < 60000);
  }
  CHECK(has(picture(Variable<double>({kNaN, -kInf})).html, ">-inf</td>"));
  check_forms(picture(xg::randn<float>({1000, 1000}, 1)));
  check_forms(picture(xg::randn<float>({1000000}, 1)));
  Variable<double> x({1}, true);
  x.set_name(kHostile);
  check_forms(picture(x));
  check_forms(xg::graph(x * x));
  for (const Mask& mask : {Mask(), Mask{{true}}, xg::causal_mask(0, 3), xg::causal_mask(2000, 2000),
                           xg::padding_mask(std::vector<int>(100, 2), 3)}) {
    check_forms(picture(mask));
    CHECK(picture(mask).html.size() < 60000);
  }
}

TEST_CASE("a rule may show an input whose values were not kept") {
  static std::string text;
  struct Double final : xg::Op<double> {
    std::string name() const override { return "double"; }
    xg::Needs needs() const override { return xg::Needs::nothing(); }
    Variable<double> forward(const std::vector<Variable<double>>& in) const override {
      return in[0] * 2.0;
    }
    std::vector<Variable<double>> backward(const std::vector<Variable<double>>& in,
                                           const Variable<double>&, Variable<double> grad,
                                           const std::vector<bool>&) const override {
      text = picture(in[0]).text;
      check_forms(picture(in[0]));
      check_forms(heads(in[0]));
      return {grad * 2.0};
    }
  };
  const Variable<double> x({{1, 2}}, true);
  sum(xg::apply(std::make_shared<Double>(), {x})).backward();
  CHECK(has(text, "(values not kept) Variable<double> shape (1, 2)"));
}

TEST_CASE("a filled cell of a grid is a visible key") {
  const std::string grid = picture(Mask{{true, false}, {false, true}}).html;
  CHECK(has(grid, "d=\"M0 0h13v13h-13zM13 13h13v13h-13z\""));
}

TEST_CASE("a gradcheck report tells its verdict and every wrong derivative") {
  const Variable<double> x({1, 2});
  const auto right = [](const auto& in) { return in[0] * in[0]; };
  const auto wrong = [](const auto& in) { return in[0].detach() * in[0]; };
  const Picture good = picture(xg::gradcheck<double>(right, {x}));
  const xg::GradcheckReport report = xg::gradcheck<double>(wrong, {x});
  const Picture bad = picture(report);
  check_forms(good);
  check_forms(bad);
  CHECK(has(good.html, "\u2713 passed"));
  CHECK_FALSE(has(good.html, "failed"));
  CHECK(has(bad.html, "\u2717 failed"));
  CHECK(has(bad.html, "argument 0, index (0,)"));
  CHECK(has(bad.html, "argument 0, index (1,)"));
  CHECK(has(bad.html, "<div style=\"padding-left:2ch;text-indent:-2ch\">[gradcheck] wrong"));
  CHECK(bad.text == report.to_string());
  CHECK(mime_bundle_repr(report)["text/plain"] == bad.text);
}

TEST_CASE("heads draws a map for each head with the labels of queries and keys") {
  const Picture picture = heads(kWeights, {"I", "am"}, {"je", "suis", "l\xC3\xA0"});
  check_forms(picture);
  CHECK(picture.text ==
        "head 0    je  suis    l\xC3\xA0\n"
        "I       0.75  0.25     .\n"
        "am      0.50     .  0.50\n\n"
        "head 1    je  suis    l\xC3\xA0\n"
        "I          .  1.00     .\n"
        "am      0.20  0.30  0.50");
  CHECK(count(picture.svg, "<rect") == 8);
  CHECK(count(picture.svg, "<circle") == 4);  // weights of exactly 0
  CHECK(count(picture.svg, ">suis</text>") == 2);
  CHECK(has(picture.svg, "am \u2192 l\xC3\xA0: 0.5"));
  CHECK(has(picture.svg, "fill-opacity=\"0.8\"><title>I \u2192 suis: 1<"));
  const nlohmann::json chart = nlohmann::json::parse(picture.vega_lite);
  CHECK(chart["data"]["values"].size() == 12);
  CHECK(chart["data"]["values"][4] ==
        nlohmann::json::parse(R"({"head":0,"query":1,"key":1,"weight":0})"));
  CHECK(chart["spec"]["encoding"]["x"]["axis"]["labelExpr"] ==
        "[\"je\",\"suis\",\"l\xC3\xA0\"][datum.value]");
}

TEST_CASE("heads takes one head, several, and a batch, in any layout") {
  CHECK(heads(xg::slice(kWeights, 0, 0, 1)).svg ==
        heads(squeeze(xg::slice(kWeights, 0, 0, 1))).svg);
  CHECK_FALSE(has(heads(xg::slice(kWeights, 0, 0, 1)).svg, ">head 0<"));
  const Variable<double> batch = xg::stack({kWeights, 1.0 - kWeights});
  CHECK(
      has(heads(batch).text, "item 1, head 0     0     1     2\n0               0.25  0.75  1.00"));
  const Variable<double> turned = transpose(kWeights, {0, 2, 1});
  CHECK(heads(turned).svg == heads(turned.clone()).svg);
  CHECK(picture(xg::Attention<double>{kWeights, kWeights}).svg == heads(kWeights).svg);
}

TEST_CASE("many weights are drawn in blocks by the largest of each") {
  const Variable<double> one =
      xg::concat({xg::zeros<double>({1, 999}), xg::ones<double>({1, 1})}, 1);
  const Picture picture = heads(one);
  CHECK(has(picture.svg, "each cell is the largest of 1 \u00d7 20 weights"));
  CHECK(count(picture.svg, "<rect") == 1);
  CHECK(has(picture.svg, ">980\u2026</text>"));
  CHECK(picture.text == "attention weights shape (1, 1000)");
  const Picture all = heads(xg::ones<double>({3, 10, 100, 100}));
  check_forms(all);
  CHECK(has(all.svg, "the first 16 of 30 heads are shown"));
  CHECK(all.svg.size() < 400000);
  CHECK(all.vega_lite.size() < 400000);
}

TEST_CASE("hostile weights and labels are drawn") {
  const Picture words =
      heads(kWeights, {kHostile, ""}, {kHostile, kHostile, std::string(500, 'x')});
  check_forms(words);
  CHECK(has(words.svg, "&lt;b&gt; &amp; &quot;q"));
  CHECK(has(words.svg, "xxxxxxxxxxxxx\u2026</text>"));
  const Picture numbers = heads(Variable<double>({{kNaN, kInf, -kInf}, {-5, 1e308, 0}}));
  check_forms(numbers);
  CHECK(has(numbers.text, "nan     inf    -inf"));
  for (const xg::Dims& shape :
       {xg::Dims{0, 3}, xg::Dims{2, 0}, xg::Dims{0, 2, 2}, xg::Dims{1, 1}}) {
    check_forms(heads(xg::zeros<float>(shape)));
  }
}

TEST_CASE("heads says what is wrong with its arguments") {
  CHECK_THROWS_WITH_AS(heads(kWeights, {"a"}),
                       "[heads] wrong number of query labels: got 1, expected 2, or none",
                       xg::ArgumentError);
  CHECK_THROWS_WITH_AS(heads(kWeights, {"a", "b"}, {"a", "b"}),
                       "[heads] wrong number of key labels: got 2, expected 3, or none",
                       xg::ArgumentError);
  CHECK_THROWS_WITH_AS(
      heads(xg::ones<double>({3})),
      "[heads] wrong number of axes: got (3,), expected (Q, K), (H, Q, K) or (B, H, Q, K)",
      xg::ShapeError);
  CHECK_THROWS_AS(heads(xg::ones<double>({1, 1, 1, 1, 1})), xg::ShapeError);
  CHECK_THROWS_AS(heads(Variable<double>()), xg::GraphError);
  CHECK_THROWS_AS(xg::graph(Variable<double>()), xg::GraphError);
  CHECK_THROWS_AS(heads(broadcast_to(Variable<double>(1.0), {1 << 20, 1 << 20})),
                  xg::ArgumentError);
}

TEST_CASE("plot draws a line for each series, with ticks and a legend") {
  const Picture picture = xg::plot({{"training", {3, 2, 1}}, {"other", {2, 2.5}}}, "loss");
  check_forms(picture);
  CHECK(picture.text ==
        "loss, 3 steps\n"
        "training  \u2588\u2585\u2581  3 \u2192 1\n"
        "other     \u2585\u2587  2 \u2192 2.5");
  CHECK(has(picture.svg, ">loss</text>"));
  CHECK(has(picture.svg, ">training</text>"));
  CHECK(has(picture.svg, ">1.5</text>"));
  CHECK(count(picture.svg, "fill=\"none\" stroke-linejoin") == 2);
  const nlohmann::json chart = nlohmann::json::parse(picture.vega_lite);
  CHECK(chart["title"] == "loss");
  CHECK(chart["data"]["values"].size() == 5);
  CHECK(chart["data"]["values"][4] ==
        nlohmann::json::parse(R"({"series":1,"step":1,"value":2.5})"));
  CHECK(nlohmann::json::parse(xg::plot({1.0, 2.0}).vega_lite)["encoding"]["color"]["legend"] ==
        nullptr);
}

TEST_CASE("a line breaks where it is not finite, and says so") {
  const Picture picture = xg::plot({1, 2, kNaN, 3, kInf, 4, 5});
  check_forms(picture);
  CHECK(has(picture.svg, ">2 not finite</text>"));
  CHECK(has(picture.text, "1 \u2192 5, 2 not finite"));
  CHECK(count(picture.svg, "<circle") == 1);  // the 3 between two gaps
  const std::size_t path = picture.svg.rfind("<path d=\"");
  CHECK(count(picture.svg.substr(path, picture.svg.find('"', path + 9) - path), "M") == 3);
  CHECK(nlohmann::json::parse(picture.vega_lite)["data"]["values"][2]["value"] == nullptr);
}

TEST_CASE("a long line is thinned out and keeps its peaks") {
  std::vector<double> values(1000000, 1.0);
  values[123456] = 7;
  values[654321] = -7;
  values[500000] = kNaN;
  const Picture picture = xg::plot(values);
  check_forms(picture);
  CHECK(picture.svg.size() < 20000);
  CHECK(has(picture.text, "1 \u2192 1, 1 not finite"));
  CHECK(has(picture.vega_lite, "\"step\":123456,\"value\":7}"));
  CHECK(has(picture.vega_lite, "\"step\":654321,\"value\":-7}"));
  CHECK(has(picture.vega_lite, "\"step\":500000,\"value\":null}"));
}

TEST_CASE("hostile curves are drawn") {
  using Values = std::vector<double>;
  for (const Values& values :
       {Values{}, Values{kNaN}, Values{0}, Values{5, 5, 5}, Values{-1e308, 1e308, 1e308},
        Values{std::numeric_limits<double>::max()}, Values{5e-324, 1e-323, 0},
        Values{1e15, 1e15 + 1}, Values{kInf, -kInf}, Values{-1, -1}}) {
    CAPTURE(values.size());
    const Picture picture = xg::plot({{kHostile, values}, {"", {}}}, kHostile);
    check_forms(picture);
    CHECK(picture.svg.size() < 20000);
  }
  check_forms(xg::plot(std::vector<xg::Series>{}));
  check_forms(xg::plot(std::vector<xg::Series>(40, {"name", {1, 2}})));
}
