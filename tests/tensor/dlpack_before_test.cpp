// The user's dlpack.h included before ours: no casts, no clash. (dlpack_after_test.cpp is the other order.)
#include "tensor/dlpack_user_header.hpp"
//
#include <headrace/tensor/dlpack.hpp>

#include "tensor/dlpack_order_test.inc"
