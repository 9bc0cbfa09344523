// 82599 receive DMA: descriptors, data and write-back of a frame that the filters let through.
//
// Datasheet 7.1.5, 7.1.6 (write-back, legacy and advanced), 7.1.9 (ring), 4.6.7 (enable, disable),
// 8.2.3.8 (registers). A frame takes all its buffers at once; without descriptors it is dropped
// where its queue has DROP_EN, else it waits and holds back what is behind it. Data goes before
// the write-back that tells of it, and a write-back is one unit of 16 bytes.
//
// An input is taken when the one before has had all its effects: the engine is one machine, which
// stalls as a whole while the bus takes nothing. Data itself does not pass: a write names its part
// of the frame.

module ixgbe_rx #(
    parameter int LOG_QUEUES = 2,
    parameter logic [6:0] PTHRESH = 7'd8,
    parameter logic [6:0] HTHRESH = 7'd4,
    parameter int BURST = 8,
    parameter int IN_FLIGHT = 2,
    parameter bit PLANT = 1'b0
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [3:0]            plant,

    // Registers of a queue, by offset in its block (0x1000 + 0x40 * queue).
    input  logic                  reg_valid,
    output logic                  reg_ready,
    input  logic                  reg_write,
    input  logic [LOG_QUEUES-1:0] reg_queue,
    input  logic [5:0]            reg_offset,
    input  logic [31:0]           reg_value,
    output logic [31:0]           reg_read,
    output logic                  tail_beyond,
    output logic                  tail_backwards,

    // Completions of fetches: a descriptor at a time.
    input  logic                  fill_valid,
    output logic                  fill_ready,
    input  logic [LOG_QUEUES+1:0] fill_tag,
    input  logic [127:0]          fill_data,
    input  logic                  fill_last,

    // Frames, classified.
    input  logic                  frame_valid,
    output logic                  frame_ready,
    input  logic [LOG_QUEUES-1:0] frame_queue,
    input  logic [15:0]           frame_len,
    // Dwords 0 and 1 of an advanced write-back, bits of dword 2 and the tag in dword 3.
    input  logic [31:0]           frame_type,
    input  logic [31:0]           frame_hash,
    input  logic [31:0]           frame_status,
    input  logic [15:0]           frame_vlan,
    input  logic [15:0]           frame_sum,

    // Reads.
    output logic                  rd_valid,
    input  logic                  rd_ready,
    output logic [63:0]           rd_addr,
    output logic [15:0]           rd_bytes,
    output logic [LOG_QUEUES+1:0] rd_tag,

    // Posted writes: a part of the frame, or a descriptor.
    output logic                  wr_valid,
    input  logic                  wr_ready,
    output logic                  wr_is_data,
    output logic [63:0]           wr_addr,
    output logic [15:0]           wr_bytes,
    output logic [15:0]           wr_offset,
    output logic [127:0]          wr_data,

    // A frame ended in memory, or was dropped: 1 the queue is off, 2 no descriptor, 3 never fits.
    output logic                  cause,
    output logic [LOG_QUEUES-1:0] cause_queue,
    output logic [1:0]            drop,
    output logic [LOG_QUEUES-1:0] drop_queue,
    output logic                  idle
);
  localparam int QUEUES = 1 << LOG_QUEUES;
  localparam logic [5:0] RDBAL = 6'h00, RDBAH = 6'h04, RDLEN = 6'h08, RDH = 6'h10, SRRCTL = 6'h14,
      RDT = 6'h18, RXDCTL = 6'h28;
  localparam int ENABLE = 25, DROP_EN = 28;
  localparam logic [1:0] OFF = 2'd0, ON = 2'd1, STOPPING = 2'd2;
  localparam logic [1:0] DROP_OFF = 2'd1, DROP_NONE = 2'd2, DROP_LOST = 2'd3;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  logic [31:0] rdbal[QUEUES];
  logic [31:0] rdbah[QUEUES];
  logic [31:0] rdlen[QUEUES];
  logic [31:0] rdh[QUEUES];
  logic [31:0] rdt[QUEUES];
  logic [31:0] srrctl[QUEUES];
  logic [31:0] rxdctl[QUEUES];
  logic [1:0] enable[QUEUES];

  typedef enum logic [3:0] {
    IDLE,
    SETTLE,
    STOP,
    PLAN,
    FRAME,
    COUNT,
    CHECK,
    DATA,
    WRITE_BACK
  } state_t;
  state_t state;

  // The frame at the head, and the queue that is being seen to.
  logic parked;
  logic [LOG_QUEUES-1:0] queue;
  logic [LOG_QUEUES-1:0] f_queue;
  logic [15:0] f_len;
  logic [31:0] f_type;
  logic [31:0] f_hash;
  logic [31:0] f_status;
  logic [15:0] f_vlan;
  logic [15:0] f_sum;
  logic [6:0] need;
  logic [15:0] at;
  logic [6:0] plan_need;
  // The frame was tried: planning for it ends the step.
  logic tried;

  assign idle = state == IDLE && !rst;
  assign fill_ready = idle && fill_valid;
  assign reg_ready = idle && reg_valid && !fill_valid;
  assign frame_ready = idle && frame_valid && !parked && !fill_valid && !reg_valid;

  // The queue of this cycle's step.
  logic [LOG_QUEUES-1:0] n;
  always_comb begin
    n = queue;
    if (fill_ready) n = fill_tag[LOG_QUEUES+1:2];
    else if (reg_ready) n = reg_queue;
    else if (state == FRAME || state == CHECK || state == DATA || state == WRITE_BACK) n = f_queue;
  end

  logic writes;
  logic writes_tail;
  logic starts;
  logic stops;
  logic sound;
  assign writes = reg_ready && reg_write;
  assign writes_tail = writes && reg_offset == RDT && enable[n] == ON;
  assign sound = rdbal[n][6:0] == 7'd0 && (rdlen[n] & ~32'h000f_ff80) == 32'd0
      && rdlen[n] != 32'd0;
  assign starts = writes && reg_offset == RXDCTL && reg_value[ENABLE] && enable[n] == OFF && sound;
  assign stops = writes && reg_offset == RXDCTL && !reg_value[ENABLE] && enable[n] == ON;

  logic [15:0] ring_size;
  logic [15:0] start_head;
  assign ring_size = rdlen[n][19:4];
  // A head beyond the ring is taken modulo its size.
  assign start_head = ring_size == 16'd0 ? 16'd0 : rdh[n][15:0] % ring_size;

  logic fetch_plan;
  logic plan_due;
  logic [15:0] buffer;
  logic [127:0] front;
  logic [15:0] head;
  logic [15:0] tail;
  logic [63:0] front_addr;
  logic [15:0] size;
  logic [5:0] cached;
  logic [16:0] owned;
  logic fetching;
  logic [QUEUES-1:0] have;
  logic unsettled;
  logic [63:0] plan_addr;
  logic [15:0] plan_bytes;
  logic [1:0] plan_open;
  logic beyond;
  logic backwards;
  logic pop;
  logic [2:0] rd_room;
  logic [3:0] wr_room;
  assign fetch_plan = state == PLAN && rd_room != '0;
  assign pop = state == WRITE_BACK && wr_room != '0;
  ixgbe_fetch #(
      .LOG_QUEUES(LOG_QUEUES),
      .LOG_CACHE(5),
      .BURST(BURST),
      .IN_FLIGHT(IN_FLIGHT),
      .PLANT(PLANT)
  ) fetch (
      .clk,
      .rst,
      .plant,
      .n,
      .step_start(starts),
      .step_tail(writes_tail),
      .step_plan(fetch_plan),
      .step_fill(fill_ready),
      .step_settle(state == SETTLE),
      .step_pop(pop),
      .start_base({rdbah[n], rdbal[n]}),
      .start_size(ring_size),
      .start_head,
      .new_tail(reg_value[15:0]),
      .tail_beyond(beyond),
      .tail_backwards(backwards),
      .pthresh(PTHRESH),
      .hthresh(HTHRESH),
      .need(plan_need),
      .plan_due,
      .plan_addr,
      .plan_bytes,
      .plan_open,
      .fill_open(fill_tag[1:0]),
      .fill_data,
      .fill_last,
      .unsettled,
      .front,
      .head,
      .tail,
      .front_addr,
      .size,
      .cached,
      .owned,
      .fetching,
      .have
  );
  assign tail_beyond = writes_tail && beyond;
  assign tail_backwards = writes_tail && backwards;
  assign buffer = {1'b0, srrctl[n][4:0], 10'd0};

  // What becomes of the frame.
  logic [1:0] why;
  logic fits;
  always_comb begin
    why = 2'd0;
    fits = 1'b0;
    if (state == FRAME && enable[n] != ON) why = DROP_OFF;
    else if (state == FRAME && buffer == 16'd0) why = DROP_LOST;
    if (state == CHECK) begin
      if (7'(cached) >= need) fits = 1'b1;
      else if (16'(need) >= size) why = DROP_LOST;
      else if (owned < 17'(need) && srrctl[n][DROP_EN]) why = DROP_NONE;
    end
  end
  assign drop = why;
  assign drop_queue = planted(4'd3) ? queue : f_queue;

  logic [15:0] left;
  logic [15:0] part;
  logic ends;
  assign left = f_len - at;
  assign part = left < buffer ? left : buffer;
  assign ends = left <= buffer;
  assign cause = pop && ends && !planted(4'd4);
  assign cause_queue = n;

  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        tried <= 1'b0;
        plan_need <= 7'd0;
        queue <= n;
        if (fill_ready) begin
          if (fill_last) state <= SETTLE;
        end else if (reg_ready && reg_write) begin
          state <= stops ? STOP : writes_tail ? PLAN : parked ? FRAME : IDLE;
        end else if (frame_ready) begin
          state <= FRAME;
        end
      end
      SETTLE: if (!unsettled) state <= enable[n] == ON ? PLAN : STOP;
      // A queue that stops is off when nothing of it is open.
      STOP: begin
        if (enable[n] == STOPPING && !fetching) begin
          enable[n] <= OFF;
          rdh[n] <= {16'd0, head};
        end
        state <= parked ? FRAME : IDLE;
      end
      PLAN: if (!plan_due) state <= parked && !tried ? FRAME : IDLE;
      FRAME: begin
        need <= 7'd0;
        at <= 16'd0;
        state <= why != 2'd0 ? IDLE : COUNT;
      end
      // How many buffers it takes, one a cycle.
      COUNT: begin
        need <= need + 7'd1;
        at <= at + srrctl_buffer;
        if (f_len - at <= srrctl_buffer) state <= CHECK;
      end
      CHECK: begin
        at <= 16'd0;
        queue <= f_queue;
        tried <= 1'b1;
        plan_need <= need;
        if (fits) state <= DATA;
        else if (why == 2'd0 && owned >= 17'(need)) state <= PLAN;
        else state <= IDLE;
      end
      DATA: begin
        plan_need <= 7'd0;
        if (wr_room != '0) state <= WRITE_BACK;
      end
      WRITE_BACK:
      if (pop) begin
        at <= at + part;
        state <= ends ? PLAN : DATA;
        if (ends) parked <= 1'b0;
      end
      default: state <= IDLE;
    endcase
    if (why != 2'd0) parked <= 1'b0;
    if (frame_ready) begin
      parked <= 1'b1;
      f_queue <= frame_queue;
      f_len <= frame_len;
      f_type <= frame_type;
      f_hash <= frame_hash;
      f_status <= frame_status;
      f_vlan <= frame_vlan;
      f_sum <= frame_sum;
    end
    if (writes) begin
      case (reg_offset)
        RDBAL: rdbal[n] <= reg_value;
        RDBAH: rdbah[n] <= reg_value;
        RDLEN: rdlen[n] <= reg_value;
        RDH: rdh[n] <= reg_value;
        SRRCTL: srrctl[n] <= reg_value;
        RXDCTL: rxdctl[n] <= reg_value & ~32'h0400_0000;
        RDT: if (enable[n] != ON || !beyond) rdt[n] <= {16'd0, reg_value[15:0]};
        default: ;
      endcase
    end
    if (starts) begin
      enable[n] <= ON;
      rdt[n] <= {16'd0, start_head};
    end
    if (stops) enable[n] <= STOPPING;
    if (rst) begin
      state <= IDLE;
      parked <= 1'b0;
      for (int i = 0; i < QUEUES; i++) begin
        enable[i] <= OFF;
        rdbal[i] <= 32'd0;
        rdbah[i] <= 32'd0;
        rdlen[i] <= 32'd0;
        rdh[i] <= 32'd0;
        rdt[i] <= 32'd0;
        srrctl[i] <= 32'd0;
        rxdctl[i] <= 32'd0;
      end
    end
  end
  logic [15:0] srrctl_buffer;
  assign srrctl_buffer = {1'b0, srrctl[f_queue][4:0], 10'd0};

  always_comb begin
    reg_read = 32'd0;
    case (reg_offset)
      RDBAL: reg_read = rdbal[n];
      RDBAH: reg_read = rdbah[n];
      RDLEN: reg_read = rdlen[n];
      RDH: reg_read = enable[n] == OFF ? rdh[n] : {16'd0, head};
      SRRCTL: reg_read = srrctl[n];
      RDT: reg_read = rdt[n];
      RXDCTL: reg_read = (rxdctl[n] & ~32'h0200_0000) | {6'd0, enable[n] != OFF, 25'd0};
      default: ;
    endcase
  end

  // Write-back: advanced, or legacy, in which the address stays and errors are a byte.
  logic [31:0] status;
  logic [31:0] last_dword;
  logic [127:0] advanced;
  logic [127:0] legacy;
  assign status = ends ? f_status | 32'd3 : 32'd1;
  assign last_dword = {ends ? f_vlan : 16'd0, part};
  assign advanced = {last_dword, status, f_hash, f_type};
  assign legacy = {
    last_dword[31:16],
    ends ? f_status[31:29] : 3'd0,
    5'd0,
    status[7:0],
    f_sum,
    part,
    front[63:0]
  };

  localparam int WR_WIDTH = 1 + 64 + 16 + 16 + 128;
  logic [WR_WIDTH-1:0] wr_in;
  logic data_first;
  assign data_first = (state == DATA) != planted(4'd5);
  assign wr_in = data_first
      ? {1'b1, front[63:0], part, at, 128'd0}
      : {1'b0, front_addr, 16'd16, 16'd0, srrctl[n][27:25] != 3'd0 ? advanced : legacy};
  fifo #(
      .WIDTH(WR_WIDTH),
      .LOG_DEPTH(3)
  ) posted (
      .clk,
      .rst,
      .push((state == DATA || state == WRITE_BACK) && wr_room != '0),
      .in(wr_in),
      .pop(wr_ready),
      .out({wr_is_data, wr_addr, wr_bytes, wr_offset, wr_data}),
      .any(wr_valid),
      .room(wr_room)
  );
  fifo #(
      .WIDTH(64 + 16 + LOG_QUEUES + 2),
      .LOG_DEPTH(2)
  ) reads (
      .clk,
      .rst,
      .push(fetch_plan && plan_due),
      .in({plan_addr, plan_bytes, n, plan_open}),
      .pop(rd_ready),
      .out({rd_addr, rd_bytes, rd_tag}),
      .any(rd_valid),
      .room(rd_room)
  );

  logic unused;
  assign unused = &{1'b0, tail, front[127:64], f_status[1:0], have};

  always_ff @(posedge clk) begin
    if (!rst) begin
      if (fill_ready) assert (enable[n] != OFF);
      if (state == DATA || state == WRITE_BACK) assert (cached != '0 && enable[n] == ON && parked);
      if (pop) assert (part != 16'd0);
    end
  end
endmodule
