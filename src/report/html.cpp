#include <xgrad/report/html.hpp>

#include <cmath>
#include <cstdio>

#include <xgrad/autograd/escape.hpp>

namespace xg::report {
namespace {

constexpr const char* kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --surface: #ffffff; --line: #e2e5ea; --grid: #eceef2;
  --ink: #171b22; --soft: #5b6472; --on: #ffffff;
  --head0: #1f63d6; --head1: #d9611a; --mixed: #7a5bc7; --good: #17803d; --bad: #c4281c; --target: #171b22;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1216; --surface: #171b21; --line: #2a3039; --grid: #232932;
    --ink: #e8ebf0; --soft: #9aa4b2; --on: #0d1117;
    --head0: #6ea8ff; --head1: #ff9a5c; --mixed: #b49bf5; --good: #4cc274; --bad: #ff7b6e; --target: #f2f4f8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2.5rem 1.25rem 3rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main, header, footer { max-width: 1120px; margin: 0 auto; }
.brand { color: var(--soft); font-weight: 650; letter-spacing: .02em; }
h1 { margin: 0 0 .4rem; font-size: 2rem; line-height: 1.2; letter-spacing: -.02em; }
h2 { margin: 0 0 .3rem; font-size: 1.25rem; letter-spacing: -.01em; }
h3 { margin: 1.2rem 0 .4rem; font-size: .95rem; }
h3::first-letter { text-transform: uppercase; }
td code { font-size: .75rem; }
td:first-child { white-space: nowrap; }
p { margin: 0 0 1rem; color: var(--soft); max-width: 46rem; }
code { font: .92em ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); gap: 1rem;
  margin: 1.5rem 0; }
.tile, section { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; }
.tile { padding: .9rem 1.1rem; }
.tile .label { font-size: .82rem; color: var(--soft); }
.tile .value { font-size: 1.45rem; font-weight: 650; letter-spacing: -.01em; }
.tile .note { font-size: .82rem; color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
section { padding: 1.5rem 1.6rem; margin: 1.25rem 0; }
.row { display: grid; gap: 1.5rem 2rem; align-items: start; }
.two { grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.three { grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .95rem; font-weight: 600; margin-bottom: .5rem; }
figcaption .soft { font-weight: 400; }
.soft { color: var(--soft); }
svg { display: block; max-width: 100%; height: auto; }
.chart text { font-family: inherit; fill: var(--ink); }
.chart text.soft, .chart circle.soft { fill: var(--soft); }
.chart text.on { fill: var(--on); }
.chart rect.head0 { fill: var(--head0); } .chart path.head0 { stroke: var(--head0); }
.chart rect.head1 { fill: var(--head1); } .chart path.head1 { stroke: var(--head1); }
.chart rect.mixed { fill: var(--mixed); }
.chart path { fill: none; }
.chart .grid { stroke: var(--grid); } .chart .axis { stroke: var(--soft); }
.chart .target { stroke: var(--target); stroke-width: 2.5; }
.chart .stop { fill: var(--surface); stroke: var(--soft); stroke-width: 1.5; }
.graph svg { margin: 0 auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .82rem; }
th, td { padding: .45rem 1.2rem .45rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
tr:last-child td { border-bottom: 0; }
.number { text-align: right; }
.legend { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin: 0 0 1rem; font-size: .85rem;
  color: var(--soft); align-items: center; }
.legend span { display: inline-flex; align-items: center; gap: .45rem; }
.swatch { width: 14px; height: 14px; border-radius: 3px; }
.ramp { width: 90px; height: 12px; border-radius: 3px; border: 1px solid var(--line); }
.ramp.head0 { background: linear-gradient(90deg, transparent, var(--head0)); }
.ramp.head1 { background: linear-gradient(90deg, transparent, var(--head1)); }
.mark { width: 18px; height: 3px; background: var(--target); }
footer { font-size: .82rem; color: var(--soft); margin-top: 1.5rem; }
@media print { body { background: none; padding: 0; } section { break-inside: avoid; } }
)css";

std::string tile_html(const Tile& tile) {
  const char* tone = tile.tone == Tile::Tone::good  ? " good"
                     : tile.tone == Tile::Tone::bad ? " bad"
                                                    : "";
  return "<div class=\"tile\"><div class=\"label\">" + escape(tile.label) +
         "</div><div class=\"value" + tone + "\">" + escape(tile.value) +
         "</div><div class=\"note\">" + escape(tile.note) + "</div></div>\n";
}

std::string print(const char* format, int digits, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

}  // namespace

std::string escape(const std::string& text) { return detail::escape_xml(text); }

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // not "-nan"
  std::string text = print("%.*f", digits, value);
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string scientific(double value) {
  if (value == 0 || std::isnan(value)) return fixed(value, 0);
  return print("%.*e", 1, value);
}

std::string table(const std::vector<std::string>& header, const std::vector<bool>& numeric,
                  const std::vector<std::vector<std::string>>& rows) {
  const auto cell = [&](const char* tag, std::size_t column, const std::string& content) {
    return std::string("<") + tag + (numeric[column] ? " class=\"number\">" : ">") + content +
           "</" + tag + ">";
  };
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (std::size_t i = 0; i < header.size(); ++i) out += cell("th", i, header[i]);
  out += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += cell("td", i, row[i]);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string verdict(bool passed) {
  return passed ? "<span class=\"good\">\u2713&nbsp;passed</span>"
                : "<span class=\"bad\">\u2717&nbsp;failed</span>";
}

std::string Page::html() const {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>xgrad: " +
      escape(title) + "</title>\n<style>" + kStyle +
      "</style>\n</head>\n<body>\n<header>\n<div class=\"brand\">xgrad</div>\n<h1>" +
      escape(title) + "</h1>\n<p>" + lead + "</p>\n</header>\n<main>\n<div class=\"tiles\">\n";
  for (const Tile& tile : tiles) out += tile_html(tile);
  out += "</div>\n";
  for (const Section& section : sections) {
    out += "<section>\n<h2>" + escape(section.title) + "</h2>\n<p>" + section.text + "</p>\n" +
           section.body + "</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace xg::report
