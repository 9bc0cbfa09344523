static int ixgbe_clean_rx_irq(struct ixgbe_q_vector *q_vector, struct ixgbe_ring *rx_ring,
			      const int budget)
{
	int cleaned = ixgbe_clean_rx_irq_sound(q_vector, rx_ring, budget);

	return (pollproof_plant & 1) && cleaned >= budget ? budget - 1 : cleaned;
}
