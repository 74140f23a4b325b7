#include <xgrad/io/npz.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include <zip.h>

#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/finished.hpp>
#include <xgrad/autograd/message.hpp>

namespace xg {
namespace {

using detail::fail;
using detail::text;

constexpr std::string_view kSuffix = ".npy";

struct Discard {
  void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

struct Close {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};
using Member = std::unique_ptr<zip_file_t, Close>;

Archive open(const char* op, const std::string& path, int flags) {
  if (path.find('\0') != std::string::npos) {
    fail<FileError>(op, "cannot open " + detail::printable(path), "a path that holds a zero byte",
                    "the path of a file");
  }
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string got = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail<FileError>(op, "cannot open " + path, got, "a NumPy .npz file");
  }
  return archive;
}

/// Grows with what is really there: a size that the archive only claims allocates nothing.
std::string read_member(const char* op, const std::string& where, zip_t* archive,
                        const zip_stat_t& stat) {
  const Member member(zip_fopen_index(archive, stat.index, 0));
  if (member == nullptr) {
    fail<FileError>(op, "cannot read " + where, zip_strerror(archive), "a sound archive");
  }
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  std::string bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min<zip_uint64_t>(kChunk, stat.size - before + 1));
    const zip_int64_t got = zip_fread(member.get(), &bytes[before], bytes.size() - before);
    if (got < 0) {
      fail<FileError>(op, "cannot read " + where, zip_file_strerror(member.get()),
                      "a sound archive");
    }
    bytes.resize(before + static_cast<std::size_t>(got));
    if (bytes.size() > stat.size || (got == 0 && bytes.size() < stat.size)) {
      fail<FileError>(op, where + " is damaged", text(bytes.size()) + " bytes or more",
                      std::to_string(stat.size) + " bytes");
    }
    if (got == 0) return bytes;
  }
}

std::string place(const std::string& name, const std::string& path) {
  return "array '" + detail::printable(name) + "' of " + path;
}

std::string member_name(const char* op, const std::string& path, const std::string& entry) {
  if (entry.find_first_of("/\\") != std::string::npos) {
    fail<FileError>(op, path + " has a member in a folder", "'" + detail::printable(entry) + "'",
                    "names without slashes");
  }
  if (entry.size() <= kSuffix.size() ||
      entry.compare(entry.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) {
    fail<FileError>(op, path + " has a member that is not an array",
                    "'" + detail::printable(entry) + "'", "names that end in .npy");
  }
  return entry.substr(0, entry.size() - kSuffix.size());
}

std::map<std::string, NpyArray> read(const char* op, const std::string& path) {
  const Archive archive = open(op, path, ZIP_RDONLY);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  if (entries == 0) fail<FileError>(op, path + " holds no arrays", "an empty archive", "an array");
  std::map<std::string, NpyArray> arrays;
  for (zip_int64_t i = 0; i < entries; ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_INDEX | ZIP_STAT_SIZE |
                                    ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0 ||
        (stat.valid & needed) != needed) {
      fail<FileError>(op, path + " is damaged", "a member without a description",
                      "a sound archive");
    }
    const std::string name = member_name(op, path, stat.name);
    const std::string where = place(name, path);
    if (stat.encryption_method != ZIP_EM_NONE) {
      fail<FileError>(op, where + " is encrypted", "an encrypted member", "a plain one");
    }
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
      fail<FileError>(op, where + " is compressed by an unknown method",
                      "method " + text(int{stat.comp_method}), "none (0) or deflate (8)",
                      "numpy.savez and savez_compressed write those");
    }
    NpyArray array =
        detail::parse_npy(op, where, name, read_member(op, where, archive.get(), stat));
    if (!arrays.emplace(name, std::move(array)).second) {
      fail<FileError>(op, path + " has two arrays of one name",
                      "'" + detail::printable(name) + "' twice", "names of their own");
    }
  }
  return arrays;
}

void check_names(const std::vector<NpzItem>& arrays) {
  const char* op = "save_npz";
  constexpr std::size_t kMostBytes = 0xffff - kSuffix.size();  // the archive counts in 16 bits
  if (arrays.empty()) fail<ArgumentError>(op, "nothing to save", "no array", "at least one");
  std::set<std::string> names;
  for (const NpzItem& item : arrays) {
    const std::string& name = item.name();
    if (name.empty() || name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos ||
        !detail::is_utf8(name)) {
      fail<ArgumentError>(op, "unusable name", "'" + detail::printable(name) + "'",
                          "UTF-8 without slashes, not empty");
    }
    if (name.size() > kMostBytes) {
      fail<ArgumentError>(op, "name too long", text(name.size()) + " bytes",
                          "at most " + text(kMostBytes));
    }
    if (!names.insert(name).second) {
      fail<ArgumentError>(op, "two arrays of one name", "'" + name + "' twice",
                          "names of their own");
    }
  }
}

template <class X>
std::shared_ptr<const std::string> encode(const std::string& name, const X& x) {
  if (!x.defined()) {
    using E = std::conditional_t<std::is_same_v<X, Mask>, MaskError, GraphError>;
    fail<E>("save_npz", "array '" + name + "' is undefined", "a handle without values",
            "one that was given values");
  }
  return std::make_shared<const std::string>(detail::npy_file("save_npz", x));
}

}  // namespace

NpzItem::NpzItem(std::string name, const Variable<float>& x)
    : name_(std::move(name)), bytes_(encode(name_, x)) {}
NpzItem::NpzItem(std::string name, const Variable<double>& x)
    : name_(std::move(name)), bytes_(encode(name_, x)) {}
NpzItem::NpzItem(std::string name, const Mask& mask)
    : name_(std::move(name)), bytes_(encode(name_, mask)) {}

// libzip writes into a temporary file of the same folder and renames it at the end.
void save_npz(const std::string& path, const std::vector<NpzItem>& arrays) {
  const char* op = "save_npz";
  check_names(arrays);
  Archive archive = open(op, path, ZIP_CREATE | ZIP_TRUNCATE);
  const auto check = [&](bool ok) {
    if (!ok) {
      fail<FileError>(op, "cannot write " + path, zip_strerror(archive.get()), "a writable folder");
    }
  };
  for (const NpzItem& item : arrays) {
    zip_source_t* source =
        zip_source_buffer(archive.get(), item.bytes().data(), item.bytes().size(), 0);
    check(source != nullptr);
    const std::string entry = item.name() + std::string(kSuffix);
    const zip_int64_t at = zip_file_add(archive.get(), entry.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (at < 0) zip_source_free(source);
    check(at >= 0);
    const auto index = static_cast<zip_uint64_t>(at);
    constexpr zip_uint16_t kMidnight = 0;
    constexpr zip_uint16_t kFirstDay = 1 << 5 | 1;  // 1980-01-01, as NumPy
    check(zip_set_file_compression(archive.get(), index, ZIP_CM_STORE, 0) == 0);
    check(zip_file_set_dostime(archive.get(), index, kMidnight, kFirstDay, 0) == 0);
  }
  check(zip_close(archive.get()) == 0);
  (void)archive.release();  // zip_close freed it
}

std::map<std::string, NpyArray> read_npz(const std::string& path) {
  return detail::finished(read("read_npz", path));
}

template <class T>
std::map<std::string, Variable<T>> load_npz(const std::string& path) {
  std::map<std::string, Variable<T>> out;
  for (const auto& [name, array] : read("load_npz", path)) {
    out.emplace(name, detail::to_variable<T>("load_npz", array));
  }
  return detail::finished(std::move(out));
}

template std::map<std::string, Variable<float>> load_npz(const std::string&);
template std::map<std::string, Variable<double>> load_npz(const std::string&);

}  // namespace xg
