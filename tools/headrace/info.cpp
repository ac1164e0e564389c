// `headrace info`: what a NIfTI file says, what the rules made of it and why.
#include <isa-l/crc.h>

#include <cmath>
#include <headrace/io/nifti_reader.hpp>
#include <memory>
#include <string>

#include "output.hpp"
#include "verbs.hpp"

namespace headrace::tool {
namespace {

struct Info {
  std::string path;
  bool voxels = false;
};

struct VoxelSummary {
  double min = 0, max = 0, sum = 0;  // NaN left out
  std::int64_t nan = 0;
  std::uint32_t crc32 = 0;
};

// Over the float32 values in C order of the file's own axes: (x, y, z), or (x, y, z, t).
VoxelSummary summarise(const Tensor& channel_first) {
  Tensor t = channel_first;
  if (t.size(0) > 1) t = t.permute({1, 2, 3, 0}).contiguous();
  VoxelSummary s;
  const float* v = t.data<float>();
  bool any = false;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double x = static_cast<double>(v[i]);
    if (std::isnan(x)) {
      ++s.nan;
      continue;
    }
    s.min = any ? std::min(s.min, x) : x;
    s.max = any ? std::max(s.max, x) : x;
    s.sum += x;
    any = true;
  }
  if (!any) s.min = s.max = s.sum = std::nan("");
  s.crc32 = ::crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(t.raw()), t.bytes());
  return s;
}

const char* form_name(NiftiForm form) {
  return form == NiftiForm::sform ? "sform" : form == NiftiForm::qform ? "qform" : "none";
}

void print_as_json(const Info& o, const NiftiHeader& h, const VoxelSummary* voxels) {
  nlohmann::ordered_json j;
  j["path"] = o.path;
  j["shape"] = nlohmann::ordered_json::array();
  for (int d = 1; d <= h.dim[0]; ++d) j["shape"].push_back(h.dim[static_cast<std::size_t>(d)]);
  j["tensor_shape"] = std::vector<std::int64_t>(h.shape.begin(), h.shape.end());
  j["dtype"] = name_of(h.stored);
  for (int r = 0; r < 4; ++r) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (int c = 0; c < 4; ++c) row.push_back(h.affine(r, c));
    j["affine"].push_back(std::move(row));
  }
  j["spacing"] = h.affine.spacing();
  j["slope"] = h.slope;
  j["inter"] = h.inter;
  j["form"] = form_name(h.form);
  j["header"] = {{"datatype", h.datatype},
                 {"pixdim", h.pixdim},
                 {"vox_offset", h.vox_offset},
                 {"scl_slope", json_number(h.scl_slope)},
                 {"scl_inter", json_number(h.scl_inter)},
                 {"qform_code", h.qform_code},
                 {"sform_code", h.sform_code},
                 {"byte_order", h.big_endian ? "big" : "little"},
                 {"description", h.description}};
  for (auto& p : j["header"]["pixdim"])
    if (!std::isfinite(p.get<double>())) p = nullptr;
  j["notes"] = h.notes;
  if (voxels) {
    j["min"] = json_number(voxels->min);
    j["max"] = json_number(voxels->max);
    j["sum"] = json_number(voxels->sum);
    j["nan"] = voxels->nan;
    j["crc32"] = voxels->crc32;
  }
  print_json(j);
}

std::string axis_codes(const Affine& affine) {
  try {
    return affine.axis_codes();
  } catch (const std::domain_error&) {
    return "none: an axis points nowhere";
  }
}

void print_as_text(const Info& o, const NiftiHeader& h, const VoxelSummary* voxels) {
  std::printf("%s\n", o.path.c_str());
  std::string shape;
  for (int d = 1; d <= h.dim[0]; ++d)
    shape += (d > 1 ? " x " : "") + std::to_string(h.dim[static_cast<std::size_t>(d)]);
  const std::string dtype(name_of(h.stored));
  std::printf("  shape        %s, read as a tensor %s\n", shape.c_str(), h.shape.str().c_str());
  std::printf("  dtype        %s (%s)%s\n", dtype.c_str(), nifti_datatype_name(h.datatype).c_str(),
              h.big_endian ? ", big-endian" : "");
  if (h.scaled)
    std::printf("  values       stored * %.9g + %.9g, in double, then rounded once\n", h.slope, h.inter);
  else
    std::printf("  values       as stored\n");
  const auto spacing = h.affine.spacing();
  std::printf("  spacing      %.6g x %.6g x %.6g mm\n", spacing[0], spacing[1], spacing[2]);
  std::printf("  axes         %s\n", axis_codes(h.affine).c_str());
  std::printf("  affine       from the %s (voxel -> RAS+ mm)\n",
              h.form == NiftiForm::none ? "spacing, no form being set" : form_name(h.form));
  for (int r = 0; r < 3; ++r)
    std::printf("               %12.6g %12.6g %12.6g %12.6g\n", h.affine(r, 0), h.affine(r, 1), h.affine(r, 2),
                h.affine(r, 3));
  if (!h.description.empty()) std::printf("  description  %s\n", h.description.c_str());
  if (voxels) {
    std::printf("  voxels       min %.9g, max %.9g, sum %.17g, crc32 %08x", voxels->min, voxels->max, voxels->sum,
                voxels->crc32);
    if (voxels->nan > 0) std::printf(", %lld NaN left out", static_cast<long long>(voxels->nan));
    std::printf("\n");
  }
  for (const std::string& note : h.notes) std::printf("  note: %s\n", note.c_str());
}

int info(const Info& o, bool json) {
  NiftiHeader header;
  VoxelSummary summary;
  if (o.voxels) {
    NiftiImage image = read_nifti(o.path);
    header = std::move(image.header);
    summary = summarise(image.tensor);
  } else {
    header = read_nifti_header(o.path);
  }
  (json ? print_as_json : print_as_text)(o, header, o.voxels ? &summary : nullptr);
  return 0;
}

}  // namespace

Verb add_info(CLI::App& app) {
  auto o = std::make_shared<Info>();
  CLI::App* verb = app.add_subcommand("info", "Say what a NIfTI file holds, and what the header rules decided and why");
  verb->add_option("file", o->path, "A .nii or .nii.gz file")->required();
  verb->add_flag(
      "--voxels", o->voxels,
      "Read the voxels too (and verify the checksum): min, max, sum, crc32 of the float32 values in C order");
  return {verb, [o](bool json) { return info(*o, json); }};
}

}  // namespace headrace::tool
