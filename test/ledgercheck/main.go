// Command ledgercheck holds three logs against each other: what clients sent and
// were told, what an effect oracle saw happen, and what the host's journal says.
// None of the three keepers takes part, and nothing of steward is used, so that
// a mistake of one cannot excuse itself.
//
//	ledgercheck -oracle FILE -journal FILE [-items FILE] CLIENTLOG...
//
// The oracle's log has one nonce a line, written before its answer. The journal
// has one row a line, as `steward journal show --json` tells it, and the items
// one {"key","version"} a line as they stand at the end. A client's log has one
// line before each request and one after it, see line. The program prints what
// it counted, then each complaint, and ends with 1 if there are any.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// line is one line of a client's log. Do is "send" before a request and "answer"
// or "lost" after it, with the same N; an owner writes "revoke" and "revoked",
// "grant" and "granted" around a change of a client's rights.
type line struct {
	At     time.Time `json:"at"`
	N      int       `json:"n"`
	Do     string    `json:"do"`
	Client string    `json:"client"`
	Path   string    `json:"path,omitempty"`
	Tx     string    `json:"tx,omitempty"`
	Digest string    `json:"digest,omitempty"` // of what the tx stands for, by the client's own count
	Nonce  string    `json:"nonce,omitempty"`  // of an effect
	Key    string    `json:"key,omitempty"`    // of an item that is put
	If     string    `json:"if,omitempty"`     // the version that the put replaces, empty for a new item
	Never  bool      `json:"never,omitempty"`  // the host must refuse it
	Body   string    `json:"body,omitempty"`   // of the answer
	Error  string    `json:"error,omitempty"`  // why there is none
}

// row is what is read of a journal row.
type row struct {
	Tx           string          `json:"tx"`
	Client       string          `json:"app_id"`
	Method       string          `json:"method"`
	State        string          `json:"state"`
	Code         string          `json:"code"`
	Result       json.RawMessage `json:"result"`
	Version      string          `json:"version"`
	DispatchedAt time.Time       `json:"dispatched_at"`
	ReconciledBy string          `json:"reconciled_by"`
}

type storedItem struct {
	Key     string `json:"key"`
	Version string `json:"version"`
}

// answer is what is read of a response.
type answer struct {
	Tx     string          `json:"tx"`
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
	Error  struct {
		Code    string         `json:"code"`
		Details map[string]any `json:"details"`
	} `json:"error"`
	Effects  string `json:"effects"`
	Replayed bool   `json:"replayed"`
	Version  string `json:"version"`
	Details  struct {
		Reconciled struct {
			By string `json:"by"`
		} `json:"reconciled"`
	} `json:"details"`
}

// logs are all that is known.
type logs struct {
	lines  []line
	nonces []string
	rows   []row
	items  []storedItem
	whole  bool // items are known
}

func main() {
	oracle := flag.String("oracle", "", "the oracle's log")
	journal := flag.String("journal", "", "the host's journal")
	items := flag.String("items", "", "the items that are stored")
	flag.Parse()
	l, err := read(*oracle, *journal, *items, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	c := check(l)
	fmt.Println(c.count)
	for _, complaint := range c.complaints {
		fmt.Println(complaint)
	}
	if len(c.complaints) > 0 {
		os.Exit(1)
	}
}

func read(oracle, journal, items string, clients []string) (l logs, err error) {
	if len(clients) == 0 {
		return l, fmt.Errorf("no client's log is named")
	}
	for _, name := range clients {
		if err := eachLine(name, func(raw []byte) error { return appendJSON(&l.lines, raw) }); err != nil {
			return l, err
		}
	}
	if err := eachLine(oracle, func(raw []byte) error {
		l.nonces = append(l.nonces, string(raw))
		return nil
	}); err != nil {
		return l, err
	}
	if err := eachLine(journal, func(raw []byte) error { return appendJSON(&l.rows, raw) }); err != nil || items == "" {
		return l, err
	}
	l.whole = true
	return l, eachLine(items, func(raw []byte) error { return appendJSON(&l.items, raw) })
}

func appendJSON[T any](list *[]T, raw []byte) error {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	*list = append(*list, v)
	return nil
}

const lineBytes = 1 << 20

// eachLine reads a log whole. A last line without its end is one that its writer
// was killed in, which none of the three writers ever is.
func eachLine(name string, take func([]byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, lineBytes)
	for n := 1; in.Scan(); n++ {
		if err := take(bytes.Clone(in.Bytes())); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return in.Err()
}

// same gives the bytes of an answer that may not change: all but the mark that
// it was given before.
func same(body string) string {
	return strings.Replace(body, `"replayed":false`, `"replayed":true`, 1)
}
