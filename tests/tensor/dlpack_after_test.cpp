// The user's dlpack.h included after ours: no casts, no clash. (dlpack_before_test.cpp is the other order.)
#include <headrace/tensor/dlpack.hpp>
//
#include "tensor/dlpack_user_header.hpp"
//
#include "tensor/dlpack_order_test.inc"
