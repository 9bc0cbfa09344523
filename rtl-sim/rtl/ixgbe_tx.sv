// 82599 transmit DMA: descriptors, reads of data, frames in order, reports.
//
// Datasheet 7.2.3 (legacy, context and data descriptors, RS, WTHRESH, head write-back), 4.6.8
// (enable, disable), 8.2.3.9 (registers). Queues take turns packet by packet. Data of several
// packets is read at a time, and packets leave in the order in which they were begun; the
// descriptors of one are done when it has left. Only those with RS are reported.
//
// An input is taken when the one before has had all its effects. Data itself does not pass: a read
// is answered by its tag, and a frame that leaves is its queue and length. Offloads are not here,
// so a context descriptor is only used up.

module ixgbe_tx #(
    parameter int LOG_QUEUES = 1,
    // Packets whose data is being read; at most 4.
    parameter int JOBS = 4,
    parameter int BURST = 8,
    parameter int IN_FLIGHT = 2,
    parameter bit PLANT = 1'b0
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [3:0]            plant,

    // Registers of a queue, by offset in its block (0x6000 + 0x40 * queue).
    input  logic                  reg_valid,
    output logic                  reg_ready,
    input  logic                  reg_write,
    input  logic [LOG_QUEUES-1:0] reg_queue,
    input  logic [5:0]            reg_offset,
    input  logic [31:0]           reg_value,
    output logic [31:0]           reg_read,
    output logic                  tail_beyond,
    output logic                  tail_backwards,

    // Completions: of a fetch, a descriptor at a time, or of data.
    input  logic                  fill_valid,
    output logic                  fill_ready,
    input  logic                  fill_is_data,
    input  logic [LOG_QUEUES+1:0] fill_tag,
    input  logic [127:0]          fill_data,
    input  logic                  fill_last,

    // Reads: descriptors or data.
    output logic                  rd_valid,
    input  logic                  rd_ready,
    output logic                  rd_is_data,
    output logic [63:0]           rd_addr,
    output logic [15:0]           rd_bytes,
    output logic [LOG_QUEUES+1:0] rd_tag,

    // Posted writes: a descriptor, or a head.
    output logic                  wr_valid,
    input  logic                  wr_ready,
    output logic                  wr_is_head,
    output logic [63:0]           wr_addr,
    output logic [127:0]          wr_data,

    // A frame leaves.
    output logic                  send,
    output logic [LOG_QUEUES-1:0] send_queue,
    output logic [15:0]           send_len,
    output logic                  cause,
    output logic [LOG_QUEUES-1:0] cause_queue,
    output logic                  idle
);
  localparam int QUEUES = 1 << LOG_QUEUES;
  localparam logic [5:0] TDBAL = 6'h00, TDBAH = 6'h04, TDLEN = 6'h08, TDH = 6'h10, TDT = 6'h18,
      TXDCTL = 6'h28, TDWBAL = 6'h38, TDWBAH = 6'h3c;
  localparam int ENABLE = 25, SWFLSH = 26;
  localparam logic [1:0] OFF = 2'd0, ON = 2'd1, STOPPING = 2'd2;
  // Bits of dword 2 of a descriptor.
  localparam int EOP = 24, RS = 27, DEXT = 29;
  localparam logic [3:0] CONTEXT = 4'd2;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  logic [31:0] tdbal[QUEUES];
  logic [31:0] tdbah[QUEUES];
  logic [31:0] tdlen[QUEUES];
  logic [31:0] tdh[QUEUES];
  logic [31:0] tdt[QUEUES];
  logic [31:0] txdctl[QUEUES];
  logic [31:0] tdwbal[QUEUES];
  logic [31:0] tdwbah[QUEUES];
  logic [1:0] enable[QUEUES];

  typedef enum logic [3:0] {
    IDLE,
    SETTLE,
    STOP,
    PLAN,
    RUN,
    TAKE,
    SEND,
    REPORT,
    FLUSH,
    STOPPED
  } state_t;
  state_t state;
  // Where a flush, and where a report, goes on.
  state_t after_flush;
  state_t after_report;

  // Packets: slots in the order in which they were begun. The newest may lack descriptors.
  logic [LOG_QUEUES-1:0] job_queue[8];
  logic [15:0] job_len[8];
  logic [7:0] job_missing[8];
  logic [7:0] job_reports[8];
  logic [2:0] job_head;
  logic [2:0] job_tail;
  logic midway;
  logic [LOG_QUEUES-1:0] turn;
  logic [2:0] jobs;
  assign jobs = job_tail - job_head;

  // Reports of all packets, in order: index, and what is written over the descriptor.
  logic report_push;
  logic report_pop;
  logic report_any;
  logic [5:0] report_room;
  logic [15:0] report_index;
  logic [127:0] report_bytes;

  // Reports that a queue holds until WTHRESH.
  logic [15:0] held_index[QUEUES*16];
  logic [127:0] held_bytes[QUEUES*16];
  logic [4:0] held[QUEUES];
  logic [4:0] flushed;

  logic [LOG_QUEUES-1:0] queue;
  assign idle = state == IDLE && !rst;
  assign fill_ready = idle && fill_valid;
  assign reg_ready = idle && reg_valid && !fill_valid;
  logic fill_descriptor;
  assign fill_descriptor = fill_ready && !fill_is_data;

  logic [LOG_QUEUES-1:0] n;
  always_comb begin
    n = queue;
    if (fill_descriptor) n = fill_tag[LOG_QUEUES+1:2];
    else if (reg_ready) n = reg_queue;
    else if (state == TAKE) n = turn;
    else if (state == SEND) n = job_queue[job_head];
  end

  logic writes;
  logic writes_tail;
  logic starts;
  logic stops;
  logic flushes;
  logic sound;
  assign writes = reg_ready && reg_write;
  assign writes_tail = writes && reg_offset == TDT && enable[n] == ON;
  assign sound = tdbal[n][6:0] == 7'd0 && (tdlen[n] & ~32'h000f_ff80) == 32'd0
      && tdlen[n] != 32'd0;
  assign starts = writes && reg_offset == TXDCTL && reg_value[ENABLE] && enable[n] == OFF && sound;
  assign stops = writes && reg_offset == TXDCTL && !reg_value[ENABLE] && enable[n] == ON;
  assign flushes = writes && reg_offset == TXDCTL && reg_value[SWFLSH];

  logic [15:0] ring_size;
  logic [15:0] start_head;
  assign ring_size = tdlen[n][19:4];
  assign start_head = ring_size == 16'd0 ? 16'd0 : tdh[n][15:0] % ring_size;

  logic fetch_plan;
  logic plan_due;
  logic [63:0] plan_addr;
  logic [15:0] plan_bytes;
  logic [1:0] plan_open;
  logic [127:0] front;
  logic [15:0] head;
  logic [15:0] tail;
  logic [63:0] front_addr;
  logic [15:0] size;
  logic [5:0] cached;
  logic [16:0] owned;
  logic fetching;
  logic unsettled;
  logic [QUEUES-1:0] have;
  logic beyond;
  logic backwards;
  logic takes;
  logic [2:0] rd_room;
  logic [3:0] wr_room;
  assign fetch_plan = state == PLAN && rd_room != '0 && enable[n] == ON;
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
      .step_fill(fill_descriptor),
      .step_settle(state == SETTLE),
      .step_pop(takes),
      .start_base({tdbah[n], tdbal[n]}),
      .start_size(ring_size),
      .start_head,
      .new_tail(reg_value[15:0]),
      .tail_beyond(beyond),
      .tail_backwards(backwards),
      .pthresh(txdctl[n][6:0]),
      .hthresh(txdctl[n][14:8]),
      .need(7'd0),
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

  // Whose turn it is: the next queue with descriptors on chip, or the one whose packet is taken.
  logic [QUEUES-1:0] ready;
  logic [LOG_QUEUES-1:0] next_turn;
  always_comb begin
    for (int i = 0; i < QUEUES; i++) ready[i] = have[i] && enable[i] == ON;
    next_turn = turn;
    if (!midway) begin
      for (int i = QUEUES - 1; i >= 0; i--) begin
        if (ready[i]) next_turn = LOG_QUEUES'(i);
      end
      for (int i = QUEUES - 1; i >= 0; i--) begin
        if (ready[i] && LOG_QUEUES'(i) > turn) next_turn = LOG_QUEUES'(i);
      end
    end
  end
  // Complete packets, the one that is being taken left out.
  logic [2:0] whole;
  logic may_send;
  logic may_take;
  assign whole = jobs - {2'd0, midway};
  assign may_send = whole != 3'd0 && (job_missing[job_head] == 8'd0 || planted(4'd9));
  assign may_take = ready[next_turn] && whole < 3'(JOBS);

  // The descriptor at the front.
  logic [31:0] dword2;
  logic is_context;
  logic is_last;
  logic reports;
  logic [15:0] len;
  logic [127:0] done_bytes;
  assign dword2 = front[95:64];
  assign is_context = dword2[DEXT] && dword2[23:20] == CONTEXT;
  assign is_last = dword2[EOP];
  assign reports = dword2[RS] || (planted(4'd8) && is_last);
  assign len = dword2[15:0];
  // A legacy descriptor keeps what it was.
  assign done_bytes = dword2[DEXT] ? {31'd0, 1'b1, 96'd0} : front | {31'd0, 1'b1, 96'd0};
  assign takes = state == TAKE && (is_context || rd_room != '0);
  logic reads_data;
  assign reads_data = takes && !is_context && len != 16'd0;
  assign report_push = takes && !is_context && reports;

  // The slot of the packet that is being taken.
  logic [2:0] slot;
  assign slot = midway ? job_tail - 3'd1 : job_tail;

  logic [6:0] wthresh;
  logic head_mode;
  logic [4:0] held_next;
  logic full;
  assign head_mode = tdwbal[n][0];
  assign wthresh = head_mode || txdctl[n][22:16] == 7'd0 ? 7'd1 : txdctl[n][22:16];
  assign held_next = held[n] + 5'd1;
  assign full = 7'(held_next) >= wthresh + 7'(planted(4'd6)) || enable[n] != ON;

  logic context_report;
  logic [15:0] context_index;
  assign report_pop = state == REPORT && !context_report;

  // The next write of a flush.
  logic [LOG_QUEUES+3:0] place;
  logic [15:0] last_index;
  logic [15:0] head_value;
  logic writes_back;
  logic flush_ends;
  assign place = {n, flushed[3:0]};
  assign last_index = held_index[{n, held[n][3:0] - 4'd1}];
  assign head_value = planted(4'd7) ? last_index
      : last_index + 16'd1 == size ? 16'd0 : last_index + 16'd1;
  assign writes_back = state == FLUSH && held[n] != 5'd0 && wr_room != '0;
  assign flush_ends = state == FLUSH && (held[n] == 5'd0
      || (writes_back && (head_mode || flushed + 5'd1 == held[n])));
  assign cause = flush_ends && held[n] != 5'd0;
  assign cause_queue = n;

  logic [7:0] left;
  always_ff @(posedge clk) begin
    case (state)
      IDLE: begin
        queue <= n;
        flushed <= 5'd0;
        context_report <= 1'b0;
        after_flush <= RUN;
        after_report <= RUN;
        if (fill_ready && fill_is_data) state <= RUN;
        else if (fill_ready && fill_last) state <= SETTLE;
        else if (writes && (flushes || stops)) begin
          state <= FLUSH;
          after_flush <= stops ? STOP : RUN;
        end else if (writes) state <= writes_tail ? PLAN : RUN;
      end
      SETTLE: if (!unsettled) state <= enable[n] == STOPPING ? STOP : PLAN;
      // A queue that stops is off when nothing of it is open or inside.
      STOP: state <= enable[n] == STOPPING && !fetching && !of_queue ? STOPPED : RUN;
      STOPPED: begin
        enable[n] <= OFF;
        state <= RUN;
      end
      PLAN: if (!plan_due || enable[n] != ON) state <= RUN;
      RUN: begin
        turn <= may_send || !may_take ? turn : next_turn;
        if (may_send) state <= SEND;
        else if (may_take) state <= TAKE;
        else state <= IDLE;
      end
      TAKE:
      if (takes) begin
        queue <= turn;
        state <= PLAN;
        if (is_context) begin
          context_index <= head;
          context_report <= reports;
          if (reports) begin
            state <= REPORT;
            after_report <= PLAN;
          end
        end
      end
      // The frame leaves; then its reports.
      SEND: begin
        queue <= n;
        left <= job_reports[job_head];
        context_report <= 1'b0;
        after_report <= STOP;
        state <= job_reports[job_head] != 8'd0 ? REPORT : STOP;
      end
      REPORT: begin
        left <= left - 8'd1;
        flushed <= 5'd0;
        if (context_report || left == 8'd1) begin
          after_flush <= after_report;
          state <= full ? FLUSH : after_report;
        end else begin
          after_flush <= REPORT;
          state <= full ? FLUSH : REPORT;
        end
      end
      FLUSH: begin
        if (writes_back) flushed <= flushed + 5'd1;
        if (flush_ends) state <= after_flush;
      end
      default: state <= IDLE;
    endcase

    if (takes && !is_context) begin
      if (!midway) begin
        job_queue[slot] <= turn;
        job_len[slot] <= len;
        job_missing[slot] <= {7'd0, reads_data};
        job_reports[slot] <= {7'd0, reports};
        job_tail <= job_tail + 3'd1;
      end else begin
        job_len[slot] <= job_len[slot] + len;
        job_missing[slot] <= job_missing[slot] + {7'd0, reads_data};
        job_reports[slot] <= job_reports[slot] + {7'd0, reports};
      end
      midway <= !is_last;
    end
    if (takes && is_context && !midway) begin
      // Nothing of the queue is inside: its head may go on.
      if (!of_queue) tdh[n] <= {16'd0, head_after};
    end
    if (fill_ready && fill_is_data) begin
      job_missing[fill_tag[2:0]] <= job_missing[fill_tag[2:0]] - 8'd1;
    end
    if (state == SEND) begin
      job_head <= job_head + 3'd1;
      tdh[n] <= {16'd0, head};
    end
    if (state == REPORT) begin
      held_index[{n, held[n][3:0]}] <= context_report ? context_index : report_index;
      held_bytes[{n, held[n][3:0]}] <= context_report ? {31'd0, 1'b1, 96'd0} : report_bytes;
      held[n] <= held_next;
    end
    if (flush_ends) held[n] <= 5'd0;
    if (writes) begin
      case (reg_offset)
        TDBAL: tdbal[n] <= reg_value;
        TDBAH: tdbah[n] <= reg_value;
        TDLEN: tdlen[n] <= reg_value;
        TDH: tdh[n] <= reg_value;
        TXDCTL: txdctl[n] <= reg_value & ~32'h0400_0000;
        TDWBAL: tdwbal[n] <= reg_value;
        TDWBAH: tdwbah[n] <= reg_value;
        TDT: if (enable[n] != ON || !beyond) tdt[n] <= {16'd0, reg_value[15:0]};
        default: ;
      endcase
    end
    if (starts) begin
      enable[n] <= ON;
      tdt[n] <= {16'd0, start_head};
      tdh[n] <= {16'd0, start_head};
      held[n] <= 5'd0;
    end
    if (stops) enable[n] <= STOPPING;
    if (rst) begin
      state <= IDLE;
      midway <= 1'b0;
      turn <= '0;
      job_head <= 3'd0;
      job_tail <= 3'd0;
      for (int i = 0; i < QUEUES; i++) begin
        enable[i] <= OFF;
        held[i] <= 5'd0;
        tdbal[i] <= 32'd0;
        tdbah[i] <= 32'd0;
        tdlen[i] <= 32'd0;
        tdh[i] <= 32'd0;
        tdt[i] <= 32'd0;
        txdctl[i] <= 32'd0;
        tdwbal[i] <= 32'd0;
        tdwbah[i] <= 32'd0;
      end
    end
  end

  // Whether a packet of this queue is inside.
  logic of_queue;
  logic [2:0] behind;
  always_comb begin
    of_queue = 1'b0;
    for (int i = 0; i < 8; i++) begin
      behind = 3'(i) - job_head;
      if (behind < jobs && job_queue[i] == n) of_queue = 1'b1;
    end
  end
  logic [15:0] head_after;
  assign head_after = head + 16'd1 == size ? 16'd0 : head + 16'd1;

  assign send = state == SEND;
  assign send_queue = n;
  assign send_len = job_len[job_head];

  always_comb begin
    reg_read = 32'd0;
    case (reg_offset)
      TDBAL: reg_read = tdbal[n];
      TDBAH: reg_read = tdbah[n];
      TDLEN: reg_read = tdlen[n];
      TDH: reg_read = tdh[n];
      TDT: reg_read = tdt[n];
      TXDCTL: reg_read = (txdctl[n] & ~32'h0200_0000) | {6'd0, enable[n] != OFF, 25'd0};
      TDWBAL: reg_read = tdwbal[n];
      TDWBAH: reg_read = tdwbah[n];
      default: ;
    endcase
  end

  fifo #(
      .WIDTH(16 + 128),
      .LOG_DEPTH(5)
  ) all_reports (
      .clk,
      .rst,
      .push(report_push),
      .in({head, done_bytes}),
      .pop(report_pop),
      .out({report_index, report_bytes}),
      .any(report_any),
      .room(report_room)
  );
  logic [63:0] base;
  assign base = {tdbah[n], tdbal[n]};
  fifo #(
      .WIDTH(1 + 64 + 128),
      .LOG_DEPTH(3)
  ) posted (
      .clk,
      .rst,
      .push(writes_back),
      .in(head_mode ? {1'b1, tdwbah[n], tdwbal[n][31:2], 2'd0, 112'd0, head_value}
          : {1'b0, base + {44'd0, held_index[place], 4'd0}, held_bytes[place]}),
      .pop(wr_ready),
      .out({wr_is_head, wr_addr, wr_data}),
      .any(wr_valid),
      .room(wr_room)
  );
  localparam int TAG = LOG_QUEUES + 2;
  fifo #(
      .WIDTH(1 + 64 + 16 + TAG),
      .LOG_DEPTH(2)
  ) reads (
      .clk,
      .rst,
      .push((fetch_plan && plan_due) || reads_data),
      .in(reads_data ? {1'b1, front[63:0], len, TAG'(slot)}
          : {1'b0, plan_addr, plan_bytes, n, plan_open}),
      .pop(rd_ready),
      .out({rd_is_data, rd_addr, rd_bytes, rd_tag}),
      .any(rd_valid),
      .room(rd_room)
  );

  logic unused;
  assign unused = &{1'b0, tail, front_addr, cached, owned, report_room, flushed[4]};

  always_ff @(posedge clk) begin
    if (!rst) begin
      if (report_pop) assert (report_any);
      if (takes) assert (have[n] && enable[n] == ON);
      if (state == SEND && !planted(4'd9)) assert (job_missing[job_head] == 8'd0);
      assert (whole <= 3'(JOBS));
    end
  end
endmodule
