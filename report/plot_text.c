#include "report/ranking.h"
char report_plot_key(size_t rank)
{
	static const char keys[] = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	return rank < sizeof(keys) - 1 ? keys[rank] : '\0';
}
struct rf_error *report_plot(const struct report_view *view, FILE *stream) { return NULL; }
