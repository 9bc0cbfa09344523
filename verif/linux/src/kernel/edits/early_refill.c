static unsigned int pollproof_plant;
module_param_named(plant, pollproof_plant, uint, 0444);

static bool ixgbe_can_reuse_rx_page(struct ixgbe_rx_buffer *rx_buffer, int rx_buffer_pgcnt)
{
	if (pollproof_plant & 2)
		rx_buffer_pgcnt = rx_buffer->pagecnt_bias;
	return ixgbe_can_reuse_rx_page_sound(rx_buffer, rx_buffer_pgcnt);
}
