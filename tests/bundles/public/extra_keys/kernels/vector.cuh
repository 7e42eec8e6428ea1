// Declared beside the Python sources; this variant does without it.
#pragma once
template <typename T> struct alignas(16) Eight { T cells[8]; };
