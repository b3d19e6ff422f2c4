/* California housing: from cal_housing.data to the eight features and the target.
 *
 * Raw columns: longitude, latitude, median age, rooms, bedrooms, population, households, median
 * income, median value.  Features, as scikit-learn derives them: MedInc, HouseAge, AveRooms and
 * AveBedrms (a household), Population, AveOccup (persons a household), Latitude, Longitude; target:
 * median value in 100,000 dollars.
 */
#ifndef DATA_CAL_HOUSING_H
#define DATA_CAL_HOUSING_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define CAL_HOUSING_FEATURES 8
#define CAL_HOUSING_MAX_ROWS 100000

struct cal_housing {
    int64_t n;
    double (*feature)[CAL_HOUSING_FEATURES]; /* n rows */
    double *target;                          /* n */
};

/* Parses the text of a file (nine comma-separated numbers a line, at least two lines); `path` names
 * it in errors ("path:line: what"). */
bool cal_housing_parse(const char *text, size_t len, const char *path, struct cal_housing *out,
                       struct error *err);
void cal_housing_release(struct cal_housing *h);
/* Mean and standard deviation (ddof 1) of feature j, in double. */
void cal_housing_moments(const struct cal_housing *h, int j, double *mean, double *sd);

#endif
