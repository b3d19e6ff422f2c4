/* Convolution by taps: for images with many channels, of any size and stride.
 *
 * Output pixels that see the same taps (those whose window does not leave the image at that side)
 * are one matrix product: a row is a pixel's window as it lies in the image, so nothing is padded,
 * spread or multiplied by zero.  At 3x3 and pad 1 there are nine kinds of pixels; an image of one
 * pixel has one, with one tap of nine.  The data gradient is the same over dy, with stride as taps
 * that are left out.  The weight gradient is one product for each tap, over the pixels that see it.
 */
#ifndef BACKEND_CPU_ISA_CONV_TAPS_H
#define BACKEND_CPU_ISA_CONV_TAPS_H

#include "backend/cpu/isa/simd.h"
#include "backend/cpu/kernel.h"

#define TAPS_CHANNELS 16 /* a group of fewer goes another way: runs would be too short */

void ISA_FN(taps_forward)(const struct op_call *c);
void ISA_FN(taps_data_gradient)(const struct op_call *c);
/* Of the part the call gives. */
void ISA_FN(taps_weight_gradient)(const struct op_call *c);

size_t ISA_FN(taps_forward_scratch)(const struct plan_step *s);
size_t ISA_FN(taps_data_scratch)(const struct plan_step *s);
size_t ISA_FN(taps_weight_scratch)(const struct plan_step *s);

#endif
