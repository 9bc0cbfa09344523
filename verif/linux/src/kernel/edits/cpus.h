/* A driver that is compiled with this is told of more CPUs than the one there is. */
#include <linux/cpumask.h>

extern unsigned int pollproof_cpus;

#undef num_online_cpus
#define num_online_cpus() pollproof_cpus
#undef nr_cpu_ids
#define nr_cpu_ids pollproof_cpus
