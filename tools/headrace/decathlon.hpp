// Dataset folders in the layout of the Medical Segmentation Decathlon: a dataset.json whose "training" list pairs
// images with labels, by names relative to the folder.
#pragma once

#include <string>
#include <vector>

namespace headrace::tool {

struct DecathlonPair {
  std::string image;  // absolute
  std::string label;
};

struct Decathlon {
  std::string root;  // absolute
  std::string name;
  std::vector<DecathlonPair> training;  // in the order of the list
  std::vector<std::string> notes;       // what was left out
};

// `folder` holds dataset.json (or is that file itself). A leading byte order mark is tolerated; entries for "._" files,
// which some archivers leave beside the real ones, are left out with a note.
// Throws IoError naming dataset.json and the entry: bad JSON, no "training" list, an empty one, an entry without image
// or label, an absolute path or one with "..", a file named twice, a file that is missing.
Decathlon read_decathlon(const std::string& folder);

}  // namespace headrace::tool
