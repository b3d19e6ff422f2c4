/* The built-in architectures, one a file of this folder; nn/model.c holds the table. */
#ifndef NN_MODELS_MODELS_H
#define NN_MODELS_MODELS_H

#include "nn/model.h"

extern const struct model_info model_mlp, model_lenet, model_simplecnn, model_digits_cnn,
    model_resnet18, model_resnet50, model_mobilenet_v3_small, model_transformer, model_xlm_roberta,
    model_vgg16_cbam;

/* ---- what several architectures share ---- */

/* "features.%d.block.0" and the like, for one call of a builder; cut at a name's length, where the
 * builder then says so. */
struct layer_name {
    char text[96];
};
struct layer_name layer_name(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Starts as torchvision's vision networks: convolution weights normal(0, sqrt(2 / fan_out)),
 * fan_out = output channels x kernel (kaiming_normal_, fan_out, relu); a bias is 0.  Gives the node
 * back. */
int init_kaiming_fan_out(struct graph *g, int conv);
/* Weight normal(0, deviation), bias 0. */
int init_normal(struct graph *g, int node, double deviation);
/* Dropout of `percent` of the values; none at 0. */
int dropout_percent(struct graph *g, int x, int64_t percent);

#endif
