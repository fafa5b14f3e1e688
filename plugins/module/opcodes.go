package module

// Opcodes the walker handles one by one.
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opSelectTyped  = 0x1c
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opGlobalGet    = 0x23
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opVector       = 0xfd
)

// immediate is what follows an opcode.
type immediate byte

const (
	none immediate = iota + 1 // 0 means that the opcode is unknown
	index
	memoryArgument // alignment and offset
	memoryIndex    // one byte 0
	int32Value
	int64Value
	bytes4
	bytes8
	bytes16
	selectTypes
	heapType
	lane
	memoryLane
	twoIndices
	twoMemories
	indexMemory
)

// shape is an instruction: what follows it, and by how much it changes the height
// of the operand stack. The zero value is no instruction.
type shape struct {
	immediate immediate
	height    int8
}

// plainOps are the instructions of one byte that are not about control or calls.
var plainOps = table([]row{
	{0x1a, 0x1a, none, -1},           // drop
	{0x1b, 0x1b, none, -2},           // select
	{0x1c, 0x1c, selectTypes, -2},    //
	{0x20, 0x20, index, 1},           // local.get
	{0x21, 0x21, index, -1},          // local.set
	{0x22, 0x22, index, 0},           // local.tee
	{0x23, 0x23, index, 1},           // global.get
	{0x24, 0x24, index, -1},          // global.set
	{0x25, 0x25, index, 0},           // table.get
	{0x26, 0x26, index, -2},          // table.set
	{0x28, 0x35, memoryArgument, 0},  // loads
	{0x36, 0x3e, memoryArgument, -2}, // stores
	{0x3f, 0x3f, memoryIndex, 1},     // memory.size
	{0x40, 0x40, memoryIndex, 0},     // memory.grow
	{0x41, 0x41, int32Value, 1},
	{0x42, 0x42, int64Value, 1},
	{0x43, 0x43, bytes4, 1},
	{0x44, 0x44, bytes8, 1},
	{0x45, 0x45, none, 0},  // i32.eqz
	{0x46, 0x4f, none, -1}, // i32 comparisons
	{0x50, 0x50, none, 0},  // i64.eqz
	{0x51, 0x66, none, -1}, // other comparisons
	{0x67, 0x69, none, 0},  // i32.clz to popcnt
	{0x6a, 0x78, none, -1}, // i32 arithmetic
	{0x79, 0x7b, none, 0},  // i64.clz to popcnt
	{0x7c, 0x8a, none, -1}, // i64 arithmetic
	{0x8b, 0x91, none, 0},  // f32 of one operand
	{0x92, 0x98, none, -1},
	{0x99, 0x9f, none, 0}, // f64 of one operand
	{0xa0, 0xa6, none, -1},
	{0xa7, 0xc4, none, 0}, // conversions, sign extension
	{0xd0, 0xd0, heapType, 1},
	{0xd1, 0xd1, none, 0},
	{0xd2, 0xd2, index, 1},
})

// miscOps follow the prefix 0xfc: saturating truncation, bulk memory, tables.
var miscOps = table([]row{
	{0, 7, none, 0},
	{8, 8, indexMemory, -3},   // memory.init
	{9, 9, index, 0},          // data.drop
	{10, 10, twoMemories, -3}, // memory.copy
	{11, 11, memoryIndex, -3}, // memory.fill
	{12, 12, twoIndices, -3},  // table.init
	{13, 13, index, 0},        // elem.drop
	{14, 14, twoIndices, -3},  // table.copy
	{15, 15, index, -1},       // table.grow
	{16, 16, index, 1},        // table.size
	{17, 17, index, -3},       // table.fill
})

// vectorOps follow the prefix 0xfd. Those of two operands are most.
var vectorOps = table([]row{
	{0x0e, 0xff, none, -1},
	{0x00, 0x0a, memoryArgument, 0},
	{0x0b, 0x0b, memoryArgument, -2},
	{0x0c, 0x0c, bytes16, 1},
	{0x0d, 0x0d, bytes16, -1}, // shuffle
	{0x0f, 0x14, none, 0},     // splats
	{0x15, 0x16, lane, 0}, {0x17, 0x17, lane, -1}, {0x18, 0x19, lane, 0}, {0x1a, 0x1a, lane, -1},
	{0x1b, 0x1b, lane, 0}, {0x1c, 0x1c, lane, -1}, {0x1d, 0x1d, lane, 0}, {0x1e, 0x1e, lane, -1},
	{0x1f, 0x1f, lane, 0}, {0x20, 0x20, lane, -1}, {0x21, 0x21, lane, 0}, {0x22, 0x22, lane, -1},
	{0x4d, 0x4d, none, 0}, {0x52, 0x52, none, -2}, {0x53, 0x53, none, 0},
	{0x54, 0x57, memoryLane, -1}, {0x58, 0x5b, memoryLane, -2}, {0x5c, 0x5d, memoryArgument, 0},
	{0x5e, 0x64, none, 0}, {0x67, 0x6a, none, 0}, {0x74, 0x75, none, 0}, {0x7a, 0x7a, none, 0},
	{0x7c, 0x81, none, 0}, {0x83, 0x84, none, 0}, {0x87, 0x8a, none, 0}, {0x94, 0x94, none, 0},
	{0xa0, 0xa1, none, 0}, {0xa3, 0xa4, none, 0}, {0xa7, 0xaa, none, 0},
	{0xc0, 0xc1, none, 0}, {0xc3, 0xc4, none, 0}, {0xc7, 0xca, none, 0},
	{0xe0, 0xe1, none, 0}, {0xe3, 0xe3, none, 0}, {0xec, 0xed, none, 0}, {0xef, 0xef, none, 0},
	{0xf8, 0xff, none, 0},
	{0x9a, 0x9a, 0, 0}, {0xa2, 0xa2, 0, 0}, {0xa5, 0xa6, 0, 0}, {0xaf, 0xb0, 0, 0},
	{0xb2, 0xb4, 0, 0}, {0xbb, 0xbb, 0, 0}, {0xc2, 0xc2, 0, 0}, {0xc5, 0xc6, 0, 0},
	{0xcf, 0xd0, 0, 0}, {0xd2, 0xd4, 0, 0}, {0xe2, 0xe2, 0, 0}, {0xee, 0xee, 0, 0},
})

// row is a range of opcodes, both ends included.
type row struct {
	from, to  int
	immediate immediate
	height    int8
}

// table lists shapes by opcode; a later row wins.
func table(rows []row) (t [256]shape) {
	for _, r := range rows {
		for op := r.from; op <= r.to; op++ {
			t[op] = shape{r.immediate, r.height}
		}
	}
	return t
}

func (w *walker) plain(op byte, at int) {
	if slow(op) {
		w.work += costSlow
	}
	w.shaped(plainOps[op], at, 0, op)
}

// misc reads an instruction after 0xfc. Its number is written in one byte, as all
// tools do: a longer one might be read differently elsewhere.
func (w *walker) misc(at int) {
	op := w.byte("instruction")
	if op < miscInit {
		w.work += costSlow
	} else {
		w.blocks += blocksBulk
		w.work += costBulk
	}
	if bulk(op) {
		w.stoppable(at)
	}
	w.shaped(miscOps[op], at, opMisc, op)
}

// stoppable puts a safepoint before an instruction at an offset, unless it is the
// first of its kind: the one at the function's entry, or that of the loop it is in,
// is before it.
func (w *walker) stoppable(at int) {
	if w.bulk {
		w.points = append(w.points, at)
		w.blocks += blocksLoop
	}
	w.bulk = true
}

// miscInit is the first number after 0xfc that is no truncation.
const miscInit = 8

// bulk says whether an instruction after 0xfc takes time by the size of memories or
// tables: init, copy and fill.
func bulk(op byte) bool {
	return op == 8 || op == 10 || op == 11 || op == 12 || op == 14 || op == 17
}

// vector reads an instruction after 0xfd, whose number takes two bytes from 128 on:
// the runtime looks at the first only, and takes the second, which is 1, for a nop.
func (w *walker) vector(at int) {
	op := w.byte("instruction")
	if op >= 0x80 && w.byte("instruction") != 1 {
		w.unknown(at, opVector, op)
		return
	}
	w.work += costVector
	w.shaped(vectorOps[op], at, opVector, op)
}

func (w *walker) shaped(s shape, at int, prefix, op byte) {
	if s.immediate == 0 {
		w.unknown(at, prefix, op)
		return
	}
	w.immediate(s.immediate)
	if s.height <= 0 {
		w.apply(int(-s.height), 0)
		return
	}
	w.apply(0, int(s.height))
}

func (w *walker) immediate(i immediate) {
	switch i {
	case index:
		w.u32("index")
	case memoryArgument:
		w.memoryArgument()
	case memoryLane:
		w.memoryArgument()
		w.byte("lane")
	case memoryIndex:
		w.zero("memory index")
	case int32Value:
		w.s32("constant")
	case int64Value:
		w.s64("constant")
	case bytes4:
		w.bytes(4, "constant")
	case bytes8:
		w.bytes(8, "constant")
	case bytes16:
		w.bytes(16, "constant")
	case lane:
		w.byte("lane")
	default:
		w.indices(i)
	}
}

func (w *walker) indices(i immediate) {
	switch i {
	case selectTypes:
		if n := w.byte("number of types"); n != 1 {
			w.fail("select of %d types", n)
		}
		w.valueType("type of select")
	case heapType:
		if t := w.byte("type of a reference"); t != typeFuncRef && t != typeExternRef {
			w.fail("type %#02x of a reference is not allowed", t)
		}
	case twoIndices:
		w.u32("index")
		w.u32("index")
	case twoMemories:
		w.zero("memory index")
		w.zero("memory index")
	case indexMemory:
		w.u32("index")
		w.zero("memory index")
	}
}

func (r *reader) zero(what string) {
	if c := r.byte(what); c != 0 {
		r.fail("%s is %d: only one memory is allowed", what, c)
	}
}

func (r *reader) memoryArgument() {
	if a := r.u32("alignment"); a > 4 {
		r.fail("alignment 2^%d is not allowed", a)
	}
	r.u32("offset")
}
