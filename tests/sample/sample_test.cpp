#include <gtest/gtest.h>

#include <headrace/sample/sample.hpp>
#include <string>
#include <vector>

using namespace headrace;

namespace {

std::vector<std::string> names(const Sample& s) {
  std::vector<std::string> out;
  for (const Field& f : s.fields()) out.push_back(f.name.str());
  return out;
}
std::shared_ptr<const VoxelSet> some_voxels() {
  return std::make_shared<const VoxelSet>(Shape{3}, std::vector<std::uint64_t>{5});
}

Sample full() {
  Sample s;
  s.set("image", Tensor::from<float>({1, 2, 3, 4}, {1, 2, 2}), Affine::scaling({2, 2, 2}));
  s.set_path("image", "a.nii.gz");
  s.set("weight", 0.5);
  s.set("age", std::int64_t{41});
  s.set("name", std::string("x"));
  s.set("fg", some_voxels());
  s.set("label", Tensor::from<std::uint8_t>({0, 1, 1, 0}, {1, 2, 2}));
  return s;
}

template <class E, class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(FieldName, HoldsUpTo47Bytes) {
  EXPECT_EQ(FieldName("image").view(), "image");
  EXPECT_EQ(FieldName(std::string(47, 'x')).str(), std::string(47, 'x'));
  EXPECT_THROW(FieldName(""), std::invalid_argument);
  for (std::size_t n : {48u, 255u, 256u, 260u, 300u, 1000u})
    EXPECT_THROW(FieldName(std::string(n, 'x')), std::invalid_argument) << n;
  EXPECT_TRUE(FieldName("a") == FieldName("a"));
  EXPECT_FALSE(FieldName("a") == FieldName("ab"));
  Sample s;
  EXPECT_THROW(s.set("", 1.0), std::invalid_argument);
  EXPECT_EQ(s.size(), 0u);
}

TEST(Sample, KeepsTheOrderInWhichFieldsWereSet) {
  Sample s = full();
  EXPECT_EQ(names(s), (std::vector<std::string>{"image", "weight", "age", "name", "fg", "label"}));
  s.set("weight", 0.7);
  s.set("image", Tensor::zeros(DType::f32, {1}));
  EXPECT_EQ(names(s), (std::vector<std::string>{"image", "weight", "age", "name", "fg", "label"}));
  s.erase("age");
  s.erase("nothing");
  EXPECT_EQ(names(s), (std::vector<std::string>{"image", "weight", "name", "fg", "label"}));
  s.set("age", std::int64_t{1});
  EXPECT_EQ(names(s).back(), "age");
  s.erase(s.fields()[1].name);  // a name that lies in the sample itself
  EXPECT_EQ(names(s), (std::vector<std::string>{"image", "name", "fg", "label", "age"}));
  s.clear();
  EXPECT_EQ(s.size(), 0u);
}

TEST(Sample, HoldsEveryKind) {
  const Sample s = full();
  EXPECT_EQ(s.get("image").at({0, 1, 1}), 4);
  EXPECT_EQ(s.tensor("label").dtype(), DType::u8);
  EXPECT_EQ(s.real("weight"), 0.5);
  EXPECT_EQ(s.real("age"), 41);
  EXPECT_EQ(s.integer("age"), 41);
  EXPECT_EQ(s.text("name"), "x");
  EXPECT_EQ(s.voxels("fg").size(), 2u);
  EXPECT_EQ(s.path("image"), "a.nii.gz");
  EXPECT_EQ(s.path("label"), "");
  EXPECT_EQ(s.first_path(), "a.nii.gz");
  EXPECT_EQ(s.affine("image"), Affine::scaling({2, 2, 2}));
  EXPECT_EQ(s.affine("label"), Affine::identity());
  EXPECT_TRUE(s.has("fg"));
  EXPECT_FALSE(s.has("f"));
  EXPECT_EQ(s.bytes(), 16 + s.voxels("fg").bytes() + 4);
  Sample t;
  t.set("int", 7);
  t.set("unsigned", 8u);
  t.set("float", 0.25f);
  t.set("literal", "text");
  EXPECT_EQ(t.integer("int"), 7);
  EXPECT_EQ(t.integer("unsigned"), 8);
  EXPECT_EQ(t.real("float"), 0.25);
  EXPECT_EQ(t.text("literal"), "text");
  EXPECT_EQ(t.first_path(), "");
}

TEST(Sample, ReplacingATensorKeepsItsGeometry) {
  Sample s = full();
  s.set("image", Tensor::zeros(DType::f32, {1}));
  EXPECT_EQ(s.affine("image"), Affine::scaling({2, 2, 2}));
  EXPECT_EQ(s.path("image"), "a.nii.gz");
  s.set("image", Tensor::zeros(DType::f32, {1}), Affine::identity());
  EXPECT_EQ(s.affine("image"), Affine::identity());
  EXPECT_EQ(s.path("image"), "a.nii.gz");
  s.set_path("image", "");
  EXPECT_EQ(s.first_path(), "");
}

TEST(Sample, ErrorsNameTheFieldAndListTheOthers) {
  Sample s = full();
  const std::string all = "it has: image, weight, age, name, fg, label";
  const std::string missing = "the sample has no field 'imge'; " + all;
  const Sample& c = s;
  EXPECT_EQ(message<std::out_of_range>([&] { c.get("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { s.tensor("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.real("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.integer("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.text("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.voxels("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.affine("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { c.path("imge"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([&] { s.set_path("imge", "p"); }), missing);
  EXPECT_EQ(message<std::out_of_range>([] { (void)Sample().get("a"); }), "the sample has no field 'a'; it has: none");
  EXPECT_EQ(message<std::invalid_argument>([&] { c.get("age"); }), "field 'age' is not a tensor");
  EXPECT_EQ(message<std::invalid_argument>([&] { s.tensor("name"); }), "field 'name' is not a tensor");
  EXPECT_EQ(message<std::invalid_argument>([&] { c.real("name"); }), "field 'name' is not a number");
  EXPECT_EQ(message<std::invalid_argument>([&] { c.integer("weight"); }), "field 'weight' is not an integer");
  EXPECT_EQ(message<std::invalid_argument>([&] { c.text("image"); }), "field 'image' is not a text");
  EXPECT_EQ(message<std::invalid_argument>([&] { c.voxels("image"); }), "field 'image' is not a voxel set");
  s.set("fg", std::shared_ptr<const VoxelSet>());
  EXPECT_THROW(c.voxels("fg"), std::invalid_argument);
}

TEST(Sample, ACopySharesItsVoxels) {
  const Sample s = full();
  const Sample c = s;
  EXPECT_EQ(c.get("image").raw(), s.get("image").raw());
  EXPECT_EQ(&c.voxels("fg"), &s.voxels("fg"));
  EXPECT_EQ(&c.text("name"), &s.text("name"));
  EXPECT_EQ(&c.path("image"), &s.path("image"));
  EXPECT_EQ(names(c), names(s));
}

TEST(Sample, WritingReachesNoCopyAndNoCache) {
  Sample cached = full();
  cached.freeze();
  const Tensor before = cached.get("image").clone();
  Sample a = cached, b = a;
  a.tensor("image").add_(10);
  b.tensor("image").narrow(1, 0, 1).add_(20);  // a view of b's own copy, which is then shared: a temporary changes
  EXPECT_TRUE(cached.get("image").equal(before));
  EXPECT_EQ(a.get("image").at({0, 0, 0}), 11);
  EXPECT_EQ(b.get("image").at({0, 0, 0}), 1);
  const std::byte* own = a.get("image").raw();
  a.tensor("image").add_(1);
  EXPECT_EQ(a.get("image").raw(), own) << "the second write is in place";
  EXPECT_EQ(a.affine("image"), cached.affine("image"));
  EXPECT_EQ(a.path("image"), "a.nii.gz");
  // The frozen sample itself, held by nobody else, is not written either.
  const std::byte* frozen = cached.get("label").raw();
  a.clear();
  b.clear();
  EXPECT_NE(cached.tensor("label").raw(), frozen);
}

TEST(Sample, FreezeKeepsOnlyWhatIsShown) {
  Sample s;
  const Tensor big = Tensor::zeros(DType::f32, {10, 10});
  s.set("crop", big.narrow(0, 2, 2));
  s.set("flip", big.flip({1}));
  s.set("whole", big);
  s.set("none", Tensor());
  s.freeze();
  EXPECT_EQ(s.get("crop").storage().bytes(), 80u);
  EXPECT_TRUE(s.get("flip").is_contiguous());
  EXPECT_FALSE(s.get("flip").storage().same_block(big.storage()));
  EXPECT_TRUE(s.get("whole").storage().same_block(big.storage()));
  for (const char* name : {"crop", "flip", "whole"}) EXPECT_TRUE(s.get(name).storage().read_only()) << name;
}

// Counts what it is asked for and answers with memory of its own.
struct Place : OutputPlace {
  std::vector<std::string> asked;
  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    asked.push_back("output " + std::string(field) + " " + std::string(name_of(dtype)) + " " + shape.str());
    return Tensor::empty(dtype, shape);
  }
  Tensor scratch(DType dtype, const Shape& shape) override {
    asked.push_back("scratch " + std::string(name_of(dtype)) + " " + shape.str());
    return Tensor::empty(dtype, shape);
  }
};

TEST(Sample, AsksItsOutputPlaceForNewVoxels) {
  Place place;
  Sample s = full();
  const Sample shared = s;
  s.set_output_place(&place);
  EXPECT_EQ(s.output("image", DType::f64, {2}).dtype(), DType::f64);
  (void)s.scratch(DType::u8, {3});
  s.tensor("image").add_(1);
  s.tensor("image").add_(1);  // in place now
  EXPECT_EQ(place.asked,
            (std::vector<std::string>{"output image f64 [2]", "scratch u8 [3]", "output image f32 [1, 2, 2]"}));
  // The place belongs to the run: neither copies nor moves take it along, and assignment does not replace it.
  Sample copy = s, moved = std::move(copy);
  EXPECT_EQ(copy.output_place(), nullptr);
  EXPECT_EQ(moved.output_place(), nullptr);
  s = shared;
  EXPECT_EQ(s.output_place(), &place);
  s = Sample();
  EXPECT_EQ(s.output_place(), &place);
  moved.set_output_place(nullptr);
  EXPECT_EQ(moved.output("x", DType::u8, {4}).numel(), 4);
  EXPECT_EQ(moved.scratch(DType::u8, {5}).numel(), 5);
}

TEST(Sample, OriginTravelsWithTheValue) {
  Sample s = full();
  s.set_origin({.epoch = 1, .position = 2, .index = 3, .patch = 4});
  const Sample c = s;
  EXPECT_EQ(c.origin().index, 3u);
  Sample m = std::move(s);
  EXPECT_EQ(m.origin().patch, 4u);
  Sample a;
  a = c;
  EXPECT_EQ(a.origin().epoch, 1u);
}

TEST(Sample, ReleasedValuesAreGoneButTheMapStays) {
  Sample s = full();
  const Tensor image = s.get("image");
  s.release_values();
  EXPECT_TRUE(image.writable());
  EXPECT_EQ(names(s), names(full()));
  EXPECT_THROW((void)std::as_const(s).get("image"), std::invalid_argument);
  EXPECT_EQ(s.first_path(), "");
  s = full();
  EXPECT_EQ(s.real("weight"), 0.5);
}

TEST(SampleSpec, DescribesASample) {
  const SampleSpec spec = full().spec();
  EXPECT_EQ(spec.str(),
            "image f32 [1, 2, 2], weight (number), age (integer), name (text), fg (voxel set), label u8 [1, 2, 2]");
  EXPECT_TRUE(spec.known());
  EXPECT_EQ(spec.at("label").bytes(), 4u);
  EXPECT_EQ(spec, full().spec());
  EXPECT_EQ(SampleSpec().str(), "(no fields)");
}

TEST(SampleSpec, SetFindErase) {
  SampleSpec spec;
  spec.set({.name = "image", .shape = {1, unknown, unknown}});
  spec.set({.name = "age", .kind = FieldKind::integer});
  EXPECT_FALSE(spec.known());
  EXPECT_FALSE(spec.at("image").known());
  EXPECT_TRUE(spec.at("age").known());
  EXPECT_EQ(spec.at("image").str(), "image f32 [1, ?, ?]");
  EXPECT_THROW((void)spec.at("image").bytes(), std::logic_error);
  EXPECT_THROW((void)spec.at("age").bytes(), std::logic_error);
  spec.set({.name = "image", .dtype = DType::u8, .shape = {1, 2, 3}});
  EXPECT_EQ(spec.fields.size(), 2u);
  EXPECT_EQ(spec.fields[0].bytes(), 6u);
  EXPECT_TRUE(spec.known());
  EXPECT_EQ(message<std::invalid_argument>([&] { (void)spec.at("imge"); }),
            "there is no field 'imge' among: image u8 [1, 2, 3], age (integer)");
  EXPECT_EQ(spec.find("imge"), nullptr);
  spec.erase("image");
  spec.erase("imge");
  EXPECT_EQ(spec.fields.size(), 1u);
  FieldSpec absurd{.name = "x", .shape = {std::int64_t{1} << 62}};
  EXPECT_THROW((void)absurd.bytes(), std::length_error) << "2^62 floats do not fit";
}

}  // namespace
