// ConnectX-3 event queues: EQE with owner bit by lap, one MSI-X message an arm.
//
// PRM, event queues: EQ context, EQE, EQ doorbell (arm in bit 31, consumer index in bits 23:0).
// Linux 6.12 drivers/net/ethernet/mellanox/mlx4/eq.c for what a driver relies on: it arms after its
// last look, so that an arm with entries pending sends its message at once.

module mlx4_eq #(
    parameter int LOG_EQS = 1,
    parameter bit PLANT = 1'b0
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [3:0]         plant,

    // One of these at a time.
    input  logic               step_create,
    input  logic               step_destroy,
    input  logic               step_doorbell,
    input  logic               step_event,

    input  logic [LOG_EQS-1:0] cmd_eqn,
    input  logic [63:0]        cmd_buf,
    input  logic [4:0]         cmd_log_size,
    input  logic [10:0]        cmd_vector,
    input  logic               cmd_arm,
    input  logic [23:0]        cmd_ci,

    input  logic [LOG_EQS-1:0] ev_eqn,
    input  logic [7:0]         ev_type,
    input  logic [7:0]         ev_cqn,
    input  logic [7:0]         ev_syndrome,

    output logic               wr_push,
    output logic [63:0]        wr_addr,
    output logic [255:0]       wr_data,
    // The message goes out after the entry.
    output logic               msix_push,
    output logic [10:0]        msix_vector,
    output logic               lost,
    output logic               misuse,

    input  logic [LOG_EQS-1:0] view_eqn,
    output logic               view_valid,
    output logic [31:0]        view_producer,
    output logic [23:0]        view_consumer,
    output logic               view_armed
);
  localparam int EQS = 1 << LOG_EQS;

  logic [EQS-1:0] valid;
  logic [63:0] base[EQS];
  logic [4:0] log_size[EQS];
  logic [10:0] vector[EQS];
  logic [31:0] producer[EQS];
  logic [23:0] consumer[EQS];
  logic [EQS-1:0] armed;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  function automatic logic [31:0] be(input logic [31:0] word);
    be = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  logic [LOG_EQS-1:0] n;
  assign n = step_event ? ev_eqn : cmd_eqn;

  logic [31:0] size;
  logic [23:0] held;
  logic [23:0] ahead;
  logic written;
  assign size = 32'd1 << log_size[n];
  assign held = producer[n][23:0] - consumer[n];
  assign ahead = producer[n][23:0] - cmd_ci;
  assign written = step_event && valid[n] && {8'd0, held} < size;
  assign lost = step_event && valid[n] && !written;

  // What is pending and whether the queue is armed after this step, the message aside.
  logic bell;
  logic [23:0] held_next;
  logic armed_next;
  logic sends;
  assign bell = step_doorbell && valid[n];
  always_comb begin
    held_next = held;
    if (written) held_next = held + 24'd1;
    if (bell && ahead < held) held_next = ahead;
    armed_next = armed[n] || (bell && cmd_arm);
    sends = (written || bell) && armed_next && held_next != 24'd0;
    if (bell && planted(4'd9)) sends = 1'b0;
  end

  always_ff @(posedge clk) begin
    if (written) producer[n] <= producer[n] + 32'd1;
    if (bell && ahead < held) consumer[n] <= cmd_ci;
    if (written || bell) armed[n] <= armed_next && (!sends || planted(4'd8));
    if (step_destroy) valid[n] <= 1'b0;
    if (step_create) begin
      valid[n] <= 1'b1;
      base[n] <= cmd_buf;
      log_size[n] <= cmd_log_size;
      vector[n] <= cmd_vector;
      producer[n] <= 32'd0;
      consumer[n] <= 24'd0;
      armed[n] <= 1'b1;
    end
    if (rst) valid <= '0;
  end

  logic lap;
  logic [31:0] slot;
  assign lap = (producer[n] & size) != 32'd0;
  assign slot = producer[n] & (size - 32'd1);
  assign wr_push = written;
  assign wr_addr = base[n] + {27'd0, slot, 5'd0};
  assign wr_data = {
    be({24'd0, lap, 7'd0}),
    96'd0,
    be({24'd0, ev_syndrome}),
    32'd0,
    be({24'd0, ev_cqn}),
    be({8'd0, ev_type, 16'd0})
  };
  assign msix_push = sends;
  assign msix_vector = vector[n];
  assign misuse = (step_doorbell && !valid[n]) || (bell && ahead[23]);

  assign view_valid = valid[view_eqn];
  assign view_producer = producer[view_eqn];
  assign view_consumer = consumer[view_eqn];
  assign view_armed = armed[view_eqn];

  always_ff @(posedge clk) begin
    if (!rst) begin
      if (written) assert ({8'd0, held} < size);
      if (sends) assert (held_next != 24'd0);
    end
  end

`ifdef FORMAL_TOP
  // For the proof: one step at a time, sizes as SW2HW_EQ allows them.
  initial assume (rst);
  always_comb begin
    assume ($onehot0({step_create, step_destroy, step_doorbell, step_event}));
    assume (cmd_log_size <= 5'd22);
    assume (plant == `PLANTED);
  end
  // Whether a queue was armed since its last message.
  logic [EQS-1:0] owed;
  always_ff @(posedge clk) begin
    if (sends) owed[n] <= 1'b0;
    else if (bell && cmd_arm) owed[n] <= 1'b1;
    if (step_create) owed[n] <= 1'b1;
    if (!rst) begin
      // One message an arm.
      if (sends) assert (owed[n] || (bell && cmd_arm));
      for (int i = 0; i < EQS; i++) begin
        if (valid[i]) begin
          assert (log_size[i] <= 5'd22);
          assert ({8'd0, 24'(producer[i][23:0] - consumer[i])} <= 32'd1 << log_size[i]);
          assert (armed[i] == owed[i]);
          // An armed queue with entries has sent its message: nothing waits without one.
          assert (!armed[i] || producer[i][23:0] == consumer[i]);
        end
      end
    end
  end
`endif
endmodule
