// The hash table of the transactional unordered_map and unordered_set: a chain of nodes a bucket, so that
// transactions on different buckets do not meet but in size(). The number of buckets is a power of two.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "rubato/tm/detail/memory.hpp"

namespace rubato::tm::detail {

template <class Value>
struct HashNode {
  HashNode* next = nullptr;
  std::size_t hash = 0;
  Value value;
  template <class... Arguments>
  explicit HashNode(Arguments&&... arguments) : value(std::forward<Arguments>(arguments)...) {}
};

/// The array of buckets. It is a thing of its own, so that iterators need not know the table.
template <class Value>
struct Buckets {
  using Node = HashNode<Value>;
  Node** first = nullptr;
  std::size_t count = 0;

  /// Access for constant functions, too: see detail/memory.hpp.
  Buckets& self() const noexcept { return const_cast<Buckets&>(*this); }
  Node*& of(std::size_t hash) const { return self().first[hash & (self().count - 1)]; }
  /// The first node in bucket `i` or behind it.
  Node* from(std::size_t i) const {
    for (; i < self().count; ++i) {
      if (self().first[i] != nullptr) return self().first[i];
    }
    return nullptr;
  }
  Node* after(Node* node) const {
    return node->next != nullptr ? node->next : from((node->hash & (self().count - 1)) + 1);
  }
};

/// Copies are made by functions of the class: GCC passes a trivial class by plain loads.
template <class Value, bool IsConst>
class HashIterator {
  using Node = HashNode<Value>;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<IsConst, const Value&, Value&>;
  using pointer = std::conditional_t<IsConst, const Value*, Value*>;

  HashIterator() : buckets_(nullptr), node_(nullptr) {}
  HashIterator(const Buckets<Value>* buckets, Node* node) : buckets_(buckets), node_(node) {}
  HashIterator(const HashIterator& other) : buckets_(other.self().buckets_), node_(other.self().node_) {}
  template <bool Other, class = std::enable_if_t<IsConst && !Other>>
  HashIterator(const HashIterator<Value, Other>& other) : buckets_(other.buckets()), node_(other.node()) {}
  HashIterator& operator=(const HashIterator& other) {
    buckets_ = other.self().buckets_;
    node_ = other.self().node_;
    return *this;
  }
  ~HashIterator() = default;

  reference operator*() const { return self().node_->value; }
  pointer operator->() const { return &self().node_->value; }
  HashIterator& operator++() {
    node_ = buckets_->after(node_);
    return *this;
  }
  HashIterator operator++(int) {
    HashIterator old(*this);
    ++*this;
    return old;
  }
  friend bool operator==(const HashIterator& a, const HashIterator& b) {
    return a.self().node_ == b.self().node_;
  }
  friend bool operator!=(const HashIterator& a, const HashIterator& b) {
    return a.self().node_ != b.self().node_;
  }
  /// For the containers alone.
  /**@{*/
  const Buckets<Value>* buckets() const { return self().buckets_; }
  Node* node() const { return self().node_; }
  /**@}*/

 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  HashIterator& self() const noexcept { return const_cast<HashIterator&>(*this); }

  const Buckets<Value>* buckets_;
  Node* node_;
};

/// The common part of unordered_map and unordered_set. `KeyOf` is a function object: the key of a value.
template <class Key, class Value, class KeyOf, class Hash, class Equal, bool IsSet>
class HashTable {
  using Node = HashNode<Value>;

 public:
  using key_type = Key;
  using value_type = Value;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using hasher = Hash;
  using key_equal = Equal;
  using reference = Value&;
  using const_reference = const Value&;
  using iterator = HashIterator<Value, IsSet>;
  using const_iterator = HashIterator<Value, true>;

  [[gnu::always_inline]] constexpr HashTable() { make_at_run_time(); }
  [[gnu::always_inline]] HashTable(size_type buckets, Hash hash, Equal equal) : hash_(hash), equal_(equal) {
    if (buckets > 0) rehash(buckets);
  }
  [[gnu::always_inline]] HashTable(const HashTable& other)
      : HashTable(0, other.self().hash_, other.self().equal_) {
    load_ = other.self().load_;
    reserve(other.self().size_);
    insert(other.begin(), other.end());
  }
  [[gnu::always_inline]] HashTable(HashTable&& other) noexcept
      : HashTable(0, other.self().hash_, other.self().equal_) {
    swap(other);
  }
  [[gnu::always_inline]] ~HashTable() {
    clear();
    deallocate(buckets_.first);
  }
  HashTable& operator=(const HashTable& other) {
    if (this != &other) {
      HashTable copy(other);
      swap(copy);
    }
    return *this;
  }
  HashTable& operator=(HashTable&& other) noexcept {
    HashTable taken(std::move(other));
    swap(taken);
    return *this;
  }

  iterator begin() noexcept { return iterator(&buckets_, buckets_.from(0)); }
  const_iterator begin() const noexcept { return const_iterator(&self().buckets_, self().buckets_.from(0)); }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(&buckets_, nullptr); }
  const_iterator end() const noexcept { return const_iterator(&self().buckets_, nullptr); }
  const_iterator cend() const noexcept { return end(); }

  bool empty() const noexcept { return self().size_ == 0; }
  size_type size() const noexcept { return self().size_; }
  static constexpr size_type max_size() noexcept { return kMaxCount<Node> - 1; }
  hasher hash_function() const { return self().hash_; }
  key_equal key_eq() const { return self().equal_; }

  iterator find(const Key& key) { return iterator(&buckets_, found(key)); }
  const_iterator find(const Key& key) const { return const_iterator(&self().buckets_, found(key)); }
  bool contains(const Key& key) const { return found(key) != nullptr; }
  size_type count(const Key& key) const { return contains(key) ? 1 : 0; }
  std::pair<iterator, iterator> equal_range(const Key& key) { return range<iterator>(found(key)); }
  std::pair<const_iterator, const_iterator> equal_range(const Key& key) const {
    return range<const_iterator>(found(key));
  }

  template <class... Arguments>
  std::pair<iterator, bool> emplace(Arguments&&... arguments) {
    MadeNode<Node> made{make_node<Node>(std::forward<Arguments>(arguments)...)};
    const Key& key = KeyOf()(made.node->value);
    const size_type hash = hash_(key);
    if (Node* const node = found(key, hash)) return {iterator(&buckets_, node), false};
    add(made, hash);
    return {iterator(&buckets_, made.release()), true};
  }
  template <class... Arguments>
  iterator emplace_hint(const const_iterator&, Arguments&&... arguments) {
    return emplace(std::forward<Arguments>(arguments)...).first;
  }
  /// A node is made only if there is no such key.
  std::pair<iterator, bool> insert(const Value& value) { return insert_new(KeyOf()(value), value); }
  std::pair<iterator, bool> insert(Value&& value) { return insert_new(KeyOf()(value), std::move(value)); }
  iterator insert(const const_iterator&, const Value& value) { return insert(value).first; }
  iterator insert(const const_iterator&, Value&& value) { return insert(std::move(value)).first; }
  template <class Iterator, class = if_iterator<Iterator>>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(*first);
  }
  void insert(std::initializer_list<Value> values) { insert(values.begin(), values.end()); }

  iterator erase(const const_iterator& position) {
    Node* const next = buckets_.after(position.node());
    remove(position.node());
    return iterator(&buckets_, next);
  }
  iterator erase(const const_iterator& first, const const_iterator& last) {
    Node* at = first.node();
    while (at != last.node()) {
      Node* const next = buckets_.after(at);
      remove(at);
      at = next;
    }
    return iterator(&buckets_, at);
  }
  size_type erase(const Key& key) {
    Node* const node = found(key);
    if (node == nullptr) return 0;
    remove(node);
    return 1;
  }
  void clear() noexcept {
    for (size_type i = 0; i < buckets_.count && size_ > 0; ++i) {
      while (Node* const node = buckets_.first[i]) {
        buckets_.first[i] = node->next;
        --size_;
        free_node(node);
      }
    }
  }

  size_type bucket_count() const noexcept { return self().buckets_.count; }
  float load_factor() const noexcept {
    return self().buckets_.count == 0
               ? 0.0F
               : static_cast<float>(self().size_) / static_cast<float>(self().buckets_.count);
  }
  float max_load_factor() const noexcept { return self().load_; }
  /// At least a tenth.
  void max_load_factor(float load) { load_ = load > 0.1F ? load : 0.1F; }
  /// At least so many buckets, and as many as the elements need.
  void rehash(size_type count) {
    if (count > max_size()) throw std::length_error("rubato::tm: a container's size exceeds max_size()");
    size_type buckets = 8;
    while (buckets < count || capacity_of(buckets) < size_) buckets *= 2;
    if (buckets != buckets_.count) move_to(buckets);
  }
  void reserve(size_type count) {
    if (count > max_size()) throw std::length_error("rubato::tm: a container's size exceeds max_size()");
    size_type buckets = 8;
    while (capacity_of(buckets) < count) buckets *= 2;
    if (buckets > buckets_.count) move_to(buckets);
  }

 protected:
  /// Makes a value of `arguments` unless the key is there.
  template <class... Arguments>
  std::pair<iterator, bool> insert_new(const Key& key, Arguments&&... arguments) {
    const size_type hash = hash_(key);
    if (Node* const node = found(key, hash)) return {iterator(&buckets_, node), false};
    MadeNode<Node> made{make_node<Node>(std::forward<Arguments>(arguments)...)};
    add(made, hash);
    return {iterator(&buckets_, made.release()), true};
  }
  Node* found(const Key& key) const {
    return self().buckets_.count == 0 ? nullptr : found(key, self().hash_(key));
  }
  void swap(HashTable& other) noexcept {
    Node** const first = buckets_.first;
    const size_type count = buckets_.count;
    const size_type size = size_;
    const float load = load_;
    buckets_.first = other.buckets_.first;
    buckets_.count = other.buckets_.count;
    size_ = other.size_;
    load_ = other.load_;
    other.buckets_.first = first;
    other.buckets_.count = count;
    other.size_ = size;
    other.load_ = load;
    std::swap(hash_, other.hash_);
    std::swap(equal_, other.equal_);
  }
  /// Whether `other` has equal values for the same keys, in any order.
  template <class IsEqual>
  bool equals(const HashTable& other, IsEqual is_equal) const {
    if (self().size_ != other.self().size_) return false;
    for (const_iterator at = begin(); at != end(); ++at) {
      const Node* const node = other.found(KeyOf()(*at));
      if (node == nullptr || !is_equal(*at, node->value)) return false;
    }
    return true;
  }

 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  HashTable& self() const noexcept { return const_cast<HashTable&>(*this); }
  size_type capacity_of(size_type buckets) const {
    return static_cast<size_type>(static_cast<double>(buckets) * static_cast<double>(self().load_));
  }
  Node* found(const Key& key, size_type hash) const {
    if (self().buckets_.count == 0) return nullptr;
    for (Node* at = self().buckets_.of(hash); at != nullptr; at = at->next) {
      if (at->hash == hash && self().equal_(KeyOf()(at->value), key)) return at;
    }
    return nullptr;
  }
  template <class Iterator>
  std::pair<Iterator, Iterator> range(Node* node) const {
    return {Iterator(&self().buckets_, node),
            Iterator(&self().buckets_, node == nullptr ? nullptr : self().buckets_.after(node))};
  }
  void add(const MadeNode<Node>& made, size_type hash) {
    if (size_ >= capacity_of(buckets_.count)) reserve(size_ + 1);
    made.node->hash = hash;
    made.node->next = buckets_.of(hash);
    buckets_.of(hash) = made.node;
    ++size_;
  }
  void remove(Node* node) {
    Node** at = &buckets_.of(node->hash);
    while (*at != node) at = &(*at)->next;
    *at = node->next;
    --size_;
    free_node(node);
  }
  void move_to(size_type count) {
    Buckets<Value> buckets;
    buckets.first = allocate<Node*>(count);
    buckets.count = count;
    for (size_type i = 0; i < count; ++i) buckets.first[i] = nullptr;
    for (size_type i = 0; i < buckets_.count; ++i) {
      while (Node* const node = buckets_.first[i]) {
        buckets_.first[i] = node->next;
        node->next = buckets.of(node->hash);
        buckets.of(node->hash) = node;
      }
    }
    deallocate(buckets_.first);
    buckets_.first = buckets.first;
    buckets_.count = buckets.count;
  }

  Buckets<Value> buckets_;
  size_type size_ = 0;
  float load_ = 1.0F;
  Hash hash_ = Hash();
  Equal equal_ = Equal();
};

}  // namespace rubato::tm::detail
