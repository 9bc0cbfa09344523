// The ConnectX-3's way from a completion to a message: CQs, EQs, and the order in which they speak
// to the bus.
//
// PRM, completion and event queues; PCI Express 2.4.1 (posted requests keep their order). One step
// a cycle: a record that was read, else a timer, else a command or a completion in turns. Nothing
// is stepped while the queue to the bus could run over, so a step always takes effect at once.
// SW2HW_EQ, and SW2HW_CQ without software's own initialisation, set the owner bit of all entries.

module mlx4_completion #(
    parameter int LOG_CQS = 2,
    parameter int LOG_EQS = 1,
    parameter int US_CYCLES = 250,
    parameter bit PLANT = 1'b0
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [3:0]         plant,

    // Commands and doorbells; see OP_*.
    input  logic               cmd_valid,
    output logic               cmd_ready,
    input  logic [2:0]         cmd_op,
    input  logic [LOG_CQS-1:0] cmd_cqn,
    input  logic [LOG_EQS-1:0] cmd_eqn,
    input  logic [63:0]        cmd_buf,
    input  logic [63:0]        cmd_record,
    input  logic [4:0]         cmd_log_size,
    input  logic               cmd_stride64,
    input  logic               cmd_sw_init,
    input  logic [15:0]        cmd_period,
    input  logic [15:0]        cmd_count,
    input  logic [10:0]        cmd_vector,
    input  logic [1:0]         cmd_sn,
    input  logic [2:0]         cmd_arm,
    input  logic [23:0]        cmd_ci,

    // Completions. One that waits for the record stays until it is written or dropped.
    input  logic               cpl_valid,
    output logic               cpl_step,
    output logic [2:0]         cpl_result,
    input  logic [LOG_CQS-1:0] cpl_cqn,
    input  logic [31:0]        cpl_arrival,
    input  logic [23:0]        cpl_qpn,
    input  logic [31:0]        cpl_hash,
    input  logic [15:0]        cpl_status,
    input  logic [31:0]        cpl_bytes,
    input  logic [15:0]        cpl_wqe,
    input  logic [15:0]        cpl_checksum,
    input  logic [4:0]         cpl_opcode,

    // Completions of reads: a consumer index, host byte order.
    input  logic               rec_valid,
    output logic               rec_ready,
    input  logic [7:0]         rec_tag,
    input  logic [23:0]        rec_ci,

    // Reads.
    output logic               rd_valid,
    input  logic               rd_ready,
    output logic [63:0]        rd_addr,
    output logic [7:0]         rd_tag,

    // Posted writes and messages, in order.
    output logic               wr_valid,
    input  logic               wr_ready,
    output logic               wr_msix,
    output logic [5:0]         wr_len,
    output logic [63:0]        wr_addr,
    output logic [255:0]       wr_data,

    output logic               timer_step,
    output logic [LOG_CQS-1:0] timer_cqn,
    output logic               event_step,
    output logic               eq_lost,
    output logic               misuse,
    output logic               arm_taken,
    output logic               fired,
    output logic               busy,

    input  logic [LOG_CQS-1:0] view_cqn,
    output logic               cq_valid,
    output logic [31:0]        cq_producer,
    output logic [23:0]        cq_consumer,
    output logic               cq_armed,
    output logic               cq_timer,
    output logic               cq_stopped,
    output logic               cq_sn_known,
    output logic [1:0]         cq_sn,
    input  logic [LOG_EQS-1:0] view_eqn,
    output logic               eq_valid,
    output logic [31:0]        eq_producer,
    output logic [23:0]        eq_consumer,
    output logic               eq_armed
);
  localparam logic [2:0] OP_SW2HW_EQ = 3'd0, OP_HW2SW_EQ = 3'd1, OP_SW2HW_CQ = 3'd2,
      OP_MODIFY_CQ = 3'd3, OP_HW2SW_CQ = 3'd4, OP_ARM_CQ = 3'd5, OP_EQ_DOORBELL = 3'd6;
  // The most that waits for the bus after a step: a completion, an entry and a message.
  localparam int ROOM_MIN = 4;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  // Time in cycles.
  logic [31:0] now;
  always_ff @(posedge clk) begin
    if (rst) now <= 32'd0;
    else now <= now + 32'd1;
  end

  // Who steps.
  logic ev_valid;
  logic msix_wait;
  logic fill_on;
  logic timer_due;
  logic cmd_last;
  logic [3:0] wr_room;
  logic [2:0] rd_room;
  logic act_cmd;
  assign busy = rst || ev_valid || msix_wait || fill_on || wr_room < 4'(ROOM_MIN) || rd_room == '0;
  assign rec_ready = !busy;
  assign timer_step = !busy && !rec_valid && timer_due;
  assign act_cmd = !busy && !rec_valid && !timer_due && cmd_valid && !(cpl_valid && cmd_last);
  assign cmd_ready = act_cmd;
  assign cpl_step = !busy && !rec_valid && !timer_due && cpl_valid && !act_cmd;
  always_ff @(posedge clk) begin
    if (act_cmd) cmd_last <= 1'b1;
    if (cpl_step) cmd_last <= 1'b0;
    if (rst) cmd_last <= 1'b0;
  end

  logic cq_rd_push;
  logic [63:0] cq_rd_addr;
  logic [7:0] cq_rd_tag;
  logic cq_wr_push;
  logic [63:0] cq_wr_addr;
  logic [255:0] cq_wr_data;
  logic ev_push;
  logic [LOG_EQS-1:0] new_eqn;
  logic [7:0] new_type;
  logic [LOG_CQS-1:0] new_cqn;
  logic [7:0] new_syndrome;
  logic cq_misuse;

  mlx4_cq #(
      .LOG_CQS(LOG_CQS),
      .LOG_EQS(LOG_EQS),
      .US_CYCLES(US_CYCLES),
      .PLANT(PLANT)
  ) cq (
      .clk,
      .rst,
      .plant,
      .now,
      .step_record(rec_valid && rec_ready),
      .step_timer(timer_step),
      .step_create(act_cmd && cmd_op == OP_SW2HW_CQ),
      .step_modify(act_cmd && cmd_op == OP_MODIFY_CQ),
      .step_destroy(act_cmd && cmd_op == OP_HW2SW_CQ),
      .step_arm(act_cmd && cmd_op == OP_ARM_CQ),
      .step_complete(cpl_step),
      .cmd_cqn,
      .cmd_buf,
      .cmd_record,
      .cmd_log_size,
      .cmd_stride64,
      .cmd_eqn,
      .cmd_period,
      .cmd_count,
      .cmd_sn,
      .cmd_arm,
      .cmd_ci,
      .cpl_cqn,
      .cpl_arrival,
      .cpl_qpn,
      .cpl_hash,
      .cpl_status,
      .cpl_bytes,
      .cpl_wqe,
      .cpl_checksum,
      .cpl_opcode,
      .cpl_result,
      .rec_tag,
      .rec_ci,
      .timer_due,
      .timer_cqn,
      .rd_push(cq_rd_push),
      .rd_addr(cq_rd_addr),
      .rd_tag(cq_rd_tag),
      .wr_push(cq_wr_push),
      .wr_addr(cq_wr_addr),
      .wr_data(cq_wr_data),
      .ev_push,
      .ev_eqn(new_eqn),
      .ev_type(new_type),
      .ev_cqn(new_cqn),
      .ev_syndrome(new_syndrome),
      .misuse(cq_misuse),
      .arm_taken,
      .view_cqn,
      .view_valid(cq_valid),
      .view_producer(cq_producer),
      .view_consumer(cq_consumer),
      .view_armed(cq_armed),
      .view_timer(cq_timer),
      .view_stopped(cq_stopped),
      .view_sn_known(cq_sn_known),
      .view_sn(cq_sn)
  );

  // An event goes from its CQ to its EQ in the next cycle.
  logic [LOG_EQS-1:0] ev_eqn;
  logic [7:0] ev_type;
  logic [LOG_CQS-1:0] ev_cqn;
  logic [7:0] ev_syndrome;
  always_ff @(posedge clk) begin
    ev_valid <= ev_push;
    ev_eqn <= new_eqn;
    ev_type <= new_type;
    ev_cqn <= new_cqn;
    ev_syndrome <= new_syndrome;
    if (rst) ev_valid <= 1'b0;
  end
  assign event_step = ev_valid;
  assign fired = ev_push && new_type == 8'd0;

  logic eq_wr_push;
  logic [63:0] eq_wr_addr;
  logic [255:0] eq_wr_data;
  logic msix_push;
  logic [10:0] msix_vector;
  logic eq_misuse;

  mlx4_eq #(
      .LOG_EQS(LOG_EQS),
      .PLANT(PLANT)
  ) eq (
      .clk,
      .rst,
      .plant,
      .step_create(act_cmd && cmd_op == OP_SW2HW_EQ),
      .step_destroy(act_cmd && cmd_op == OP_HW2SW_EQ),
      .step_doorbell(act_cmd && cmd_op == OP_EQ_DOORBELL),
      .step_event(ev_valid),
      .cmd_eqn,
      .cmd_buf,
      .cmd_log_size,
      .cmd_vector,
      .cmd_arm(cmd_arm[0]),
      .cmd_ci,
      .ev_eqn,
      .ev_type,
      .ev_cqn(8'(ev_cqn)),
      .ev_syndrome,
      .wr_push(eq_wr_push),
      .wr_addr(eq_wr_addr),
      .wr_data(eq_wr_data),
      .msix_push,
      .msix_vector,
      .lost(eq_lost),
      .misuse(eq_misuse),
      .view_eqn,
      .view_valid(eq_valid),
      .view_producer(eq_producer),
      .view_consumer(eq_consumer),
      .view_armed(eq_armed)
  );
  assign misuse = cq_misuse || eq_misuse;

  // A message follows its entry in the next cycle.
  logic [10:0] msix_held;
  always_ff @(posedge clk) begin
    msix_wait <= msix_push;
    msix_held <= msix_vector;
    if (rst) msix_wait <= 1'b0;
  end

  // Owner bits of a new queue, one entry a cycle.
  logic [63:0] fill_addr;
  logic [6:0] fill_stride;
  logic [31:0] fill_left;
  logic fill_push;
  logic fill_eq;
  logic fill_cq;
  assign fill_eq = act_cmd && cmd_op == OP_SW2HW_EQ && !planted(4'd10);
  assign fill_cq = act_cmd && cmd_op == OP_SW2HW_CQ && !cmd_sw_init;
  assign fill_on = fill_left != 32'd0;
  assign fill_push = fill_on && wr_room != '0 && !msix_wait && !ev_valid;
  always_ff @(posedge clk) begin
    if (fill_eq || fill_cq) begin
      fill_stride <= fill_cq && cmd_stride64 ? 7'd64 : 7'd32;
      fill_addr <= cmd_buf + (fill_cq && cmd_stride64 ? 64'd60 : 64'd28);
      fill_left <= 32'd1 << cmd_log_size;
    end else if (fill_push) begin
      fill_addr <= fill_addr + {57'd0, fill_stride};
      fill_left <= fill_left - 32'd1;
    end
    if (rst) fill_left <= 32'd0;
  end

  // To the bus.
  localparam int WR_WIDTH = 1 + 6 + 64 + 256;
  logic [WR_WIDTH-1:0] wr_in;
  always_comb begin
    wr_in = {1'b0, 6'd32, cq_wr_addr, cq_wr_data};
    if (eq_wr_push) wr_in = {1'b0, 6'd32, eq_wr_addr, eq_wr_data};
    if (fill_push) wr_in = {1'b0, 6'd4, fill_addr, 224'd0, 32'h8000_0000};
    if (msix_wait) wr_in = {1'b1, 6'd0, 53'd0, msix_held, 256'd0};
  end
  logic wr_push;
  assign wr_push = cq_wr_push || eq_wr_push || fill_push || msix_wait;
  fifo #(
      .WIDTH(WR_WIDTH),
      .LOG_DEPTH(3)
  ) posted (
      .clk,
      .rst,
      .push(wr_push),
      .in(wr_in),
      .pop(wr_ready),
      .out({wr_msix, wr_len, wr_addr, wr_data}),
      .any(wr_valid),
      .room(wr_room)
  );
  fifo #(
      .WIDTH(64 + 8),
      .LOG_DEPTH(2)
  ) reads (
      .clk,
      .rst,
      .push(cq_rd_push),
      .in({cq_rd_addr, cq_rd_tag}),
      .pop(rd_ready),
      .out({rd_addr, rd_tag}),
      .any(rd_valid),
      .room(rd_room)
  );

  // One voice at a time: nothing that was pushed gets lost.
  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (3'({2'd0, cq_wr_push}) + 3'({2'd0, eq_wr_push}) + 3'({2'd0, fill_push})
              + 3'({2'd0, msix_wait}) <= 3'd1);
    end
  end
endmodule
