package module

import "fmt"

// What compiling costs, in nanoseconds, as measured with wazero 1.12.0 on one core
// of a server. Its compiler is not interruptible and not linear: for each basic block it
// walks up the tree of dominators (16 000 ifs in 96 KB: 20 s; 64 000 blocks in a
// row: 21 s; 20 000 nested loops: 5 s), and for each it keeps each live value
// (1 000 locals over 1 000 loops in 23 KB: 3 s; nested: 7 s). So nesting is not
// what matters, and no cap of bytes would do.
//
// Real modules are overestimated, since few of their values live across all
// blocks: Go guests of 1.8, 6 and 19 MB are 2.8, 9.5 and 25 s by this measure, and
// take 0.4, 1.2 and 4 s.
const (
	costFunction = 10_000
	costOp       = 500
	costSlow     = 10_000 // of divisions and truncations, beside costOp
	costCall     = 2_000
	costIndirect = 25_000
	costArgument = 2_000 // of each parameter and result of a call
	costValue    = 500   // of each value a branch carries
	costBulk     = 30_000
	costVector   = 5_000
	costLive     = 1_500 // of each value in each basic block
	costSquare   = 10    // of each basic block for each other one
)

// Basic blocks that an instruction begins.
const (
	blocksFunction = 5 // with its safepoint
	blocksBlock    = 1
	blocksLoop     = 3
	blocksIf       = 3
	blocksBrIf     = 2
	blocksLabel    = 1 // of br_table
	blocksBulk     = 3

	// A loop costs another block for each so many loops around it, since what lives
	// in the inner one is told to each outer one.
	loopsPerBlock = 4
)

// Caps of that cost. Functions that are just accepted (of ifs, blocks, loops, and bulk
// instructions with their safepoints) took up to 2.4 s where four times as much ran
// as there were cores; a module has 3 s by this measure, and 2 s more for each MB.
const (
	maxFunctionCost = 2_000_000_000
	maxBaseCost     = 3_000_000_000
	maxByteCost     = 2_000 // more for each byte of the module
)

// charge adds the cost of a function that was read.
func (p *parser) charge(w *walker, locals int) error {
	live := int64(locals + w.highest)
	blocks := int64(w.blocks + blocksFunction)
	cost := costFunction + w.work + blocks*live*costLive + blocks*blocks*costSquare
	if cost > maxFunctionCost {
		return fmt.Errorf("offset %#x: %d basic blocks with up to %d values would take too long to compile (%d ms by estimate, at most %d): split the function",
			w.base, blocks, live, cost/1e6, maxFunctionCost/1_000_000)
	}
	p.cost += cost
	if most := maxBaseCost + maxByteCost*int64(len(p.b)); p.cost > most {
		return fmt.Errorf("offset %#x: the functions so far would take too long to compile (%d ms by estimate, at most %d for a module of %d bytes)",
			w.base, p.cost/1e6, most/1e6, len(p.b))
	}
	return nil
}

// slow says whether an instruction of one byte is a division or a truncation.
func slow(op byte) bool {
	return op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82 || op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1
}
