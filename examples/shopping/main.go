// Command shopping is a capsule of steward with tools: it keeps a shopping list in a
// file of its folder, serves it as a resource, and lets apps look at it and add to
// it, once the owner has approved that.
//
//	go build -o shopping . && steward capsule install .
//	steward review shopping
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/stewardhost/steward/capsule"
)

const (
	uri  = "shopping:list"
	file = "list.txt" // one thing a line
)

func main() {
	l := &list{}
	err := capsule.Serve(context.Background(), capsule.Capsule{Describe: l.describe, Read: l.read, Tools: []capsule.Tool{
		{
			Name: "items", Title: "Look at the shopping list", Does: capsule.Does{OnlyReads: true}, Call: l.items,
			Input:  `{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
			Output: `{"type":"object","properties":{"items":{"type":"array","maxItems":100,"items":{"type":"string","maxLength":200}}},"required":["items"],"additionalProperties":false}`,
		},
		{
			Name: "add", Title: "Put something on the shopping list", Call: l.add,
			Input: `{"type":"object","properties":{"item":{"type":"string","minLength":1,"maxLength":200}},"required":["item"],"additionalProperties":false}`,
		},
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// list is the file; one lock makes its changes follow each other.
type list struct{ mu sync.Mutex }

func (l *list) all() ([]string, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{}, nil
	}
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' }), err
}

func (l *list) describe(context.Context, capsule.Caller) ([]capsule.Resource, error) {
	return []capsule.Resource{{URI: uri, Name: "Shopping list"}}, nil
}

func (l *list) read(_ context.Context, _ capsule.Caller, what string) ([]capsule.Content, error) {
	if what != uri {
		return nil, capsule.ErrNotMine
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.all()
	return []capsule.Content{capsule.Text(uri, "text/plain", strings.Join(all, "\n"))}, err
}

func (l *list) items(context.Context, capsule.Caller, json.RawMessage) (capsule.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.all()
	return capsule.Result{Structured: map[string]any{"items": all[:min(len(all), 100)]}}, err
}

func (l *list) add(_ context.Context, _ capsule.Caller, raw json.RawMessage) (capsule.Result, error) {
	var arguments struct{ Item string }
	if err := json.Unmarshal(raw, &arguments); err != nil {
		return capsule.Result{}, err
	}
	if strings.ContainsRune(arguments.Item, '\n') {
		return capsule.Result{}, errors.New("one thing is one line")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return capsule.Result{}, errors.New("the list cannot be opened")
	}
	_, err = f.WriteString(arguments.Item + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return capsule.Result{}, errors.New("the list cannot be written")
	}
	return capsule.Result{Contents: []capsule.ToolContent{capsule.Say("It is on the list.")}}, nil
}
