// Command workman is a capsule for tests, whose tools go wrong in the ways in which
// a capsule can. Each writes down that it was called, before anything else.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/capsule"
)

const (
	nothing = `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
	number  = `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":9}},"required":["n"],"additionalProperties":false}`
)

func main() {
	words, err := os.ReadFile("words") // of one tool's description, if they are another than usual
	if err != nil {
		words = []byte("Says who asks.")
	}
	err = capsule.Serve(context.Background(), capsule.Capsule{Tools: []capsule.Tool{
		tool("who", string(words), "", func(_ context.Context, who capsule.Caller) (capsule.Result, error) {
			return capsule.Result{Contents: []capsule.ToolContent{capsule.Say(who.Principal() + " " + who.Capsule())}}, nil
		}),
		tool("die", "Ends the program.", "", func(context.Context, capsule.Caller) (capsule.Result, error) {
			return capsule.Result{}, syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}),
		tool("hang", "Answers too late.", "", func(ctx context.Context, _ capsule.Caller) (capsule.Result, error) {
			<-ctx.Done()
			note("called-off")
			<-time.After(time.Second) // an answer now would be in a race with the host's own clock
			return capsule.Result{}, ctx.Err()
		}),
		tool("slow", "Is done too late.", "", func(ctx context.Context, _ capsule.Caller) (capsule.Result, error) {
			<-ctx.Done()
			<-time.After(time.Second)
			return capsule.Result{Contents: []capsule.ToolContent{capsule.Say("done")}}, nil
		}),
		tool("fail", "Fails.", "", func(context.Context, capsule.Caller) (capsule.Result, error) {
			return capsule.Result{}, errors.New("the shop is closed")
		}),
		tool("large", "Says too much.", "", func(context.Context, capsule.Caller) (capsule.Result, error) {
			return capsule.Result{Contents: []capsule.ToolContent{capsule.Say(strings.Repeat("x", 200<<10))}}, nil
		}),
		tool("lie", "Gives another result than it promised.", number, func(context.Context, capsule.Caller) (capsule.Result, error) {
			return capsule.Result{Structured: map[string]int{"n": 10}}, nil
		}),
		tool("count", "Gives a number.", number, func(context.Context, capsule.Caller) (capsule.Result, error) {
			return capsule.Result{Structured: map[string]int{"n": 7}, Contents: []capsule.ToolContent{capsule.Show("image/png", []byte{1})}}, nil
		}),
	}})
	fmt.Fprintln(os.Stderr, "ended:", err)
}

func tool(name, description, output string, call func(context.Context, capsule.Caller) (capsule.Result, error)) capsule.Tool {
	return capsule.Tool{Name: name, Description: description, Input: nothing, Output: output,
		Call: func(ctx context.Context, who capsule.Caller, _ json.RawMessage) (capsule.Result, error) {
			note(name)
			return call(ctx, who)
		}}
}

// note writes a line into the file that tests read.
func note(what string) {
	f, err := os.OpenFile("notes", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(what + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
