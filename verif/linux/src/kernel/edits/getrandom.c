ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	if (getenv("POLLPROOF_NO_HOST_RANDOM"))
		return -ENOSYS;
	return os_getrandom_of_host(buf, len, flags);
}
