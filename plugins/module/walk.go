package module

import "fmt"

// frame is a block that is open.
type frame struct {
	op              byte // of what began it
	params, results int
	height          int  // of the operand stack below it
	dead            bool // it is never entered
}

// walker reads the instructions of one function, and counts what compiling it costs.
type walker struct {
	*reader
	m      *parser
	frames []frame
	height int  // of the operand stack
	dead   bool // what follows is never run

	points []int // where safepoints go
	bulk   bool  // there was a bulk instruction

	loops   int   // that are open
	highest int   // the operand stack was
	blocks  int   // basic blocks
	work    int64 // cost of what is neither a basic block nor a live value, in nanoseconds
}

// walk reads a function's body, which ends with its last byte.
func (w *walker) walk(t *funcType) error {
	w.frames = append(w.frames[:0], frame{op: opBlock, results: len(t.results)})
	for w.err == nil && len(w.frames) > 0 {
		w.work += costOp
		w.instruction()
	}
	return w.done("function after its end")
}

func (w *walker) instruction() {
	at := w.at
	switch op := w.byte("instruction"); {
	case w.err != nil:
	case op <= opReturn || op == opElse:
		w.control(op, at)
	case op == opCall:
		w.call(at)
	case op == opCallIndirect:
		w.callIndirect()
	case op == opMisc:
		w.misc(at)
	case op == opVector:
		w.vector(at)
	default:
		w.plain(op, at)
	}
}

// control handles what begins, ends and leaves blocks.
func (w *walker) control(op byte, at int) {
	switch op {
	case opUnreachable:
		w.end()
	case opNop:
	case opBlock, opLoop, opIf:
		w.open(op)
	case opElse:
		w.otherwise(at)
	case opEnd:
		w.close()
	case opBr:
		w.label()
		w.blocks++
		w.end()
	case opBrIf:
		w.blocks += blocksBrIf
		w.move(-1)
		w.label()
	case opBrTable:
		w.table()
	case opReturn:
		w.blocks++
		w.end()
	default:
		w.unknown(at, 0, op)
	}
}

func (w *walker) unknown(at int, prefix, op byte) {
	if w.err != nil {
		return
	}
	name := fmt.Sprintf("%#02x", op)
	if prefix != 0 {
		name = fmt.Sprintf("%#02x %#02x", prefix, op)
	}
	w.at = at
	w.fail("opcode %s is unknown or belongs to a feature that is not allowed", name)
}

// move changes the height of the operand stack.
func (w *walker) move(by int) { w.apply(max(0, -by), max(0, by)) }

// apply takes values off the operand stack and puts others on it.
func (w *walker) apply(pops, pushes int) {
	if w.dead || w.err != nil {
		return
	}
	if w.height-pops < w.top().height {
		w.fail("the operand stack has too few values")
		return
	}
	w.height += pushes - pops
	w.highest = max(w.highest, w.height)
}

func (w *walker) top() *frame { return &w.frames[len(w.frames)-1] }

// end says that what follows in this block is never run.
func (w *walker) end() { w.dead, w.height = true, w.top().height }

func (w *walker) open(op byte) {
	params, results := w.blockType()
	if op == opIf {
		w.move(-1)
	}
	w.work += int64(params+results) * costValue
	w.begin(op)
	w.apply(params, params)
	w.frames = append(w.frames, frame{op, params, results, w.height - params, w.dead})
	if w.dead {
		w.top().height = w.height
	}
	if len(w.frames)-1 > MaxNesting {
		w.fail("blocks are nested more than %d deep", MaxNesting)
	}
}

// begin counts the basic blocks that a block begins.
func (w *walker) begin(op byte) {
	switch op {
	case opBlock:
		w.blocks += blocksBlock
	case opIf:
		w.blocks += blocksIf
	case opLoop:
		w.blocks += blocksLoop + w.loops/loopsPerBlock
		w.loops++
	}
}

func (w *walker) otherwise(at int) {
	f := w.top()
	if f.op != opIf {
		w.at = at
		w.fail("else without if")
		return
	}
	f.op, w.dead = opElse, f.dead
	w.height = f.height
	w.apply(0, f.params)
}

func (w *walker) close() {
	f := *w.top()
	w.frames = w.frames[:len(w.frames)-1]
	if f.op == opLoop {
		w.loops--
	}
	if len(w.frames) == 0 {
		return
	}
	w.dead, w.height = f.dead, f.height
	w.apply(0, f.results)
}

// blockType is how many values a block takes and leaves.
func (w *walker) blockType() (params, results int) {
	switch t := w.s33("block type"); {
	case w.err != nil:
		return 0, 0
	case t == -64:
		return 0, 0
	case t < 0:
		if !isValueType(byte(t & 0x7f)) {
			w.fail("block type %#02x is unknown or belongs to a feature that is not allowed", byte(t&0x7f))
		}
		return 0, 1
	case t >= int64(len(w.m.types)):
		w.fail("block type %d, but there are %d types", t, len(w.m.types))
		return 0, 0
	default:
		return len(w.m.types[t].params), len(w.m.types[t].results)
	}
}

// label reads a branch's depth and returns how many values the branch carries.
func (w *walker) label() int {
	depth := w.u32("label")
	if w.err == nil && int64(depth) >= int64(len(w.frames)) {
		w.fail("label %d, but %d blocks are open", depth, len(w.frames))
	}
	if w.err != nil {
		return 0
	}
	f := w.frames[len(w.frames)-1-int(depth)]
	arity := f.results
	if f.op == opLoop {
		arity = f.params
	}
	w.work += int64(arity) * costValue
	return arity
}

func (w *walker) table() {
	w.move(-1)
	for range w.count("labels", MaxBody) {
		w.label()
		w.blocks += blocksLabel
		if w.err != nil {
			return
		}
	}
	w.label()
	w.blocks += blocksLabel
	w.end()
}

func (w *walker) call(at int) {
	f := w.u32("function index")
	if w.err == nil && int64(f) >= int64(len(w.m.funcs)) {
		w.at = at
		w.fail("call of function %d, but there are %d", f, len(w.m.funcs))
		return
	}
	if w.err == nil {
		w.called(w.m.types[w.m.funcs[f]])
	}
}

func (w *walker) callIndirect() {
	w.move(-1)
	w.work += costIndirect
	if t := w.m.typeIndex(w.reader); w.err == nil {
		w.called(w.m.types[t])
	}
	w.u32("table index")
}

func (w *walker) called(t funcType) {
	w.work += costCall + int64(len(t.params)+len(t.results))*costArgument
	w.apply(len(t.params), len(t.results))
}
