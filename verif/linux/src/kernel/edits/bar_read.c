static unsigned long um_pci_bar_read(void *priv, unsigned int offset, int size)
{
	unsigned long irq_flags, value;

	local_irq_save(irq_flags);
	value = um_pci_bar_read_unguarded(priv, offset, size);
	local_irq_restore(irq_flags);
	return value;
}
