// Shapes of a layer. Tensors are row-major [image][y][x][channel] (NHWC), as TensorFlow keeps them; weights are
// [window y][window x][channel][filter]. Kernels guard every edge, so that no length need be a multiple of a tile.
#pragma once

struct Window {
    unsigned height, width, channels;           // of one input image
    unsigned out_height, out_width, filters;    // of one output image; filters equals channels where none are mixed
    unsigned window_height, window_width;
    unsigned stride;
    unsigned pad_top, pad_left;                 // rows and columns of zeros before the image

    // Row (or column) of the input below ``offset`` of the window at output ``at``; at least ``height`` when outside,
    // because a negative one wraps around.
    __device__ unsigned row(unsigned at, unsigned offset) const { return at * stride + offset - pad_top; }
    __device__ unsigned column(unsigned at, unsigned offset) const { return at * stride + offset - pad_left; }
    __device__ unsigned pixels() const { return height * width; }
    __device__ unsigned out_pixels() const { return out_height * out_width; }
};
