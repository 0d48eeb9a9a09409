// Command clock is an application that lends an agent session one tool, the time
// on this machine, asks the agent to use it, and prints what it says.
//
//	clock SOCKET [PROMPT]
//
// The socket is the one that `steward daemon start-or-connect` prints.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

const contract = `{
	"input_schema": {"type":"object","properties":{},"required":[],"additionalProperties":false},
	"output_schema": {"type":"object","properties":{"now":{"type":"string","maxLength":40}},"required":["now"],"additionalProperties":false}
}`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: clock SOCKET [PROMPT]")
		os.Exit(2)
	}
	prompt := "what time is it?"
	if len(os.Args) > 2 {
		prompt = strings.Join(os.Args[2:], " ")
	}
	if err := run(ctx, os.Args[1], prompt); err != nil {
		fmt.Fprintln(os.Stderr, "clock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, socket, prompt string) error {
	// An application that may be started again keeps this file: it is how it gets
	// its executor back, and how no call runs twice.
	folder, err := os.MkdirTemp("", "clock-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the next run makes its own
	memory, err := executor.InFile(filepath.Join(folder, "memory.json"))
	if err != nil {
		return err
	}
	defer memory.Close()
	client, err := executor.Open(ctx, executor.Options{
		Socket: socket, Name: "clock", Version: "1", Memory: memory,
		Tools: map[string]executor.Handler{"clock": func(context.Context, executor.Call) (any, error) {
			return map[string]string{"now": time.Now().Format(time.RFC3339)}, nil
		}},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	id, err := client.CreateSession(ctx, "clock")
	if err != nil {
		return err
	}
	session, err := client.Claim(ctx, id, false)
	if err != nil {
		return err
	}
	if _, err := session.Lend(ctx, sessionwire.Resource{Kind: "tool", Name: "clock", Description: "The time on the user's machine.", Source: executor.Inline(contract)}); err != nil {
		return err
	}
	if _, err := session.Start(ctx, prompt); err != nil {
		return err
	}
	return listen(client)
}

// listen prints what the agent says until the turn ends.
func listen(client *executor.Client) error {
	for e := range client.Events() {
		switch e.Event {
		case sessionwire.TurnDelta:
			var p sessionwire.DeltaPayload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				return err
			}
			fmt.Print(p.Text)
		case sessionwire.TurnTerminal:
			var p sessionwire.TerminalPayload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				return err
			}
			fmt.Println()
			if p.Error != nil {
				return errors.New(p.Error.Message)
			}
			return nil
		}
	}
	return client.Err()
}
