// A queue of DEPTH words, first in, first out. What is at its front shows; `pop` takes it.

module fifo #(
    parameter int WIDTH = 32,
    parameter int LOG_DEPTH = 3
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             push,
    input  logic [WIDTH-1:0] in,
    input  logic             pop,
    output logic [WIDTH-1:0] out,
    output logic             any,
    output logic [LOG_DEPTH:0] room
);
  localparam int DEPTH = 1 << LOG_DEPTH;

  logic [WIDTH-1:0] words[DEPTH];
  logic [LOG_DEPTH:0] head;
  logic [LOG_DEPTH:0] tail;
  logic [LOG_DEPTH:0] used;

  assign used = tail - head;
  assign any = used != '0;
  assign room = (LOG_DEPTH+1)'(DEPTH) - used;
  assign out = words[head[LOG_DEPTH-1:0]];

  always_ff @(posedge clk) begin
    if (push) begin
      words[tail[LOG_DEPTH-1:0]] <= in;
      tail <= tail + 1'b1;
    end
    if (pop && any) head <= head + 1'b1;
    if (rst) begin
      head <= '0;
      tail <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (!rst) begin
      if (push) assert (room != '0);
      assert (used <= (LOG_DEPTH+1)'(DEPTH));
    end
  end
endmodule
