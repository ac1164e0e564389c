#include <decathlon.hpp>
#include <headrace/io/error.hpp>

#include "io/nifti_file.hpp"

namespace {

using namespace headrace;
using namespace headrace::tool;
using namespace headrace_test;

class DecathlonTest : public testing::Test {
 protected:
  DecathlonTest() {
    for (const char* sub : {"imagesTr", "labelsTr"}) std::filesystem::create_directory(folder / sub);
    for (const char* name : {"imagesTr/a.nii.gz", "labelsTr/a.nii.gz", "imagesTr/b.nii.gz", "labelsTr/b.nii.gz",
                             "imagesTr/._a.nii.gz", "labelsTr/._a.nii.gz"})
      folder.write(name, {1});
  }
  void list(const std::string& json) const { folder.write("dataset.json", Bytes(json.begin(), json.end())); }
  std::string failure(const std::string& json) const {
    list(json);
    const std::string text = message_of<IoError>([&] { read_decathlon(folder / ""); });
    EXPECT_CONTAINS(text, "dataset.json: ");
    return text;
  }
  // A list with one good entry and another one.
  std::string with(const std::string& entry) const { return failure("{\"training\": [" + good + ", " + entry + "]}"); }
  std::string pair(const std::string& image, const std::string& label) const {
    return with("{\"image\": \"" + image + "\", \"label\": \"" + label + "\"}");
  }

  const std::string good = R"({"image": "./imagesTr/a.nii.gz", "label": "./labelsTr/a.nii.gz"})";
  const std::string other = R"({"image": "imagesTr/b.nii.gz", "label": "labelsTr//b.nii.gz"})";
  Folder folder;
};

TEST_F(DecathlonTest, Reads) {
  list("\xEF\xBB\xBF{\"name\": \"n\", \"training\": [" + good + "," + other + "], \"test\": [\"./x.nii.gz\"]}");
  for (const std::string& where : {folder / "", folder / "dataset.json"}) {
    const Decathlon d = read_decathlon(where);
    EXPECT_EQ(d.name, "n");
    EXPECT_EQ(std::filesystem::path(d.root + "/"), std::filesystem::path(folder / "")) << d.root;
    ASSERT_EQ(d.training.size(), 2u);
    EXPECT_EQ(d.training[0].image, folder / "imagesTr/a.nii.gz");
    EXPECT_EQ(d.training[1].label, folder / "labelsTr/b.nii.gz");
    EXPECT_TRUE(d.notes.empty());
  }
}

TEST_F(DecathlonTest, LeavesLitterOut) {
  list("{\"training\": [" + good + R"(, {"image": "imagesTr/._a.nii.gz", "label": "labelsTr/._a.nii.gz"}]})");
  const Decathlon d = read_decathlon(folder / "");
  EXPECT_EQ(d.training.size(), 1u);
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_CONTAINS(d.notes[0], "training[1] (imagesTr/._a.nii.gz) is left out");
  EXPECT_CONTAINS(failure(R"({"training": [{"image": "imagesTr/._a.nii.gz", "label": "labelsTr/a.nii.gz"}]})"),
                  "nothing but");
}

TEST_F(DecathlonTest, RefusesBadLists) {
  EXPECT_CONTAINS(failure("{"), "not valid JSON");
  EXPECT_CONTAINS(failure(""), "not valid JSON");
  EXPECT_CONTAINS(failure("[]"), "a JSON array; expected an object");
  EXPECT_CONTAINS(failure("{}"), "no \"training\" list");
  EXPECT_CONTAINS(failure("{\"training\": 3}"), "\"training\" is a JSON number");
  EXPECT_CONTAINS(failure("{\"training\": []}"), "list is empty");
  EXPECT_CONTAINS(failure("\xFF\xFE{"), "UTF-16");
  EXPECT_CONTAINS(failure(std::string(100000, '[')), "not valid JSON");
}

TEST_F(DecathlonTest, RefusesBadEntries) {
  EXPECT_CONTAINS(with("\"imagesTr/b.nii.gz\""), "training[1] is a JSON string");
  EXPECT_CONTAINS(with("{\"image\": \"imagesTr/b.nii.gz\"}"), "training[1] has no \"label\"");
  EXPECT_CONTAINS(with("{\"image\": [\"imagesTr/b.nii.gz\"], \"label\": \"labelsTr/b.nii.gz\"}"),
                  "training[1].image is a JSON array");
  EXPECT_CONTAINS(pair("", "labelsTr/b.nii.gz"), "training[1].image is empty");
  EXPECT_CONTAINS(pair("/etc/passwd", "labelsTr/b.nii.gz"), "absolute path");
  EXPECT_CONTAINS(pair("../b.nii.gz", "labelsTr/b.nii.gz"), "\"..\"");
  EXPECT_CONTAINS(pair("imagesTr/../../b.nii.gz", "labelsTr/b.nii.gz"), "\"..\"");
  EXPECT_CONTAINS(pair("imagesTr/b.nii.gz\\u0000x", "labelsTr/b.nii.gz"), "zero byte");
  EXPECT_CONTAINS(pair("imagesTr/a.nii.gz", "labelsTr/b.nii.gz"), "the same file as training[0].image");
  EXPECT_CONTAINS(pair("imagesTr/./a.nii.gz", "labelsTr/b.nii.gz"), "the same file as training[0].image");
  EXPECT_CONTAINS(pair("imagesTr/b.nii.gz", "labelsTr/a.nii.gz"), "the same file as training[0].label");
  EXPECT_CONTAINS(pair("imagesTr/b.nii.gz", "imagesTr/b.nii.gz"), "the same file as training[1].image");
  EXPECT_CONTAINS(pair("imagesTr/c.nii.gz", "labelsTr/b.nii.gz"),
                  "names 1 file that cannot be read: imagesTr/c.nii.gz (not there)");
  EXPECT_CONTAINS(pair("imagesTr", "labelsTr/d.nii.gz"),
                  "2 files that cannot be read: imagesTr (a folder), labelsTr/d.nii.gz (not there)");
}

TEST_F(DecathlonTest, RefusesBadFolders) {
  EXPECT_CONTAINS(message_of<IoError>([&] { read_decathlon(folder / "none"); }), "no such folder");
  EXPECT_CONTAINS(message_of<IoError>([&] { read_decathlon(folder / "imagesTr"); }), "has no dataset.json");
  EXPECT_CONTAINS(message_of<IoError>([&] { read_decathlon(""); }), "empty path");
}

}  // namespace
