// What the queues have in common: which types they hold, and how a push ends.
#pragma once
#include <type_traits>

namespace headrace {

/// What a queue can hold. Moving and destroying must not throw: both happen when a place is already claimed, and a
/// claimed place that is never filled would stop everybody behind it. Copies may throw; they are made before the claim.
template <class T>
concept Element = std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>> &&
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

/// How a push ended. Except after `ok` the argument is as it was.
enum class [[nodiscard]] PushResult{
    ok,     ///< the element is in the queue
    full,   ///< no place was free; try again later
    closed  ///< the queue was closed; no later push will succeed
};

}  // namespace headrace
