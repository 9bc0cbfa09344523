
unsigned int pollproof_cpus = 1;
core_param(pollproof_cpus, pollproof_cpus, uint, 0444);
