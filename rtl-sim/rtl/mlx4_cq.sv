// ConnectX-3 completion queues: owner bit by lap, consumer index, arm with sequence number, events
// at once or moderated, overrun.
//
// PRM, completion queues: CQ context, CQE, doorbell record, arm doorbell. Field positions as in
// Linux 6.12 include/linux/mlx4/{cq,device}.h. The engine performs one step a cycle, which the
// block around it picks; a step is a command, a completion, a record that was read, or a timer.
//
// What the PRM leaves open is answered as docs/FIDELITY.md says for the model.

module mlx4_cq #(
    parameter int LOG_CQS = 2,
    parameter int LOG_EQS = 1,
    // Cycles of a microsecond, the unit of moderation.
    parameter int US_CYCLES = 250,
    // Builds planted faults in, which `plant` picks; without it they do not exist.
    parameter bit PLANT = 1'b0
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [3:0]         plant,
    input  logic [31:0]        now,

    // One of these at a time.
    input  logic               step_record,
    input  logic               step_timer,
    input  logic               step_create,
    input  logic               step_modify,
    input  logic               step_destroy,
    input  logic               step_arm,
    input  logic               step_complete,

    // Commands and the arm doorbell.
    input  logic [LOG_CQS-1:0] cmd_cqn,
    input  logic [63:0]        cmd_buf,
    input  logic [63:0]        cmd_record,
    input  logic [4:0]         cmd_log_size,
    input  logic               cmd_stride64,
    input  logic [LOG_EQS-1:0] cmd_eqn,
    input  logic [15:0]        cmd_period,
    input  logic [15:0]        cmd_count,
    input  logic [1:0]         cmd_sn,
    input  logic [2:0]         cmd_arm,
    input  logic [23:0]        cmd_ci,

    // A completion that wants an entry.
    input  logic [LOG_CQS-1:0] cpl_cqn,
    input  logic [31:0]        cpl_arrival,
    input  logic [23:0]        cpl_qpn,
    input  logic [31:0]        cpl_hash,
    input  logic [15:0]        cpl_status,
    input  logic [31:0]        cpl_bytes,
    input  logic [15:0]        cpl_wqe,
    input  logic [15:0]        cpl_checksum,
    input  logic [4:0]         cpl_opcode,
    // 1: written, 2: waits for the record, 3: overrun, 4: the queue is stopped or is none.
    output logic [2:0]         cpl_result,

    // The record of a queue was read.
    input  logic [7:0]         rec_tag,
    input  logic [23:0]        rec_ci,

    output logic               timer_due,
    output logic [LOG_CQS-1:0] timer_cqn,

    // Read of a consumer index.
    output logic               rd_push,
    output logic [63:0]        rd_addr,
    output logic [7:0]         rd_tag,

    // The completion as written.
    output logic               wr_push,
    output logic [63:0]        wr_addr,
    output logic [255:0]       wr_data,

    // Event for an EQ.
    output logic               ev_push,
    output logic [LOG_EQS-1:0] ev_eqn,
    output logic [7:0]         ev_type,
    output logic [LOG_CQS-1:0] ev_cqn,
    output logic [7:0]         ev_syndrome,

    output logic               misuse,
    output logic               arm_taken,

    // State of one queue.
    input  logic [LOG_CQS-1:0] view_cqn,
    output logic               view_valid,
    output logic [31:0]        view_producer,
    output logic [23:0]        view_consumer,
    output logic               view_armed,
    output logic               view_timer,
    output logic               view_stopped,
    output logic               view_sn_known,
    output logic [1:0]         view_sn
);
  localparam int CQS = 1 << LOG_CQS;

  localparam logic [1:0] ARM_OFF = 2'd0, ARM_SOLICITED = 2'd1, ARM_NEXT = 2'd2;
  localparam logic [2:0] CMD_SOLICITED = 3'd1, CMD_NEXT = 3'd2;
  localparam logic [7:0] EV_COMP = 8'h00, EV_CQ_ERR = 8'h04, SYNDROME_OVERRUN = 8'h01;
  localparam logic [4:0] OPCODE_ERROR = 5'h1e;

  logic [CQS-1:0] valid;
  logic [63:0] base[CQS];
  logic [63:0] record[CQS];
  logic [4:0] log_size[CQS];
  logic [CQS-1:0] stride64;
  logic [LOG_EQS-1:0] eqn[CQS];
  logic [15:0] period[CQS];
  logic [15:0] count[CQS];
  logic [31:0] producer[CQS];
  logic [23:0] consumer[CQS];
  logic [1:0] arm[CQS];
  logic [CQS-1:0] sn_known;
  logic [1:0] sn[CQS];
  logic [31:0] notified[CQS];
  logic [31:0] first[CQS];
  logic [CQS-1:0] timer;
  logic [CQS-1:0] stopped;
  logic [CQS-1:0] reading;
  logic [CQS-1:0] read_known;
  logic [31:0] read_for[CQS];
  logic [5:0] epoch[CQS];

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  // Words of the device are big endian in memory.
  function automatic logic [31:0] be(input logic [31:0] word);
    be = {word[7:0], word[15:8], word[23:16], word[31:24]};
  endfunction

  // The queue that this step is about.
  logic [LOG_CQS-1:0] n;
  assign n = step_record ? rec_tag[LOG_CQS-1:0]
      : step_timer ? timer_cqn
      : step_complete ? cpl_cqn
      : cmd_cqn;

  // Indices: 24 bits count, more are kept so that laps go on.
  logic [31:0] size;
  logic [23:0] held;
  logic [23:0] ci;
  logic [23:0] ahead;
  logic newer;
  logic unsound;
  assign size = 32'd1 << log_size[n];
  assign held = producer[n][23:0] - consumer[n];
  assign ci = step_record ? rec_ci : cmd_ci;
  assign ahead = producer[n][23:0] - ci;
  assign newer = ahead < held || planted(4'd6);
  assign unsound = ahead[23];

  // Arm: the first number that comes counts; it goes on when the queue fires.
  logic arm_known;
  logic arm_ok;
  assign arm_known = cmd_arm == CMD_NEXT || cmd_arm == CMD_SOLICITED;
  assign arm_ok = step_arm && arm_known && valid[n] && !stopped[n]
      && (!sn_known[n] || sn[n] == cmd_sn || planted(4'd2));
  assign arm_taken = arm_ok;

  // A record that was read counts for the queue that asked.
  logic rec_ok;
  assign rec_ok = step_record && valid[n] && epoch[n] == rec_tag[7:2];

  // Room for a completion.
  logic written;
  logic overrun;
  logic ask;
  always_comb begin
    written = 1'b0;
    overrun = 1'b0;
    ask = 1'b0;
    cpl_result = 3'd0;
    if (step_complete) begin
      if (!valid[n] || stopped[n]) begin
        cpl_result = 3'd4;
      end else if ({8'd0, held} < size) begin
        written = 1'b1;
        cpl_result = 3'd1;
      end else if (reading[n]) begin
        cpl_result = 3'd2;
      end else if ((read_known[n] && read_for[n] == cpl_arrival) || planted(4'd7)) begin
        overrun = 1'b1;
        cpl_result = 3'd3;
      end else begin
        ask = 1'b1;
        cpl_result = 3'd2;
      end
    end
  end

  // Moderation. After a completion or MODIFY_CQ an armed queue fires, or its timer starts. A
  // period of 0 is none, whatever the count.
  logic [31:0] next_producer;
  logic [31:0] unnotified;
  logic [15:0] period_now;
  logic [15:0] count_now;
  logic judged;
  logic due;
  assign next_producer = producer[n] + {31'd0, written};
  assign unnotified = next_producer - notified[n];
  assign period_now = step_modify ? cmd_period : period[n];
  assign count_now = step_modify ? cmd_count : count[n];
  assign judged = (written || (step_modify && valid[n])) && !stopped[n];
  assign due = unnotified != 32'd0 && (period_now == 16'd0
      || (count_now != 16'd0 && unnotified >= {16'd0, count_now} + {31'd0, planted(4'd3)}));

  logic fire;
  logic start_timer;
  always_comb begin
    fire = 1'b0;
    start_timer = 1'b0;
    if (judged && arm[n] == ARM_NEXT) begin
      fire = due;
      start_timer = !due && period_now != 16'd0 && unnotified != 32'd0;
    end
    if (judged && arm[n] == ARM_SOLICITED) fire = written && cpl_opcode == OPCODE_ERROR;
    if (step_timer) fire = timer[n];
    // Completions beyond the index that the driver gives: it must not wait for another.
    if (arm_ok && cmd_arm == CMD_NEXT) fire = ahead != 24'd0 && !planted(4'd5);
  end

  // One timer is looked at a cycle.
  logic [LOG_CQS-1:0] scan;
  logic [31:0] waited;
  assign waited = now - first[scan];
  assign timer_cqn = scan;
  assign timer_due = timer[scan] && waited >= {16'd0, period[scan]} * US_CYCLES;

  always_ff @(posedge clk) begin
    // One that is due keeps its turn until it is taken.
    if (!timer_due || step_timer) scan <= scan + 1'b1;
    if (rec_ok) begin
      reading[n] <= 1'b0;
      read_known[n] <= 1'b1;
      if (newer) consumer[n] <= ci;
    end
    if (written) begin
      producer[n] <= next_producer;
      if (producer[n] == notified[n] || planted(4'd4)) first[n] <= now;
    end
    if (ask) begin
      reading[n] <= 1'b1;
      read_for[n] <= cpl_arrival;
      read_known[n] <= 1'b0;
    end
    if (overrun) begin
      stopped[n] <= 1'b1;
      timer[n] <= 1'b0;
    end
    if (step_modify && valid[n]) begin
      period[n] <= cmd_period;
      count[n] <= cmd_count;
      if (cmd_period == 16'd0) timer[n] <= 1'b0;
    end
    if (start_timer) timer[n] <= 1'b1;
    if (arm_ok) begin
      arm[n] <= cmd_arm == CMD_NEXT ? ARM_NEXT : ARM_SOLICITED;
      sn[n] <= cmd_sn;
      sn_known[n] <= 1'b1;
      if (newer) consumer[n] <= ci;
      // The driver has seen all: moderation counts from here.
      notified[n] <= producer[n];
      timer[n] <= 1'b0;
    end
    if (fire) begin
      arm[n] <= ARM_OFF;
      sn[n] <= (arm_ok ? cmd_sn : sn[n]) + 2'd1;
      notified[n] <= next_producer;
      timer[n] <= 1'b0;
    end
    if (step_destroy) begin
      valid[n] <= 1'b0;
      timer[n] <= 1'b0;
    end
    if (step_create) begin
      valid[n] <= 1'b1;
      base[n] <= cmd_buf;
      record[n] <= cmd_record;
      log_size[n] <= cmd_log_size;
      stride64[n] <= cmd_stride64;
      eqn[n] <= cmd_eqn;
      period[n] <= cmd_period;
      count[n] <= cmd_count;
      producer[n] <= 32'd0;
      consumer[n] <= 24'd0;
      arm[n] <= ARM_OFF;
      sn_known[n] <= 1'b0;
      notified[n] <= 32'd0;
      timer[n] <= 1'b0;
      stopped[n] <= 1'b0;
      reading[n] <= 1'b0;
      read_known[n] <= 1'b0;
      epoch[n] <= epoch[n] + 6'd1;
    end
    if (rst) begin
      scan <= '0;
      valid <= '0;
      timer <= '0;
      for (int i = 0; i < CQS; i++) epoch[i] <= 6'd0;
    end
  end

  assign rd_push = ask;
  assign rd_addr = record[n];
  assign rd_tag = {epoch[n], n};

  logic lap;
  logic [31:0] slot;
  logic [63:0] offset;
  // The lap's parity is the bit above the slot's.
  assign lap = ((producer[n] + {31'd0, planted(4'd1)}) & size) != 32'd0;
  assign slot = producer[n] & (size - 32'd1);
  // With a stride of 64 the body lies in the upper half.
  assign offset = stride64[n] ? {26'd0, slot, 6'd32} : {27'd0, slot, 5'd0};
  assign wr_push = written;
  assign wr_addr = base[n] + offset;
  assign wr_data = {
    be({24'd0, lap, 2'd0, cpl_opcode}),
    be({cpl_wqe, cpl_checksum}),
    be(cpl_bytes),
    be({cpl_status, 16'd0}),
    64'd0,
    be(cpl_hash),
    be({8'd0, cpl_qpn})
  };

  assign ev_push = fire || overrun;
  assign ev_eqn = eqn[n];
  assign ev_cqn = n;
  assign ev_type = overrun ? EV_CQ_ERR : EV_COMP;
  assign ev_syndrome = overrun ? SYNDROME_OVERRUN : 8'd0;

  assign misuse = (step_arm && (!arm_known || !valid[n] || stopped[n]))
      || (arm_ok && unsound)
      || (rec_ok && unsound);

  assign view_valid = valid[view_cqn];
  assign view_producer = producer[view_cqn];
  assign view_consumer = consumer[view_cqn];
  assign view_armed = arm[view_cqn] == ARM_NEXT && !stopped[view_cqn];
  assign view_timer = timer[view_cqn];
  assign view_stopped = stopped[view_cqn];
  assign view_sn_known = sn_known[view_cqn];
  assign view_sn = sn[view_cqn];

  // The engine never holds more than its entries, and never writes into one that is not read.
  always_ff @(posedge clk) begin
    if (!rst) begin
      if (written) assert ({8'd0, held} < size);
      if (step_complete) assert (!(written && overrun));
      if (fire && !arm_ok) assert (valid[n] && arm[n] != ARM_OFF);
      if (timer_due) assert (valid[scan] && !stopped[scan]);
    end
  end

`ifdef FORMAL_TOP
  // For the proof: one step at a time, sizes as SW2HW_CQ allows them, queues made once.
  initial assume (rst);
  always_comb begin
    assume ($onehot0({step_record, step_timer, step_create, step_modify, step_destroy, step_arm,
        step_complete}));
    assume (cmd_log_size <= 5'd17);
    assume (!step_timer || timer_due);
    assume (plant == `PLANTED);
  end
  always_ff @(posedge clk) begin
    if (!rst) begin
      for (int i = 0; i < CQS; i++) begin
        if (valid[i]) begin
          // A CQ never holds more than it has entries: nothing unread is written over.
          assert (log_size[i] <= 5'd17);
          assert ({8'd0, 24'(producer[i][23:0] - consumer[i])} <= 32'd1 << log_size[i]);
          assert (arm[i] != 2'd3);
          // A timer runs for a queue that is armed and works, and so an event has its arm.
          if (timer[i]) assert (arm[i] == ARM_NEXT && !stopped[i]);
        end
        if (timer[i]) assert (valid[i]);
      end
    end
  end
`endif
endmodule
