package lineage

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// chain runs a program at the end of so many shells, which all live on.
const chain = `if [ "$1" -gt 0 ]; then sh -c "$chain" sh $(($1 - 1)); else echo $$; read -r line; fi; :`

// below starts a chain and returns the pid of its last process.
func below(t *testing.T, depth int, env ...string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", chain, "sh", strconv.Itoa(depth))
	cmd.Env = append(env, "chain="+chain, "PATH="+os.Getenv("PATH"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); io.Copy(io.Discard, out); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, err2 := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestOf(t *testing.T) {
	plain, deep, marked := below(t, 0), below(t, 150), below(t, 2, Marker+"=0e9f")
	for _, tt := range []struct {
		name     string
		pid      int
		insiders []int
		session  string
		belongs  bool
	}{
		{"a stranger", plain, nil, "", false},
		{"below a server", plain, []int{os.Getpid()}, "", true},
		{"deep below a server", deep, []int{os.Getpid()}, "", true},
		{"a server itself", os.Getpid(), []int{os.Getpid()}, "", false},
		{"below its guard", os.Getpid(), []int{os.Getppid()}, "", true},
		{"below a guard that is the first process", plain, []int{1}, "", topIsFirst(t)},
		{"marked", marked, nil, "0e9f", true},
	} {
		session, belongs, err := Of(tt.pid, tt.insiders...)
		if session != tt.session || belongs != tt.belongs || err != nil {
			t.Errorf("%s: %q, %v, %v; want %q, %v", tt.name, session, belongs, err, tt.session, tt.belongs)
		}
	}
	if _, _, err := Of(1 << 30); err == nil {
		t.Error("a process that is not there can be told")
	}
}

// topIsFirst reports whether this process stands below process 1: not so in a
// container that was entered from outside.
func topIsFirst(t *testing.T) bool {
	t.Helper()
	p, err := look(os.Getpid())
	for err == nil && p.parent > 0 {
		p, err = look(p.parent)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.pid == 1
}

// A brand goes to what is started later, whatever that clears, and to nobody else.
func TestBrand(t *testing.T) {
	pid := below(t, 1)
	parent, err := look(pid)
	if err != nil {
		t.Fatal(err)
	}
	switch err := SetBrand(parent.parent, "run"); {
	case errors.Is(err, syscall.EPERM):
		t.Skip("not allowed here: ", err)
	case err != nil:
		t.Fatal(err)
	}
	if got := BrandOf(parent.parent); got != Brand("run") || got == Brand("other") {
		t.Errorf("brand %d, want %d", got, Brand("run"))
	}
	if got := BrandOf(pid); got != 0 {
		t.Errorf("a process that was there before has brand %d", got)
	}
	if _, belongs, err := Of(parent.parent); !belongs || err != nil {
		t.Errorf("branded: %v, %v", belongs, err)
	}
	if got := BrandOf(os.Getpid()); got != 0 {
		t.Errorf("this process has brand %d", got)
	}
}

func TestBrandsLieApart(t *testing.T) {
	for n, want := range map[uint64]bool{0: false, 1 << 60: false, 1 << 61: true, 1<<62 - 1: true, 1 << 62: false, 1<<63 - 1: false, 1<<64 - 1: false} {
		if isBrand(n) != want {
			t.Errorf("%d: %v", n, !want)
		}
	}
	for _, run := range []string{"", "a", "b"} {
		if !isBrand(Brand(run)) {
			t.Errorf("brand of %q: %d", run, Brand(run))
		}
	}
}
