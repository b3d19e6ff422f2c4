/* The built-in architectures, one a file of this folder; nn/model.c holds the table. */
#ifndef NN_MODELS_MODELS_H
#define NN_MODELS_MODELS_H

#include "nn/model.h"

extern const struct model_info model_mlp, model_lenet, model_simplecnn, model_digits_cnn;

#endif
