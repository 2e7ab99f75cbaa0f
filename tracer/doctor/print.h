/* How the doctor's report is shown. */
#pragma once

#include "base/error.h"
#include "tracer/doctor/report.h"

/* A table of `columns` columns (of text; below 60 it is 60), and the sentence. */
struct rf_error *doctor_print(const struct doctor_report *report, size_t columns, FILE *stream);
struct rf_error *doctor_write_json(const struct doctor_report *report, FILE *stream);
