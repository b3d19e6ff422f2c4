/* Which device a run trains on: --device, --gpu, --compile. */
#include "base/env.h"
#include "cli/run_plan.h"
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

static bool given(const struct option_value *values, const char *name)
{
    return run_value(values, name)->given;
}

static const char *text_of(const struct option_value *values, const char *name,
                           const char *otherwise)
{
    return given(values, name) ? run_value(values, name)->text : otherwise;
}

/* Flags of a GPU that a run on the CPU could not use. */
static bool check_cpu_flags(const struct option_value *values, struct error *err)
{
    if (given(values, "--gpu"))
        return error_set(err, ERROR_USAGE,
                         "--gpu and --device cpu contradict each other; leave one out");
    if (given(values, "--compile"))
        return error_set(err, ERROR_USAGE,
                         "--compile specialises GPU code, and this run trains on the CPU, where it "
                         "would change nothing; leave it out");
    return true;
}

/* --device, else FUGUE_DEVICE, else auto; NULL: the variable's word is none of the three. */
static const char *device_asked(const struct option_value *values, struct error *err)
{
    const char *variable = env_value(ENV_DEVICE);
    if (given(values, "--device"))
        return run_value(values, "--device")->text;
    if (!variable[0] || given(values, "--gpu"))
        return "auto";
    for (int i = 0; run_device_choices[i]; i++)
        if (strcmp(variable, run_device_choices[i]) == 0)
            return variable;
    error_set(err, ERROR_USAGE, "FUGUE_DEVICE: '%s' is none of auto, cpu, cuda", variable);
    return NULL;
}

bool run_device(const struct option_value *values, struct run_device *out, struct error *err)
{
    const char *device = device_asked(values, err);
    const bool gpu = given(values, "--gpu");
    const struct engine_options cuda = {.device = "cuda",
                                        .gpu = gpu ? (int)run_value(values, "--gpu")->integer : 0};
    struct error why = ERROR_INIT;
    *out = (struct run_device){.name = "cpu"};
    if (!device)
        return false;
    if (strcmp(device, "cpu") == 0)
        return check_cpu_flags(values, err);
    if (engine_check(&cuda, &why)) {
        out->name = "cuda";
        out->gpu = cuda.gpu;
        out->compile = strcmp(text_of(values, "--compile", "off"), "on") == 0;
        if (strcmp(device, "auto") == 0)
            snprintf(out->notice, sizeof out->notice, "training on GPU %d", cuda.gpu);
        return true;
    }
    if (strcmp(device, "cuda") == 0 || gpu) {
        if (err)
            *err = why;
        return error_prefix(err, "%s", gpu ? "--gpu" : "--device cuda");
    }
    snprintf(out->notice, sizeof out->notice, "no GPU can be used: training on the CPU");
    return check_cpu_flags(values, err);
}
