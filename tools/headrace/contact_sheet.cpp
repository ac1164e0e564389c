#include "contact_sheet.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "canvas.hpp"

namespace headrace::tool {
namespace {

constexpr int gap = 6;  // between slices, and around a tile
constexpr int text_height = 14;

constexpr std::array<Colour, 10> palette{{{230, 60, 60},
                                          {60, 180, 75},
                                          {255, 200, 30},
                                          {65, 130, 255},
                                          {245, 130, 48},
                                          {170, 70, 210},
                                          {70, 220, 220},
                                          {240, 60, 220},
                                          {190, 240, 70},
                                          {250, 170, 190}}};

// One patch, as float grey values and labels in [x, y, z] order.
struct Patch {
  std::array<std::int64_t, 3> n{};
  std::vector<float> grey;          // 0..1
  std::vector<std::int64_t> label;  // empty for none

  std::size_t at(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((x * n[1] + y) * n[2] + z);
  }
};

std::vector<float> window(std::vector<float> v) {
  std::vector<float> sorted;
  for (float x : v)
    if (std::isfinite(x)) sorted.push_back(x);
  if (sorted.empty()) return std::vector<float>(v.size(), 0.0f);
  const auto percentile = [&](double p) {
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(p * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  };
  const float low = percentile(0.005), high = percentile(0.995);
  const float range = high > low ? high - low : 1.0f;
  for (float& x : v) x = std::isfinite(x) ? std::clamp((x - low) / range, 0.0f, 1.0f) : 0.0f;
  return v;
}

Patch read_patch(const SheetEntry& e, std::size_t index) {
  const std::string at = "contact sheet: entry " + std::to_string(index) + ": ";
  if (!e.image.defined() || e.image.rank() != 4 || e.image.numel() == 0)
    throw std::invalid_argument(at + "the image has shape " + e.image.shape().str() + "; expected [C, x, y, z]");
  Patch p;
  for (int d = 0; d < 3; ++d) p.n[static_cast<std::size_t>(d)] = e.image.size(d + 1);
  const Tensor image = e.image.narrow(0, 0, 1).to(DType::f32).contiguous();
  p.grey = window(std::vector<float>(image.data<float>(), image.data<float>() + image.numel()));
  if (!e.label.defined()) return p;
  if (e.label.rank() != 4 || e.label.numel() == 0 || e.label.narrow(0, 0, 1).shape() != image.shape())
    throw std::invalid_argument(at + "the label has shape " + e.label.shape().str() + ", the image " +
                                e.image.shape().str());
  const Tensor label = e.label.narrow(0, 0, 1).to(DType::i64).contiguous();
  p.label.assign(label.data<std::int64_t>(), label.data<std::int64_t>() + label.numel());
  return p;
}

// Per axis the slice with the most labelled voxels; the middle one without any.
std::array<std::int64_t, 3> best_slices(const Patch& p) {
  std::array<std::vector<std::int64_t>, 3> counts;
  for (std::size_t d = 0; d < 3; ++d) counts[d].assign(static_cast<std::size_t>(p.n[d]), 0);
  std::size_t i = 0;
  if (!p.label.empty())
    for (std::int64_t x = 0; x < p.n[0]; ++x)
      for (std::int64_t y = 0; y < p.n[1]; ++y)
        for (std::int64_t z = 0; z < p.n[2]; ++z, ++i)
          if (p.label[i] != 0) {
            ++counts[0][static_cast<std::size_t>(x)];
            ++counts[1][static_cast<std::size_t>(y)];
            ++counts[2][static_cast<std::size_t>(z)];
          }
  std::array<std::int64_t, 3> best{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto top = std::max_element(counts[d].begin(), counts[d].end());
    best[d] = *top == 0 ? p.n[d] / 2 : top - counts[d].begin();
  }
  return best;
}

// A slice across `normal`: horizontal axis u, vertical axis v pointing up.
struct Plane {
  std::size_t normal, u, v;
};
constexpr std::array<Plane, 3> planes{{{2, 0, 1}, {1, 0, 2}, {0, 1, 2}}};

Colour blend(Colour a, Colour b, float share) {
  const auto mix = [&](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(static_cast<float>(x) * (1 - share) + static_cast<float>(y) * share + 0.5f);
  };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

void draw_slice(Canvas& canvas, int left, int top, const Patch& p, const Plane& plane, std::int64_t slice, int scale) {
  const std::int64_t nu = p.n[plane.u], nv = p.n[plane.v];
  const auto voxel = [&](std::int64_t u, std::int64_t v) {
    std::array<std::int64_t, 3> i{};
    i[plane.normal] = slice;
    i[plane.u] = u;
    i[plane.v] = v;
    return p.at(i[0], i[1], i[2]);
  };
  for (std::int64_t v = 0; v < nv; ++v)
    for (std::int64_t u = 0; u < nu; ++u) {
      const std::size_t at = voxel(u, v);
      const auto level = static_cast<std::uint8_t>(p.grey[at] * 255 + 0.5f);
      Colour c{level, level, level};
      if (!p.label.empty() && p.label[at] != 0) {
        const std::int64_t value = p.label[at];
        const auto same = [&](std::int64_t a, std::int64_t b) {
          return a >= 0 && a < nu && b >= 0 && b < nv && p.label[voxel(a, b)] == value;
        };
        const bool inside = same(u - 1, v) && same(u + 1, v) && same(u, v - 1) && same(u, v + 1);
        // Spread over the palette: neighbouring label values get unlike colours.
        const auto colour =
            palette[static_cast<std::size_t>(static_cast<std::uint64_t>(value - 1) * 7 % palette.size())];
        c = blend(c, colour, inside ? 0.35f : 0.85f);
      }
      canvas.rectangle(left + static_cast<int>(u) * scale, top + static_cast<int>(nv - 1 - v) * scale, scale, scale, c);
    }
}

struct Tile {
  int width = 0, height = 0, scale = 1;
};

Tile tile_of(const Patch& p, int slice_size) {
  const std::int64_t longest = *std::max_element(p.n.begin(), p.n.end());
  Tile t;
  t.scale = static_cast<int>(std::max<std::int64_t>(1, (slice_size + longest - 1) / longest));
  t.width = gap;
  for (const Plane& plane : planes) {
    t.width += static_cast<int>(p.n[plane.u]) * t.scale + gap;
    t.height = std::max(t.height, static_cast<int>(p.n[plane.v]) * t.scale);
  }
  t.height += text_height + 2 * gap;
  return t;
}

}  // namespace

void write_contact_sheet(const std::string& path, const std::vector<SheetEntry>& entries, const SheetOptions& options) {
  if (entries.empty()) throw std::invalid_argument("contact sheet: no patches; expected at least one");
  std::vector<Patch> patches;
  int width = 0, height = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    patches.push_back(read_patch(entries[i], i));
    const Tile t = tile_of(patches.back(), options.slice_size);
    width = std::max(width, t.width);
    height = std::max(height, t.height);
  }
  const int count = static_cast<int>(patches.size());
  int columns = options.columns;
  if (columns <= 0)
    for (columns = 1; columns < count && columns * width < (count + columns - 1) / columns * height; ++columns) {
    }
  const int rows = (count + columns - 1) / columns;
  Canvas canvas(columns * width + gap, rows * height + gap, {24, 24, 28});
  for (int i = 0; i < count; ++i) {
    const Patch& p = patches[static_cast<std::size_t>(i)];
    const int left = gap / 2 + i % columns * width, top = gap / 2 + i / columns * height;
    canvas.text(left + gap, top + gap / 2 + 1, entries[static_cast<std::size_t>(i)].caption, {220, 220, 220});
    const std::array<std::int64_t, 3> slices = best_slices(p);
    const int scale = tile_of(p, options.slice_size).scale;
    int x = left + gap;
    for (const Plane& plane : planes) {
      draw_slice(canvas, x, top + text_height + gap, p, plane, slices[plane.normal], scale);
      x += static_cast<int>(p.n[plane.u]) * scale + gap;
    }
  }
  canvas.write_png(path);
}

}  // namespace headrace::tool
