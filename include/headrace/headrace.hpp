// Everything a trainer needs.
#pragma once

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/dataset/dataset.hpp>
#include <headrace/dataset/nifti_dataset.hpp>
#include <headrace/dataset/sampler.hpp>
#include <headrace/io/nifti_reader.hpp>
#include <headrace/io/nifti_writer.hpp>
#include <headrace/loader/digest.hpp>
#include <headrace/loader/loader.hpp>
#include <headrace/loader/verify.hpp>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>
#include <headrace/transform/crop_foreground.hpp>
#include <headrace/transform/delete_items.hpp>
#include <headrace/transform/ensure_type.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/leased.hpp>
#include <headrace/transform/orientation.hpp>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/scale_intensity_range.hpp>
#include <headrace/transform/scale_intensity_range_percentiles.hpp>
#include <headrace/transform/spacing.hpp>
#include <headrace/version.hpp>
