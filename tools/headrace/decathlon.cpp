#include "decathlon.hpp"

#include <filesystem>
#include <headrace/io/file.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace headrace::tool {
namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  Reader(fs::path root, std::string file) : root_(std::move(root)), file_(std::move(file)) {}

  Decathlon read() {
    const nlohmann::json j = parse();
    if (!j.is_object()) fail("holds " + kind(j) + "; expected an object with a \"training\" list");
    Decathlon out;
    out.root = root_.string();
    if (const auto name = j.find("name"); name != j.end() && name->is_string()) out.name = name->get<std::string>();
    const auto training = j.find("training");
    if (training == j.end()) fail("has no \"training\" list");
    if (!training->is_array())
      fail("\"training\" is " + kind(*training) + "; expected a list of {\"image\", \"label\"}");
    for (std::size_t i = 0; i < training->size(); ++i) {
      const std::string at = "training[" + std::to_string(i) + "]";
      const nlohmann::json& entry = (*training)[i];
      if (!entry.is_object()) fail(at + " is " + kind(entry) + "; expected {\"image\": ..., \"label\": ...}");
      const std::string image = text(entry, "image", at), label = text(entry, "label", at);
      if (litter(image) || litter(label)) {
        out.notes.push_back(at + " (" + image + ") is left out: \"._\" files are an archiver's litter, not volumes");
        continue;
      }
      out.training.push_back({path(image, at + ".image"), path(label, at + ".label")});
    }
    if (out.training.empty())
      fail(training->empty() ? "the \"training\" list is empty"
                             : "the \"training\" list holds nothing but \"._\" files");
    check_files(out);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw IoError(file_, message); }

  static std::string kind(const nlohmann::json& j) { return std::string("a JSON ") + j.type_name(); }

  nlohmann::json parse() const {
    std::string text = read_text(file_);
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) fail("is UTF-16; expected UTF-8");
    try {
      return nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& e) {
      fail(std::string("is not valid JSON: ") + e.what());
    }
  }

  std::string text(const nlohmann::json& entry, const char* key, const std::string& at) const {
    const auto value = entry.find(key);
    if (value == entry.end()) fail(at + " has no \"" + key + "\"");
    if (!value->is_string()) fail(at + "." + key + " is " + kind(*value) + "; expected one file name");
    return value->get<std::string>();
  }

  static bool litter(const std::string& name) { return fs::path(name).filename().string().starts_with("._"); }

  std::string path(const std::string& name, const std::string& at) {
    const std::string quoted = at + " is \"" + name + "\"";
    if (name.empty()) fail(at + " is empty; expected a file name");
    if (const std::size_t zero = name.find('\0'); zero != std::string::npos)
      fail(at + " is \"" + name.substr(0, zero) + "\" and goes on after a zero byte");
    const fs::path relative(name);
    if (relative.is_absolute()) fail(quoted + ": an absolute path; expected one relative to the folder");
    for (const fs::path& part : relative)
      if (part == "..") fail(quoted + ": has \"..\" in it; expected a path below the folder, without");
    const std::string full = (root_ / relative).lexically_normal().string();
    if (const auto [first, added] = seen_.try_emplace(full, at); !added)
      fail(quoted + ": the same file as " + first->second);
    return full;
  }

  void check_files(const Decathlon& data) const {
    constexpr std::size_t named = 5;
    std::string missing;
    std::size_t count = 0;
    for (const DecathlonPair& pair : data.training)
      for (const std::string& p : {pair.image, pair.label}) {
        std::error_code error;
        const fs::file_status status = fs::status(p, error);
        if (fs::is_regular_file(status)) continue;
        const std::string reason = fs::is_directory(status)                    ? "a folder"
                                   : status.type() == fs::file_type::not_found ? "not there"
                                   : fs::exists(status)                        ? "not a regular file"
                                                                               : error.message();
        if (++count <= named)
          missing += (count > 1 ? ", " : "") + fs::path(p).lexically_relative(root_).string() + " (" + reason + ")";
      }
    if (count == 0) return;
    if (count > named) missing += ", ...";
    fail("names " + std::to_string(count) + (count == 1 ? " file" : " files") + " that cannot be read: " + missing);
  }

  fs::path root_;
  std::string file_;
  std::map<std::string, std::string> seen_;  // file -> the entry that named it
};

}  // namespace

Decathlon read_decathlon(const std::string& folder) {
  detail::check_path(folder);
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (error) throw IoError(folder, "cannot be resolved: " + error.message());
  fs::path file = path / "dataset.json";
  if (fs::is_regular_file(path, error)) {
    file = path;
    path = path.parent_path();
  } else if (!fs::exists(path, error)) {
    throw IoError(folder, "no such folder; expected a dataset folder with a dataset.json");
  } else if (!fs::exists(file, error)) {
    throw IoError(folder, "has no dataset.json; expected a folder in the layout of the Medical Segmentation Decathlon");
  }
  return Reader(path, file.string()).read();
}

}  // namespace headrace::tool
