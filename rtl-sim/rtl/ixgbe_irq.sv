// 82599 interrupts: causes, masks, auto-clear and auto-mask, moderation by EITR, MSI-X with pending
// bits.
//
// Datasheet 7.3 (delivery), 8.2.3.5.1 to 8.2.3.5.18 (EICR to GPIE), 9.3.8 and PCI 3.0, 6.8.2
// (MSI-X table and pending bits). One step a cycle, which the block picks: a register access, a
// cause, a mask of the MSI-X table, or a vector that fires. Vectors whose count may have run out
// are looked at one a cycle.

module ixgbe_irq #(
    // Cycles of a step of EITR, as a power of two.
    parameter int LOG_STEP = 4,
    parameter bit PLANT = 1'b0
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [3:0]  plant,

    // A register access. Offsets of EITR beyond 0xffff are given without bit 16.
    input  logic        reg_valid,
    output logic        reg_ready,
    input  logic        reg_write,
    input  logic [15:0] reg_offset,
    input  logic [31:0] reg_value,
    output logic [31:0] reg_read,

    // A queue has something to tell, or other bits of EICR (30:16).
    input  logic        cause_valid,
    output logic        cause_ready,
    input  logic        cause_is_queue,
    input  logic [6:0]  cause_queue,
    input  logic        cause_is_tx,
    input  logic [31:0] cause_bits,

    // Mask bit of an entry of the MSI-X table.
    input  logic        mask_valid,
    output logic        mask_ready,
    input  logic [5:0]  mask_vector,
    input  logic        mask_on,

    // Messages.
    output logic        msix_valid,
    input  logic        msix_ready,
    output logic [5:0]  msix_vector,

    output logic        fire_step,
    output logic [5:0]  fire_vector,
    output logic        busy,

    output logic [31:0] causes,
    output logic [63:0] vectors,
    output logic [31:0] enabled,
    output logic [63:0] enabled_vectors,
    output logic [63:0] pending,
    output logic [63:0] pba,
    output logic        line
);
  localparam logic [31:0] RTXQ = 32'h0000_ffff, OTHER = 32'h7fff_0000, TCP_TIMER = 32'h4000_0000,
      CLEARED_WITH_OCD = 32'h3fff_0000;
  localparam int MSIX_MODE = 4, OCD = 5, EIMEN = 6, EIAME = 30;
  localparam logic [63:0] LOW = 64'hffff;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  logic [47:0] now;
  always_ff @(posedge clk) begin
    if (rst) now <= '0;
    else now <= now + 48'd1;
  end

  logic [31:0] other;
  logic [31:0] mask_other;
  logic [63:0] mask_vectors;
  logic [31:0] sent_other;
  logic [63:0] sent_vectors;
  logic [63:0] immediate;
  logic [31:0] eiac;
  logic [31:0] eiam_other;
  logic [63:0] eiam_vectors;
  logic [31:0] gpie;
  logic [31:0] ivar[64];
  logic [31:0] ivar_misc;
  logic [31:0] eitr[64];
  // When the count of a vector is 0.
  logic [47:0] zero[64];
  logic [63:0] table_mask;

  logic msix;
  assign msix = gpie[MSIX_MODE];
  assign causes = other | {16'd0, vectors[15:0]};
  assign enabled = mask_other | {16'd0, mask_vectors[15:0]};
  assign enabled_vectors = mask_vectors;
  assign line = !msix && (sent_other != 32'd0 || sent_vectors != 64'd0);

  // Which vectors want a message.
  logic [31:0] want_other;
  logic [63:0] want_vectors;
  logic [63:0] timer_bit;
  logic [63:0] rest_bit;
  assign want_other = other & mask_other & ~sent_other;
  assign want_vectors = vectors & mask_vectors & ~sent_vectors;
  assign timer_bit = ivar_misc[7] ? 64'd1 << ivar_misc[5:0] : 64'd0;
  assign rest_bit = ivar_misc[15] ? 64'd1 << ivar_misc[13:8] : 64'd0;
  always_comb begin
    pending = want_vectors;
    if ((want_other & TCP_TIMER) != 32'd0) pending = pending | timer_bit;
    if ((want_other & ~TCP_TIMER) != 32'd0) pending = pending | rest_bit;
    if (!msix) pending = {63'd0, want_other != 32'd0 || (want_vectors & LOW) != 64'd0};
  end

  // The next of them after the one that was looked at last.
  logic [5:0] last;
  logic [63:0] behind;
  logic [63:0] lowest;
  logic [5:0] candidate;
  assign behind = pending & ~((64'd2 << last) - 64'd1);
  assign lowest = behind != 64'd0 ? behind & (~behind + 64'd1) : pending & (~pending + 64'd1);
  assign candidate = {
    (lowest & 64'hffff_ffff_0000_0000) != 64'd0,
    (lowest & 64'hffff_0000_ffff_0000) != 64'd0,
    (lowest & 64'hff00_ff00_ff00_ff00) != 64'd0,
    (lowest & 64'hf0f0_f0f0_f0f0_f0f0) != 64'd0,
    (lowest & 64'hcccc_cccc_cccc_cccc) != 64'd0,
    (lowest & 64'haaaa_aaaa_aaaa_aaaa) != 64'd0
  };
  logic due;
`ifdef FORMAL_TOP
  // For the proof any count may have run out at any time.
  (* anyseq *) logic is_zero;
  assign due = lowest != 64'd0 && is_zero;
`else
  assign due = lowest != 64'd0 && (zero[candidate] <= now || immediate[candidate]);
`endif

  // Who steps: a vector that is due and an input take turns, and so do the inputs.
  logic fired_last;
  logic [1:0] turn;
  logic any_input;
  assign any_input = reg_valid || cause_valid || mask_valid;
  assign fire_step = !busy && due && !(fired_last && any_input);
  assign fire_vector = candidate;
  assign reg_ready = !busy && !fire_step && reg_valid
      && (turn == 2'd0 || !(cause_valid || mask_valid));
  assign cause_ready = !busy && !fire_step && cause_valid && !reg_ready
      && (turn == 2'd1 || !mask_valid);
  assign mask_ready = !busy && !fire_step && mask_valid && !reg_ready && !cause_ready;
  always_ff @(posedge clk) begin
    turn <= turn == 2'd2 ? 2'd0 : turn + 2'd1;
    fired_last <= fire_step;
    if (!due || fire_step) last <= candidate;
    if (rst) begin
      turn <= 2'd0;
      fired_last <= 1'b0;
      last <= 6'd63;
    end
  end

  // What a step does to causes: bits that are set, cleared, enabled and disabled.
  logic writes;
  logic [31:0] value;
  assign writes = reg_ready && reg_write;
  assign value = reg_value;
  logic [31:0] set_other;
  logic [63:0] set_vectors;
  logic [31:0] clear_other;
  logic [63:0] clear_vectors;
  logic [31:0] enable_other;
  logic [63:0] enable_vectors;
  logic [31:0] disable_other;
  logic [63:0] disable_vectors;
  logic [31:0] new_sent_other;
  logic [63:0] new_sent_vectors;

  logic [31:0] ivar_row;
  logic [7:0] ivar_entry;
  logic [5:0] cause_vector;
  assign ivar_row = ivar[cause_queue[6:1]];
  always_comb begin
    case ({cause_queue[0], cause_is_tx})
      2'd0: ivar_entry = ivar_row[7:0];
      2'd1: ivar_entry = ivar_row[15:8];
      2'd2: ivar_entry = ivar_row[23:16];
      default: ivar_entry = ivar_row[31:24];
    endcase
  end
  assign cause_vector = msix ? ivar_entry[5:0] : {2'd0, ivar_entry[3:0]};

  logic [63:0] fire_bit;
  logic [31:0] mine;
  logic [63:0] mine_vector;
  assign fire_bit = 64'd1 << candidate;
  always_comb begin
    mine = 32'd0;
    mine_vector = 64'd0;
    if (fire_step && msix) begin
      mine_vector = fire_bit & want_vectors;
      if (timer_bit == fire_bit) mine = mine | (want_other & TCP_TIMER);
      if (rest_bit == fire_bit) mine = mine | (want_other & ~TCP_TIMER);
    end
  end

  // Registers by offset; a pair of them is a bitmap of 64 vectors.
  logic is_eicr;
  logic is_eics;
  logic is_eims;
  logic is_eimc;
  logic is_eics_ex;
  logic is_eims_ex;
  logic is_eimc_ex;
  logic is_eiam_ex;
  logic is_ivar;
  logic is_eitr;
  logic [5:0] eitr_vector;
  logic [63:0] wide;
  assign is_eicr = reg_offset == 16'h0800;
  assign is_eics = reg_offset == 16'h0808;
  assign is_eims = reg_offset == 16'h0880;
  assign is_eimc = reg_offset == 16'h0888;
  assign is_eics_ex = (reg_offset & 16'hfffb) == 16'h0a90;
  assign is_eims_ex = (reg_offset & 16'hfffb) == 16'h0aa0;
  assign is_eimc_ex = (reg_offset & 16'hfffb) == 16'h0ab0;
  assign is_eiam_ex = (reg_offset & 16'hfffb) == 16'h0ad0;
  assign is_ivar = reg_offset >= 16'h0900 && reg_offset < 16'h0a00;
  logic is_eitr_low;
  logic is_eitr_high;
  logic [15:0] eitr_offset;
  assign is_eitr_low = reg_offset >= 16'h0820 && reg_offset < 16'h0880;
  assign is_eitr_high = reg_offset >= 16'h2300 && reg_offset < 16'h23a0;
  assign is_eitr = is_eitr_low || is_eitr_high;
  assign eitr_offset = is_eitr_low ? reg_offset - 16'h0820 : reg_offset - 16'h2300 + 16'd96;
  assign eitr_vector = eitr_offset[7:2];
  assign wide = reg_offset[2] ? {value, 32'd0} : {32'd0, value};

  always_comb begin
    set_other = 32'd0;
    set_vectors = 64'd0;
    clear_other = 32'd0;
    clear_vectors = 64'd0;
    enable_other = 32'd0;
    enable_vectors = 64'd0;
    disable_other = 32'd0;
    disable_vectors = 64'd0;
    new_sent_other = 32'd0;
    new_sent_vectors = 64'd0;
    if (cause_ready) begin
      if (!cause_is_queue) set_other = cause_bits & OTHER;
      else if (ivar_entry[7]) set_vectors = 64'd1 << cause_vector;
    end
    if (reg_ready && is_eicr) begin
      if (reg_write) begin
        clear_other = value & ~RTXQ;
        clear_vectors = {48'd0, value[15:0]};
      end else if (gpie[OCD]) begin
        clear_other = CLEARED_WITH_OCD;
        if (planted(4'd6)) clear_vectors = LOW;
      end else begin
        clear_other = OTHER;
        clear_vectors = LOW;
      end
      if (!msix) begin
        disable_other = eiam_other;
        disable_vectors = eiam_vectors;
      end
    end
    if (writes && is_eics) begin
      set_other = value & OTHER;
      set_vectors = {48'd0, value[15:0]};
      if (!msix) begin
        enable_other = value & eiam_other;
        enable_vectors = {48'd0, value[15:0]} & eiam_vectors;
      end
    end
    if (writes && is_eims) begin
      enable_other = value & OTHER;
      enable_vectors = {48'd0, value[15:0]};
    end
    if (writes && is_eimc) begin
      disable_other = value & ~RTXQ;
      disable_vectors = {48'd0, value[15:0]};
    end
    if (writes && is_eics_ex) set_vectors = wide;
    if (writes && is_eims_ex) enable_vectors = wide;
    if (writes && is_eimc_ex) disable_vectors = wide;
    if (fire_step) begin
      if (!msix) begin
        new_sent_other = want_other;
        new_sent_vectors = want_vectors & LOW;
      end else begin
        new_sent_other = mine;
        new_sent_vectors = mine_vector;
        // Vectors 63:16 have no bit in EIAC: they always clear themselves.
        clear_other = mine & eiac;
        clear_vectors = mine_vector & ({48'd0, eiac[15:0]} | (planted(4'd3) ? 64'd0 : ~LOW));
        if (gpie[EIAME] && !planted(4'd2)) begin
          disable_other = mine & eiam_other;
          disable_vectors = mine_vector & eiam_vectors;
        end
      end
    end
  end

  logic [31:0] next_other;
  logic [63:0] next_vectors;
  logic [31:0] next_mask_other;
  logic [63:0] next_mask_vectors;
  assign next_other = (other | set_other) & ~clear_other;
  assign next_vectors = (vectors | set_vectors) & ~clear_vectors;
  assign next_mask_other = (mask_other | enable_other) & ~disable_other;
  assign next_mask_vectors = (mask_vectors | enable_vectors) & ~disable_vectors;

  logic [47:0] interval;
  assign interval = 48'(eitr[candidate][11:3]) << LOG_STEP;
  always_ff @(posedge clk) begin
    other <= next_other;
    vectors <= next_vectors;
    mask_other <= next_mask_other;
    mask_vectors <= next_mask_vectors;
    // What was in a message counts again once its bit fell or was masked.
    sent_other <= (sent_other | new_sent_other) & next_other & next_mask_other;
    sent_vectors <= (sent_vectors | new_sent_vectors) & next_vectors & next_mask_vectors;
    immediate <= immediate & next_vectors;
    if (writes && (is_eics || is_eics_ex) && gpie[EIMEN]) begin
      immediate <= (immediate | set_vectors) & next_vectors;
    end
    if (fire_step) begin
      immediate <= msix ? immediate & ~mine_vector & next_vectors : 64'd0;
      // The count runs from the assertion.
      if (!planted(4'd1)) zero[candidate] <= now + interval;
    end
    if (writes) begin
      if (reg_offset == 16'h0810) eiac <= value & (RTXQ | TCP_TIMER);
      if (reg_offset == 16'h0890) begin
        eiam_other <= value & OTHER;
        eiam_vectors[15:0] <= value[15:0];
      end
      if (is_eiam_ex && !reg_offset[2]) eiam_vectors[31:0] <= value;
      if (is_eiam_ex && reg_offset[2]) eiam_vectors[63:32] <= value;
      if (reg_offset == 16'h0898) gpie <= value;
      if (is_ivar) ivar[reg_offset[7:2]] <= value & 32'hbfbf_bfbf;
      if (reg_offset == 16'h0a00) ivar_misc <= value & 32'h0000_bfbf;
      if (is_eitr) begin
        eitr[eitr_vector] <= value & 32'h0fff_8ff8;
        // Without CNT_WDIS the count is written too, in units of four steps.
        if (!value[31] && !planted(4'd5)) begin
          zero[eitr_vector] <= now + (48'({value[27:21], 2'd0}) << LOG_STEP);
        end
      end
    end
    if (rst) begin
      other <= 32'd0;
      vectors <= 64'd0;
      sent_other <= 32'd0;
      sent_vectors <= 64'd0;
      immediate <= 64'd0;
`ifndef FORMAL_TOP
      // A proof begins with any settings.
      mask_other <= 32'd0;
      mask_vectors <= 64'd0;
      eiac <= 32'd0;
      eiam_other <= 32'd0;
      eiam_vectors <= 64'd0;
      gpie <= 32'd0;
      ivar_misc <= 32'd0;
      for (int i = 0; i < 64; i++) begin
        ivar[i] <= 32'd0;
        eitr[i] <= 32'd0;
        zero[i] <= 48'd0;
      end
`endif
    end
  end

  // Reads.
  logic [47:0] left;
  logic [47:0] steps_left;
  logic [6:0] counter;
  assign left = zero[eitr_vector] > now ? zero[eitr_vector] - now : 48'd0;
  assign steps_left = (left + 48'((1 << LOG_STEP) - 1)) >> LOG_STEP;
  assign counter = steps_left[47:9] != '0 ? 7'h7f : steps_left[8:2];
  always_comb begin
    reg_read = 32'd0;
    if (is_eicr || is_eics) reg_read = causes;
    if (is_eims) reg_read = enabled;
    if (reg_offset == 16'h0810) reg_read = eiac;
    if (reg_offset == 16'h0890) reg_read = eiam_other | {16'd0, eiam_vectors[15:0]};
    if (reg_offset == 16'h0898) reg_read = gpie;
    if (is_ivar) reg_read = ivar[reg_offset[7:2]];
    if (reg_offset == 16'h0a00) reg_read = ivar_misc;
    if (is_eics_ex) reg_read = reg_offset[2] ? vectors[63:32] : vectors[31:0];
    if (is_eims_ex) reg_read = reg_offset[2] ? mask_vectors[63:32] : mask_vectors[31:0];
    if (is_eiam_ex) reg_read = reg_offset[2] ? eiam_vectors[63:32] : eiam_vectors[31:0];
    if (is_eitr) reg_read = (eitr[eitr_vector] & ~32'h0fe0_0000) | {4'd0, counter, 21'd0};
  end

  // Bits of no interest: reserved, below a dword, or below the unit.
  logic unused;
  assign unused = &{1'b0, ivar_entry[6], eitr_offset[15:8], eitr_offset[1:0], steps_left[1:0]};

  // The MSI-X table: a masked vector keeps one message.
  logic send;
  logic unmask;
  logic msix_push;
  logic [2:0] room;
  assign send = fire_step && msix;
  assign unmask = mask_ready && !mask_on;
  assign msix_push = (send && !table_mask[candidate]) || (unmask && pba[mask_vector]);
  always_ff @(posedge clk) begin
    if (mask_ready) table_mask[mask_vector] <= mask_on;
    if (unmask) pba[mask_vector] <= 1'b0;
    if (send && table_mask[candidate] && !planted(4'd4)) pba[candidate] <= 1'b1;
    if (rst) begin
      table_mask <= 64'd0;
      pba <= 64'd0;
    end
  end
  assign busy = rst || room == '0;
  fifo #(
      .WIDTH(6),
      .LOG_DEPTH(2)
  ) messages (
      .clk,
      .rst,
      .push(msix_push),
      .in(send ? candidate : mask_vector),
      .pop(msix_ready),
      .out(msix_vector),
      .any(msix_valid),
      .room
  );

  always_ff @(posedge clk) begin
    if (!rst) begin
      // A bit that was in a message is set and enabled.
      assert ((sent_vectors & ~(vectors & mask_vectors)) == 64'd0);
      assert ((sent_other & ~(other & mask_other)) == 32'd0);
      assert ((pba & ~table_mask) == 64'd0);
      if (fire_step) assert (pending[candidate]);
    end
  end

`ifdef FORMAL_TOP
  initial assume (rst);
  always_comb assume (plant == `PLANTED);
  // A vector above 15 that fired for its own cause has none left.
  logic fired;
  logic [5:0] fired_vector;
  always_ff @(posedge clk) begin
    fired <= mine_vector != 64'd0 && !rst;
    fired_vector <= candidate;
    if (!rst && fired && fired_vector >= 6'd16) assert (!vectors[fired_vector]);
  end
`endif
endmodule
