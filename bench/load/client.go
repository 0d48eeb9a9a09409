package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

const patience = 30 * time.Second // for one answer

// web is one kept connection. It writes requests as bytes, because a client's
// own work would take processors from what it measures.
type web struct {
	conn   net.Conn
	reader *bufio.Reader
	head   []byte // up to the length
	out    []byte
}

func dial(t Target, path string) (*web, error) {
	conn, err := net.DialTimeout("tcp", t.Addr, patience)
	if err != nil {
		return nil, err
	}
	w := &web{conn: conn, reader: bufio.NewReader(conn)}
	w.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n", path, t.Addr, t.Token)
	return w, nil
}

func (w *web) header(name, value string) {
	w.head = fmt.Appendf(w.head, "%s: %s\r\n", name, value)
}

func (w *web) close() { w.conn.Close() }

// post sends a body and reads the whole answer.
func (w *web) post(body []byte) (http.Header, []byte, error) {
	w.out = append(w.out[:0], w.head...)
	w.out = append(w.out, "Content-Length: "...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	w.out = append(w.out, "\r\n\r\n"...)
	w.out = append(w.out, body...)
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, nil, err
	}
	if _, err := w.conn.Write(w.out); err != nil {
		return nil, nil, err
	}
	resp, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.300s", resp.Status, answer)
	}
	return resp.Header, answer, err
}

// mcpCaller calls or lists tools.
type mcpCaller struct {
	*web
	target Target
	before []byte // of the body, up to the id
	after  []byte // from the id on
	next   int64
}

func openMCP(t Target) (*mcpCaller, error) {
	w, err := dial(t, "/mcp")
	if err != nil {
		return nil, err
	}
	w.header("Accept", "application/json, text/event-stream")
	c := &mcpCaller{web: w, target: t, before: []byte(`{"jsonrpc":"2.0","id":`), next: 1 << 30}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	call := fmt.Sprintf(`,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}`, t.Tool, Text)
	switch t.Kind {
	case Legacy:
		c.after = []byte(call + "}}")
		return c, c.initialize()
	case Modern, Far:
		c.after = []byte(call + "," + meta)
		w.header("Mcp-Method", "tools/call")
		w.header("Mcp-Name", t.Tool)
	case List:
		c.after = []byte(`,"method":"tools/list","params":{` + meta)
		w.header("Mcp-Method", "tools/list")
	case Listening:
		c.after = []byte(`,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta)
		w.header("Mcp-Method", "subscriptions/listen")
	default:
		return nil, fmt.Errorf("no such kind: %q", t.Kind)
	}
	w.header("MCP-Protocol-Version", "2026-07-28")
	return c, nil
}

// initialize opens a session, as every client of the older revisions does.
func (c *mcpCaller) initialize() error {
	const version = "2025-11-25"
	header, _, err := c.post([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`))
	if err != nil {
		return err
	}
	c.header("MCP-Protocol-Version", version)
	c.header("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	_, _, err = c.post([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return err
}

func (c *mcpCaller) call(job Job) (int, error) {
	c.next++
	body := strconv.AppendInt(bytes.Clone(c.before), c.next, 10)
	_, answer, err := c.post(append(body, c.after...))
	if err != nil {
		return 0, err
	}
	if c.target.Kind == List {
		if got := bytes.Count(answer, []byte(`"inputSchema":`)); got != job.Tools {
			return 0, fmt.Errorf("%d tools are listed, want %d", got, job.Tools)
		}
		return len(answer), nil
	}
	return len(answer), checkEcho(answer)
}

func checkEcho(answer []byte) error {
	if !bytes.Contains(answer, []byte(Text)) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return fmt.Errorf("not an echo: %.300s", answer)
	}
	return nil
}

// rpcCaller reads one item, or makes a new one with each call.
type rpcCaller struct {
	*web
	target Target
}

// made counts the items of this process.
var made atomic.Int64

func openRPC(t Target) (*rpcCaller, error) {
	w, err := dial(t, rpcwire.Call.Path)
	return &rpcCaller{w, t}, err
}

func (c *rpcCaller) call(Job) (int, error) {
	const get, put = `"get","args":{"key":%q}`, `"put","args":{"key":%q,"value":%q},"if":{"absent":true}`
	what := fmt.Sprintf(get, Key)
	if c.target.Kind == Put {
		what = fmt.Sprintf(put, KeyOf(made.Add(1)), Value)
	}
	body := fmt.Appendf(nil, `{"v":1,"tx":%q,"resource":"@items","contract":%q,"method":%s}`, id.NewTx(time.Now()).String(), contract.ItemStoreURL, what)
	_, answer, err := c.post(body)
	if err == nil && !bytes.Contains(answer, []byte(`"status":"ok"`)) {
		err = fmt.Errorf("not done: %.300s", answer)
	}
	return len(answer), err
}

// direct is the smallest client that a stdio server can have.
type direct struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	reader *bufio.Reader
	next   int64
}

func startDirect(t Target) (*direct, error) {
	if len(t.Command) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.Command(t.Command[0], t.Command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &direct{cmd: cmd, in: in, reader: bufio.NewReaderSize(out, 1<<16)}
	_, err = d.ask(`"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}`)
	if err == nil {
		_, err = io.WriteString(d.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return d, err
}

func (d *direct) ask(what string) ([]byte, error) {
	d.next++
	if _, err := fmt.Fprintf(d.in, `{"jsonrpc":"2.0","id":%d,"method":%s}`+"\n", d.next, what); err != nil {
		return nil, err
	}
	return d.reader.ReadBytes('\n')
}

func (d *direct) call(Job) (int, error) {
	answer, err := d.ask(fmt.Sprintf(`"tools/call","params":{"name":%q,"arguments":{"text":%q}}`, "echo", Text))
	if err != nil {
		return 0, err
	}
	return len(answer), checkEcho(answer)
}

func (d *direct) close() {
	d.in.Close()
	d.cmd.Wait() // how it ended does not matter any more
}
