// An ordered map whose copies share structure.
//
// Two levels: a list of chunks of at most kChunkMax entries. A copy costs one pointer. The
// first change after a copy duplicates the list and one chunk; later changes go in place.
// Meant for up to some 10^6 entries: at 10^6 a copied list is about 20,000 pointers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/cow.h"

namespace moulin {

template <class Key, class Value>
class CowMap {
  static constexpr size_t kChunkMax = 64;
  using Entry = std::pair<Key, Value>;
  using Chunk = std::vector<Entry>;   // sorted, never empty
  using Chunks = std::vector<Cow<Chunk>>;

 public:
  // Iterator over `const pair<Key, Value>` in order of key, forwards and back. Good while
  // the map that made it is neither changed nor destroyed.
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    const Entry& operator*() const { return (*(*chunks_)[chunk_])[entry_]; }
    const Entry* operator->() const { return &**this; }
    Iterator& operator++() {
      if (++entry_ == (*chunks_)[chunk_]->size()) {
        ++chunk_;
        entry_ = 0;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    // Not of begin().
    Iterator& operator--() {
      if (entry_ == 0) entry_ = (*chunks_)[--chunk_]->size();
      --entry_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return chunk_ == other.chunk_ && entry_ == other.entry_; }

   private:
    friend class CowMap;
    Iterator(const Chunks* chunks, size_t chunk, size_t entry) : chunks_(chunks), chunk_(chunk), entry_(entry) {}
    const Chunks* chunks_ = nullptr;
    size_t chunk_ = 0;
    size_t entry_ = 0;
  };

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return {&*chunks_, 0, 0}; }
  Iterator end() const { return {&*chunks_, chunks_->size(), 0}; }

  // The first entry whose key is not below `key`.
  Iterator lower_bound(const Key& key) const {
    size_t chunk = chunk_of(key);
    if (chunk == chunks_->size()) return end();
    return {&*chunks_, chunk, position_in(*(*chunks_)[chunk], key)};
  }

  // nullptr when absent. Good until the map is changed.
  const Value* find(const Key& key) const {
    Iterator at = lower_bound(key);
    return at == end() || at->first != key ? nullptr : &at->second;
  }
  bool contains(const Key& key) const { return find(key) != nullptr; }

  // Requires the key.
  const Value& at(const Key& key) const {
    const Value* value = find(key);
    MOULIN_CHECK(value != nullptr, "no such key");
    return *value;
  }

  // The value to change, held by no copy of this map; nullptr when absent.
  Value* find_mutable(const Key& key) {
    size_t chunk = chunk_of(key);
    if (chunk == chunks_->size()) return nullptr;
    size_t entry = position_in(*(*chunks_)[chunk], key);
    if ((*(*chunks_)[chunk])[entry].first != key) return nullptr;
    return &chunks_.mutate()[chunk].mutate()[entry].second;
  }
  // Requires the key.
  Value& at_mutable(const Key& key) {
    Value* value = find_mutable(key);
    MOULIN_CHECK(value != nullptr, "no such key");
    return *value;
  }

  // Inserts or replaces; the value as it now stands.
  Value& set(const Key& key, Value value) {
    Chunks& chunks = chunks_.mutate();
    if (chunks.empty()) {
      chunks.push_back(Cow<Chunk>(Chunk{Entry{key, std::move(value)}}));
      size_ = 1;
      return chunks.front().mutate().front().second;
    }
    size_t index = std::min(chunk_of(key), chunks.size() - 1);
    Chunk& chunk = chunks[index].mutate();
    size_t entry = position_in(chunk, key);
    if (entry < chunk.size() && chunk[entry].first == key) return chunk[entry].second = std::move(value);
    chunk.insert(chunk.begin() + static_cast<std::ptrdiff_t>(entry), Entry{key, std::move(value)});
    ++size_;
    if (chunk.size() <= kChunkMax) return chunk[entry].second;
    return split(chunks, index, entry);
  }

  // Whether there was such an entry.
  bool erase(const Key& key) {
    if (!contains(key)) return false;
    size_t index = chunk_of(key);
    Chunks& chunks = chunks_.mutate();
    Chunk& chunk = chunks[index].mutate();
    chunk.erase(chunk.begin() + static_cast<std::ptrdiff_t>(position_in(chunk, key)));
    if (chunk.empty()) chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(index));
    --size_;
    return true;
  }

  bool operator==(const CowMap& other) const {
    return size_ == other.size_ && std::equal(begin(), end(), other.begin());
  }

 private:
  // The chunk that holds or would hold the key: the first whose last key is not below it.
  size_t chunk_of(const Key& key) const {
    auto below = [](const Cow<Chunk>& chunk, const Key& wanted) { return chunk->back().first < wanted; };
    auto at = std::lower_bound(chunks_->begin(), chunks_->end(), key, below);
    return static_cast<size_t>(at - chunks_->begin());
  }
  static size_t position_in(const Chunk& chunk, const Key& key) {
    auto below = [](const Entry& entry, const Key& wanted) { return entry.first < wanted; };
    return static_cast<size_t>(std::lower_bound(chunk.begin(), chunk.end(), key, below) - chunk.begin());
  }
  // Halves an overfull chunk; where entry `entry` went. Appending in order of key leaves full chunks behind.
  Value& split(Chunks& chunks, size_t index, size_t entry) {
    Chunk& left = chunks[index].mutate();
    size_t keep = entry + 1 == left.size() && index + 1 == chunks.size() ? kChunkMax : left.size() / 2;
    auto middle = left.begin() + static_cast<std::ptrdiff_t>(keep);
    Chunk right(std::make_move_iterator(middle), std::make_move_iterator(left.end()));
    left.erase(middle, left.end());
    chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(index) + 1, Cow<Chunk>(std::move(right)));
    if (entry < keep) return chunks[index].mutate()[entry].second;
    return chunks[index + 1].mutate()[entry - keep].second;
  }

  Cow<Chunks> chunks_;
  size_t size_ = 0;
};

}  // namespace moulin
