
ccflags-y += -include $(srctree)/include/linux/pollproof_cpus.h
