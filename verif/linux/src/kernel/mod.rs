//! The kernels: built once from Debian's source package, kept in the user's cache.
