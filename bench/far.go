package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/stewardhost/steward/bench/echo"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
)

// farServer is an upstream over HTTP, in a process of its own.
type farServer struct {
	cmd *exec.Cmd
	in  io.Closer
	url string
}

func startFar(self string) (*farServer, error) {
	f := &farServer{cmd: exec.Command(self, echoVerb, "1", echo.FarArg)}
	in, err := f.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	f.in = in
	line, err := bufio.NewReader(out).ReadString('\n')
	f.url = strings.TrimSpace(line)
	return f, err
}

// close ends the process.
func (f *farServer) close() {
	_ = f.in.Close()
	_ = f.cmd.Wait() // how it ends is of no interest
}

// judgeFar makes the rows of an upstream over HTTP, beside the same over pipes.
func (b *bench) judgeFar(all map[string]*subject) {
	one, near := all[string(load.Far)], all[string(load.Modern)]
	many, nearMany := all[string(load.Far)+", 16"], all[string(load.Modern)+", 16"]
	b.add(row{what: "an upstream over HTTP, 1 caller: p50 beyond the same over pipes", figure: paired(b.rounds, func(i int) float64 { return one.p50[i] - near.p50[i] }), unit: "ms",
		beside: fmt.Sprintf("p50 %.2f ms, over pipes %.2f", meter.Median(one.p50), meter.Median(near.p50))})
	b.add(row{what: "  16 callers: part of what it is over pipes", figure: paired(b.rounds, func(i int) float64 { return 100 * many.rate[i] / nearMany.rate[i] }), unit: "%",
		beside: fmt.Sprintf("%.0f calls/s; CPU a call in steward %.0f µs, over pipes %.0f µs; a connection of its own for each call", meter.Median(many.rate), many.perCall(many.cpu), nearMany.perCall(nearMany.cpu))})
}
