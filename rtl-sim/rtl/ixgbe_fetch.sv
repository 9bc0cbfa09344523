// 82599 descriptor fetch: rings in host memory and their cache on chip, for several queues.
//
// Datasheet 7.1.9 (receive), 7.2.3.4 (transmit). Hardware owns [head, tail); head equal to tail is
// none. A fetch is due when the chip holds nothing, fewer than are needed, or fewer than PTHRESH
// while HTHRESH wait in memory. It neither wraps nor passes the tail. Completions come in any
// order, descriptors are used in theirs: a fetch has its place in the cache from the start.

module ixgbe_fetch #(
    parameter int LOG_QUEUES = 2,
    parameter int LOG_CACHE = 5,
    parameter int BURST = 8,
    // Fetches of a queue that may be open; at most 4.
    parameter int IN_FLIGHT = 2,
    parameter bit PLANT = 1'b0
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [3:0]            plant,

    // The queue that all of this is about.
    input  logic [LOG_QUEUES-1:0] n,
    // One of these at a time.
    input  logic                  step_start,
    input  logic                  step_tail,
    input  logic                  step_plan,
    input  logic                  step_fill,
    input  logic                  step_settle,
    input  logic                  step_pop,

    input  logic [63:0]           start_base,
    input  logic [15:0]           start_size,
    input  logic [15:0]           start_head,
    input  logic [15:0]           new_tail,
    output logic                  tail_beyond,
    output logic                  tail_backwards,

    // The fetch that is due, if any.
    input  logic [6:0]            pthresh,
    input  logic [6:0]            hthresh,
    input  logic [6:0]            need,
    output logic                  plan_due,
    output logic [63:0]           plan_addr,
    output logic [15:0]           plan_bytes,
    output logic [1:0]            plan_open,

    // One descriptor of a completion.
    input  logic [1:0]            fill_open,
    input  logic [127:0]          fill_data,
    input  logic                  fill_last,
    // Completed fetches are still to be taken in.
    output logic                  unsettled,

    output logic [127:0]          front,
    output logic [15:0]           head,
    output logic [15:0]           tail,
    output logic [63:0]           front_addr,
    output logic [15:0]           size,
    output logic [LOG_CACHE:0]    cached,
    output logic [16:0]           owned,
    output logic                  fetching,
    // Queues that have descriptors on chip.
    output logic [(1<<LOG_QUEUES)-1:0] have
);
  localparam int QUEUES = 1 << LOG_QUEUES;
  localparam int CACHE = 1 << LOG_CACHE;

  logic [63:0] bases[QUEUES];
  logic [15:0] sizes[QUEUES];
  logic [15:0] heads[QUEUES];
  logic [15:0] tails[QUEUES];
  logic [15:0] nexts[QUEUES];
  // Places in the cache: given to fetches, holding descriptors, used.
  logic [LOG_CACHE:0] given[QUEUES];
  logic [LOG_CACHE:0] valid[QUEUES];
  logic [LOG_CACHE:0] used[QUEUES];
  logic [127:0] cache[QUEUES*CACHE];
  // Open fetches, oldest first.
  logic [2:0] open_head[QUEUES];
  logic [2:0] open_tail[QUEUES];
  logic [LOG_CACHE:0] open_at[QUEUES*4];
  logic [LOG_CACHE:0] open_count[QUEUES*4];
  logic [LOG_CACHE:0] open_beat[QUEUES*4];
  logic [QUEUES*4-1:0] open_done;

  function automatic logic planted(input logic [3:0] which);
    planted = PLANT && plant == which;
  endfunction

  function automatic logic [15:0] distance(input logic [15:0] from, input logic [15:0] to,
                                           input logic [15:0] ring);
    distance = to >= from ? to - from : to + ring - from;
  endfunction

  always_comb begin
    for (int i = 0; i < QUEUES; i++) have[i] = valid[i] != used[i];
  end
  function automatic logic [15:0] least(input logic [15:0] a, input logic [15:0] b);
    least = a < b ? a : b;
  endfunction

  assign size = sizes[n];
  assign head = heads[n];
  assign tail = tails[n];
  assign cached = valid[n] - used[n];
  assign front = cache[{n, used[n][LOG_CACHE-1:0]}];
  assign front_addr = bases[n] + {44'd0, heads[n], 4'd0};

  logic [LOG_CACHE:0] on_chip;
  logic [15:0] in_host;
  logic [2:0] opened;
  assign on_chip = given[n] - used[n];
  assign in_host = distance(nexts[n], tails[n], sizes[n]);
  assign owned = 17'(in_host) + 17'(on_chip);
  assign opened = open_tail[n] - open_head[n];
  assign fetching = opened != 3'd0;

  // Tail.
  logic [15:0] after;
  logic takes_tail;
  assign after = distance(heads[n], new_tail, sizes[n]);
  assign tail_beyond = new_tail >= sizes[n];
  assign tail_backwards = !tail_beyond && 17'(after) < owned;
  assign takes_tail = step_tail && !tail_beyond && after >= 16'(on_chip)
      && !(planted(4'd1) && fetching);

  // Fetch: as much as there is, fits, is allowed at a time and lies before the ring's end.
  logic [15:0] count;
  logic [15:0] room;
  logic [15:0] to_end;
  logic ahead;
  logic due;
  assign room = 16'(CACHE) - 16'(on_chip);
  assign to_end = sizes[n] - nexts[n];
  assign ahead = 16'(on_chip) < 16'(pthresh) + 16'(planted(4'd2))
      && in_host >= (hthresh == 7'd0 ? 16'd1 : 16'(hthresh));
  assign due = on_chip == '0 || 16'(on_chip) < 16'(need) || ahead;
  assign count = least(least(in_host, room), least(16'(BURST), to_end));
  assign plan_due = due && count != 16'd0 && opened < 3'(IN_FLIGHT);
  assign plan_addr = bases[n] + {44'd0, nexts[n], 4'd0};
  assign plan_bytes = {count[11:0], 4'd0};
  assign plan_open = open_tail[n][1:0];

  logic [LOG_QUEUES+1:0] filled;
  logic [LOG_QUEUES+1:0] oldest;
  logic [LOG_CACHE-1:0] place;
  assign filled = {n, fill_open};
  assign oldest = {n, open_head[n][1:0]};
  assign place = LOG_CACHE'(open_at[filled] + open_beat[filled]);
  assign unsettled = fetching && open_done[oldest];

  always_ff @(posedge clk) begin
    if (step_start) begin
      bases[n] <= start_base;
      sizes[n] <= start_size;
      heads[n] <= start_head;
      tails[n] <= start_head;
      nexts[n] <= start_head;
      given[n] <= '0;
      valid[n] <= '0;
      used[n] <= '0;
      open_head[n] <= 3'd0;
      open_tail[n] <= 3'd0;
    end
    if (takes_tail) tails[n] <= new_tail;
    if (step_plan && plan_due) begin
      nexts[n] <= nexts[n] + count == sizes[n] ? 16'd0 : nexts[n] + count;
      given[n] <= given[n] + (LOG_CACHE+1)'(count);
      open_tail[n] <= open_tail[n] + 3'd1;
      open_at[{n, plan_open}] <= given[n];
      open_count[{n, plan_open}] <= (LOG_CACHE+1)'(count);
      open_beat[{n, plan_open}] <= '0;
      open_done[{n, plan_open}] <= 1'b0;
    end
    if (step_fill) begin
      cache[{n, place}] <= fill_data;
      open_beat[filled] <= open_beat[filled] + 1'b1;
      if (fill_last) open_done[filled] <= 1'b1;
    end
    if (step_settle && unsettled) begin
      valid[n] <= valid[n] + open_count[oldest];
      open_head[n] <= open_head[n] + 3'd1;
    end
    if (step_pop) begin
      used[n] <= used[n] + 1'b1;
      heads[n] <= heads[n] + 16'd1 == sizes[n] ? 16'd0 : heads[n] + 16'd1;
    end
    if (rst) begin
      for (int i = 0; i < QUEUES; i++) begin
        sizes[i] <= 16'd0;
        heads[i] <= 16'd0;
        tails[i] <= 16'd0;
        nexts[i] <= 16'd0;
        given[i] <= '0;
        valid[i] <= '0;
        used[i] <= '0;
        open_head[i] <= 3'd0;
        open_tail[i] <= 3'd0;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (!rst) begin
      assert (on_chip <= (LOG_CACHE+1)'(CACHE));
      assert (cached <= on_chip);
      if (step_pop) assert (cached != '0);
      // A fetch stays inside what hardware owns.
      if (step_plan && plan_due) assert (16'(count) <= in_host && nexts[n] + count <= sizes[n]);
    end
  end
endmodule
