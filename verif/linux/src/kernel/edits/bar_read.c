static unsigned long um_pci_bar_read(void *priv, unsigned int offset, int size)
{
	unsigned long irq_flags, value;

	local_irq_save(irq_flags);
	value = um_pci_bar_read_unguarded(priv, offset, size);
	local_irq_restore(irq_flags);
	/*
	 * All ones: nobody is there, and a host only knows when it has waited
	 * for an answer (PCIe completion timeout, 50 us to 50 ms). A driver that
	 * polls until some time has passed would never see it pass otherwise.
	 */
	if (value == (~0UL >> (BITS_PER_LONG - 8 * size)))
		mdelay(10);
	return value;
}
