package crash_test

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// complaintsTold bounds what a failed check prints; the logs have the rest.
const complaintsTold = 30

// judge writes down what the host says it knows, has it verify its trail, and
// lets ledgercheck hold the three logs against each other. It returns what was
// counted. A host must be up and nobody at work.
func (s *stage) judge() string {
	s.t.Helper()
	args := append([]string{"-oracle", s.effects, "-journal", s.write("journal", s.journal()), "-items", s.write("items", s.stored())}, s.logs()...)
	s.verify()
	out, err := exec.Command(hosttest.Build(s.t, "./test/ledgercheck", ""), args...).CombinedOutput()
	count, complaints, _ := strings.Cut(string(out), "\n")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		lines := strings.SplitAfter(complaints, "\n")
		s.t.Errorf("%s\n%d complaints:\n%s", count, len(lines)-1, strings.Join(lines[:min(len(lines), complaintsTold)], ""))
	case err != nil:
		s.t.Fatal(err)
	}
	return count
}

// journal gives every row as its owner is shown it, one a line.
func (s *stage) journal() []byte {
	s.t.Helper()
	raw, err := s.readJournal()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

func (s *stage) readJournal() ([]byte, error) {
	owner := s.owner()
	defer owner.Close()
	var out bytes.Buffer
	for before := ""; ; {
		page, err := client.Call(s.t.Context(), owner, adminwire.JournalList, adminwire.ListJournal{Before: before})
		if err != nil {
			return nil, err
		}
		for _, listed := range page.Invocations {
			row, err := client.Call(s.t.Context(), owner, adminwire.JournalShow, adminwire.JournalRef{Invocation: listed.ID})
			if err != nil {
				return nil, err
			}
			raw, err := strictjson.Encode(row)
			if err != nil {
				return nil, err
			}
			out.Write(append(raw, '\n'))
		}
		if before = page.Next; before == "" {
			return out.Bytes(), nil
		}
	}
}

// stored gives every item with its version. It asks as an app, after the journal
// was read, since its own calls are journalled too.
func (s *stage) stored() []byte {
	s.t.Helper()
	app := s.clients[0]
	var out bytes.Buffer
	after := ""
	for {
		args := map[string]any{}
		if after != "" {
			args["after"] = after
		}
		q := app.ask(ask{tx: app.newTx()}, rpcwire.Request{Resource: s.items.Resource, Contract: s.items.Contract, Method: "list"}, args)
		raw, err := app.post(s.t.Context(), rpcwire.Call.Path, q.body)
		var resp rpcwire.Response
		if err == nil {
			err = strictjson.Decode(raw, strictjson.Limits{}, &resp)
		}
		var page struct {
			Items []struct {
				Key       string `json:"key"`
				Version   string `json:"version"`
				Size      int64  `json:"size"`
				UpdatedAt string `json:"updated_at"`
			} `json:"items"`
			Next string `json:"next,omitzero"`
		}
		if err == nil {
			err = strictjson.Decode(resp.Result, strictjson.Limits{}, &page)
		}
		if err != nil {
			s.t.Fatalf("items cannot be listed: %v: %s", err, raw)
		}
		for _, i := range page.Items {
			line, err := strictjson.Encode(map[string]any{"key": i.Key, "version": i.Version})
			if err != nil {
				s.t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		if after = page.Next; after == "" {
			return out.Bytes()
		}
	}
}
