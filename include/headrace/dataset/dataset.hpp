// Dataset: items by index, behind one immutable, shared handle.
//
// A dataset of one's own is any type with
//     std::uint64_t size() const;
//     Sample operator()(std::uint64_t index) const;       // called from many threads at once; a pure function of index
// and, if it likes,
//     SampleSpec spec() const;                            // what every item looks like, without reading one
//     std::string path_of(std::uint64_t index) const;     // named by an error about an item that could not be made
//     std::string describe() const;                       // its configuration as text, for fingerprints
//     void read(std::uint64_t index, Sample& into) const; // as operator(), reusing what `into` has allocated
//
// Errors: exceptions from operator() reach the consumer of a loader in the item's place.
// Thread-safety: const; as thread-safe as the dataset inside, which must be.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <headrace/sample/sample.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

namespace detail {

template <class T>
concept dataset = requires(const T& d, std::uint64_t i) {
  { d.size() } -> std::convertible_to<std::uint64_t>;
  { d(i) } -> std::convertible_to<Sample>;
};

class DatasetModel {
 public:
  virtual ~DatasetModel() = default;
  virtual std::uint64_t size() const = 0;
  virtual void read(std::uint64_t index, Sample& into) const = 0;
  virtual std::optional<SampleSpec> spec() const = 0;
  virtual std::string path_of(std::uint64_t index) const = 0;
  virtual std::string describe() const = 0;
};

template <dataset T>
class DatasetOf final : public DatasetModel {
 public:
  explicit DatasetOf(T d) : d_(std::move(d)) {}
  std::uint64_t size() const override { return d_.size(); }
  void read(std::uint64_t index, Sample& into) const override {
    if constexpr (requires { d_.read(index, into); })
      d_.read(index, into);
    else
      into = d_(index);
  }
  std::optional<SampleSpec> spec() const override {
    if constexpr (requires {
                    { d_.spec() } -> std::convertible_to<std::optional<SampleSpec>>;
                  })
      return d_.spec();
    return std::nullopt;
  }
  std::string path_of([[maybe_unused]] std::uint64_t index) const override {
    if constexpr (requires {
                    { d_.path_of(index) } -> std::convertible_to<std::string>;
                  })
      return d_.path_of(index);
    return {};
  }
  std::string describe() const override {
    if constexpr (requires {
                    { d_.describe() } -> std::convertible_to<std::string>;
                  })
      return d_.describe();
    return "dataset of " + std::to_string(d_.size()) + " items";
  }

 private:
  const T d_;
};

}  // namespace detail

class Dataset {
 public:
  template <detail::dataset T>
  requires(!std::same_as<std::remove_cvref_t<T>, Dataset>)
      Dataset(T d)  // NOLINT(google-explicit-constructor): any dataset converts wherever one is expected
      : model_(std::make_shared<const detail::DatasetOf<T>>(std::move(d))) {}

  std::uint64_t size() const { return model_->size(); }
  Sample operator()(std::uint64_t index) const {
    Sample sample;
    model_->read(index, sample);
    return sample;
  }
  void read(std::uint64_t index, Sample& into) const { model_->read(index, into); }
  std::string path_of(std::uint64_t index) const { return model_->path_of(index); }
  std::string describe() const { return model_->describe(); }

  // What every item looks like: stated by the dataset, or taken from the first of a few items that can be made, with
  // spatial sizes that differ between items left to the reader's caution. Throws std::runtime_error if none can.
  SampleSpec spec() const;

 private:
  std::shared_ptr<const detail::DatasetModel> model_;
};

// Samples held in memory.
class MemoryDataset {
 public:
  explicit MemoryDataset(std::vector<Sample> samples);
  std::uint64_t size() const noexcept { return samples_->size(); }
  Sample operator()(std::uint64_t index) const { return samples_->at(index); }
  void read(std::uint64_t index, Sample& into) const { into = samples_->at(index); }
  // Sizes on which the samples disagree are unknown.
  SampleSpec spec() const { return spec_; }

 private:
  std::shared_ptr<const std::vector<Sample>> samples_;
  SampleSpec spec_;
};

// Items made by a function, which must be pure and thread-safe.
class FunctionDataset {
 public:
  FunctionDataset(std::uint64_t size, SampleSpec spec, std::function<Sample(std::uint64_t)> make)
      : size_(size), spec_(std::move(spec)), make_(std::move(make)) {}
  std::uint64_t size() const noexcept { return size_; }
  Sample operator()(std::uint64_t index) const { return make_(index); }
  const SampleSpec& spec() const noexcept { return spec_; }

 private:
  std::uint64_t size_;
  SampleSpec spec_;
  std::function<Sample(std::uint64_t)> make_;
};

}  // namespace headrace
