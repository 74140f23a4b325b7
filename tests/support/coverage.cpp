#include "coverage.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace test {
namespace {

template <class Map>
bool has(const Map& map, const std::string& op, const Aspect& aspect) {
  const auto found = map.find(op);
  return found != map.end() && found->second.count(aspect) > 0;
}

}  // namespace

const std::vector<Aspect>& aspects() {
  static const std::vector<Aspect> all = [] {
    std::vector<Aspect> out;
    for (Layout layout : kLayouts) out.push_back(name(layout));
    for (const char* other : {"0-D", "size 0", "size 1", "float", "double", "value", "gradient",
                              "second derivative", "PyTorch"}) {
      out.emplace_back(other);
    }
    return out;
  }();
  return all;
}

Coverage& Coverage::instance() {
  static Coverage coverage;
  return coverage;
}

void Coverage::record(const std::string& op, const Aspect& aspect) { met_[op].insert(aspect); }

void Coverage::exempt(const std::string& op, const Aspect& aspect, const std::string& reason) {
  const auto& all = aspects();
  if (std::find(all.begin(), all.end(), aspect) == all.end()) {
    throw std::invalid_argument("no such aspect: " + aspect);
  }
  exempt_[op][aspect] = reason;
}

std::vector<std::string> Coverage::flaws(const std::vector<std::string>& ops) const {
  std::vector<std::string> out;
  for (const std::string& op : ops) {
    std::string missing;
    for (const Aspect& c : aspects()) {
      const bool met = has(met_, op, c);
      const bool excused = has(exempt_, op, c);
      if (!met && !excused) missing += (missing.empty() ? "" : ", ") + c;
      if (met && excused) out.push_back(op + " is exempt from " + c + ", but met it");
    }
    if (!missing.empty()) out.push_back(op + " has not met " + missing);
  }
  return out;
}

std::string Coverage::table(const std::vector<std::string>& ops) const {
  constexpr std::size_t kFirst = 22;
  const auto padded = [](std::string cell, std::size_t width) {
    cell.resize(std::max(width, cell.size() + 1), ' ');
    return cell;
  };
  std::string out = padded("operation", kFirst);
  for (const Aspect& c : aspects()) out += padded(c, c.size() + 2);
  std::string notes;
  for (const std::string& op : ops) {
    out += "\n" + padded(op, kFirst);
    for (const Aspect& c : aspects()) {
      const bool met = has(met_, op, c);
      const bool excused = has(exempt_, op, c);
      out += padded(met ? "yes" : excused ? "-" : "MISSING", c.size() + 2);
      if (excused) notes += "\n- " + op + ", " + c + ": " + exempt_.at(op).at(c);
    }
  }
  return out + "\n" + notes;
}

std::string Coverage::markdown(const std::vector<std::string>& ops) const {
  struct Column {
    std::string title;
    std::vector<Aspect> aspects;
  };
  const std::vector<Column> columns{
      {"value", {"value"}},
      {"gradient", {"gradient"}},
      {"second derivative", {"second derivative"}},
      {"strides", {"transposed", "stepped", "reversed", "broadcast", "offset"}},
      {"zero size", {"size 0"}},
      {"PyTorch", {"PyTorch"}}};
  std::string out = "| operation |";
  std::string line = "|---|";
  for (const Column& column : columns) {
    out += " " + column.title + " |";
    line += "---|";
  }
  out += "\n" + line + "\n";
  std::string notes;
  for (const std::string& op : ops) {
    out += "| `" + op + "` |";
    for (const Column& column : columns) {
      std::string cell = "yes";
      for (const Aspect& aspect : column.aspects) {
        if (has(met_, op, aspect)) continue;
        const bool excused = has(exempt_, op, aspect);
        cell = excused ? "–" : "**no**";
        if (excused)
          notes += "\n`" + op + "`, " + aspect + ": " + exempt_.at(op).at(aspect) + ".\n";
      }
      out += " " + cell + " |";
    }
    out += "\n";
  }
  return out + notes;
}

std::vector<std::string> operations_declared_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    std::string text;  // with single spaces, wherever a declaration is broken into lines
    for (std::string word; file >> word;) text += word + ' ';
    for (const std::string type : {"XGRAD_API Variable<T> ", "XGRAD_API std::vector<Variable<T>> ",
                                   "XGRAD_API Attention<T> "}) {
      for (std::size_t at = text.find(type); at != std::string::npos;
           at = text.find(type, at + 1)) {
        const std::size_t start = at + type.size();
        names.insert(text.substr(start, text.find('(', start) - start));
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace test
