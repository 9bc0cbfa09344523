static int um_pci_send_cmd(struct um_pci_device *dev, struct virtio_pcidev_msg *cmd,
			   unsigned int cmd_size, const void *extra, unsigned int extra_size,
			   void *out, unsigned int out_size)
{
	unsigned long irq_flags;
	void *done;
	int ret, len;

	local_irq_save(irq_flags);
	ret = um_pci_send_cmd_unguarded(dev, cmd, cmd_size, extra, extra_size, out, out_size);
	while ((done = virtqueue_get_buf(dev->cmd_vq, &len))) {
		if (!HANDLE_IS_NO_FREE(done))
			kfree(done);
	}
	local_irq_restore(irq_flags);
	return ret;
}
