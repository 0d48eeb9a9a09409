package mcpupstream

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// resultOf is a clean result of exactly n bytes.
func resultOf(n int) string {
	const frame = `{"content":[{"type":"text","text":""}]}`
	return strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1)
}

// sized answers with a result of n bytes, which is made only when it is needed.
func sized(n int, frame string) script {
	return script{call: func(u *upstream, m request) int {
		return answers(strings.Replace(frame, "RESULT", resultOf(n), 1)+"\n")(u, m)
	}}
}

// scripts are the upstreams by name, since a child process gets only the name.
var scripts = map[string]script{
	"good": {},
	"numbers": {call: func(u *upstream, m request) int {
		return u.result(m, `{"content":[],"structuredContent":`+string(m.Params.Arguments)+`}`)
	}},
	"tool error":       withResult(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`),
	"nulls for absent": withResult(`{"content":[],"isError":null,"structuredContent":null,"task":null}`),
	"structured only":  withResult(`{"structuredContent":{"a":1}}`),
	"complete":         withResult(`{"resultType":"complete","content":[]}`),
	"rejects":          {call: func(u *upstream, m request) int { return u.error(m, `{"code":-32602,"message":"bad\u0007arguments"}`) }},
	"rejects at length": {call: func(u *upstream, m request) int {
		return u.error(m, `{"code":-32000,"message":"`+strings.Repeat("é", 4000)+`"}`)
	}},
	"error without code":   {call: func(u *upstream, m request) int { return u.error(m, `{"message":"bad"}`) }},
	"error as a text":      {call: func(u *upstream, m request) int { return u.error(m, `"bad"`) }},
	"input required":       withResult(`{"resultType":"input_required","inputRequests":{}}`),
	"unknown result type":  withResult(`{"resultType":"partial","content":[]}`),
	"escaped result type":  withResult(`{"r\u0065sultType":"task","content":[]}`),
	"task":                 withResult(`{"task":{"taskId":"1","status":"working"}}`),
	"largest":              sized(bound.ResultBytes.Int(), `{"jsonrpc":"2.0","id":ID,"result":RESULT}`),
	"one over":             sized(bound.ResultBytes.Int()+1, `{"jsonrpc":"2.0","id":ID,"result":RESULT}`),
	"one MiB":              sized(1<<20, `{"jsonrpc":"2.0","id":ID,"result":RESULT}`),
	"ten MiB, id last":     sized(10<<20, `{"result":RESULT,"jsonrpc":"2.0","id":ID}`),
	"ten MiB, no id":       sized(10<<20, `{"result":RESULT,"jsonrpc":"2.0"}`),
	"deep":                 withResult(`{"content":[],"structuredContent":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`),
	"many":                 withResult(`{"content":[],"structuredContent":[` + strings.Repeat("1,", bound.ResultNodes.Int()) + `1]}`),
	"cut off":              {call: answers(`{"jsonrpc":"2.0","id":ID,"result":{"content":[` + "\n")},
	"not JSON inside":      withResult(`{"content":[],"a":01}`),
	"a name twice":         withResult(`{"content":[],"isError":true,"isError":false}`),
	"result twice":         {call: answers(`{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{"content":[]}}` + "\n")},
	"both":                 {call: answers(`{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"error":{"code":1,"message":""}}` + "\n")},
	"neither":              {call: answers(`{"jsonrpc":"2.0","id":ID}` + "\n")},
	"wrong version":        {call: answers(`{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}` + "\n")},
	"result is a list":     withResult(`[]`),
	"no content":           withResult(`{}`),
	"content is a text":    withResult(`{"content":"x"}`),
	"content without type": withResult(`{"content":[{"text":"x"}]}`),
	"isError is a text":    withResult(`{"content":[],"isError":"true"}`),
	"exits":                {call: func(*upstream, request) int { return 3 }},
	"exits while asked": {begin: func(*upstream) { fmt.Fprintln(os.Stderr, "out of\x1b[0m memory") },
		call: func(*upstream, request) int { return 3 }},
	"silent":      {call: func(*upstream, request) int { return goOn }},
	"deaf":        {call: deaf},
	"deaf at all": {initialize: func(u *upstream, m request) int { u.result(m, greetingJSON); return deaf(u, m) }},
	"answers twice": {call: func(u *upstream, m request) int {
		u.result(m, okJSON)
		u.result(m, okJSON)
		u.say(`{"jsonrpc":"2.0","id":99,"result":{}}` + "\n")
		u.say(`{"jsonrpc":"2.0","id":"1","result":{}}` + "\n")
		return goOn
	}},
	"chatty": {
		begin: func(u *upstream) { u.say("Ready!\n\n{\"level\":\"info\",\"id\":1}\n\xff\xfe\n[1,2]\n") },
		call: func(u *upstream, m request) int {
			u.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` + "\nworking…\n")
			u.say(`{"id":%s,"level":"info","message":"on it"}`+"\n", m.ID)
			return u.result(m, okJSON)
		},
	},
	"asks": {call: func(u *upstream, m request) int {
		for i, method := range []string{"ping", "sampling/createMessage", "roots/list", "elicitation/create"} {
			u.say(`{"jsonrpc":"2.0","id":"s%d","method":"%s"}`+"\n", i, method)
			line, _ := u.in.ReadString('\n')
			u.log(line)
		}
		return u.result(m, okJSON)
	}},
	"asks without end": {call: func(u *upstream, m request) int {
		for range 5000 {
			u.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		}
		return u.result(m, okJSON)
	}},
	"gigabyte": {call: func(u *upstream, m request) int {
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 1 << 10 {
			if _, err := u.out.Write(piece); err != nil {
				return 7
			}
		}
		u.log("all of it was taken\n")
		return 8
	}},
	"stubborn": {begin: func(*upstream) { signal.Ignore(syscall.SIGTERM) },
		call: func(u *upstream, m request) int {
			u.result(m, okJSON)
			io.Copy(io.Discard, u.in)
			return deaf(u, m)
		}},
	"slow to start": {initialize: func(u *upstream, m request) int {
		<-time.After(300 * time.Millisecond)
		return u.result(m, greetingJSON)
	}},
	"tells changes": {every: func(u *upstream, m request) int {
		u.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		return u.result(m, okJSON)
	}},
	"dies at start":   {initialize: func(*upstream, request) int { return 4 }},
	"seven pages":     {list: pages(7, 3)},
	"two MiB listing": {list: pages(1, 40, 50<<10)},
}

// pages lists count tools on each of n pages; padding makes them longer.
func pages(n, count int, padding ...int) func(*upstream, request) int {
	return func(u *upstream, m request) int {
		page := 0
		fmt.Sscanf(m.Params.Cursor, "page %d", &page)
		var tools []string
		for i := range count {
			tools = append(tools, fmt.Sprintf(`{"name":"tool-%d", "description":"%s"}`, page*count+i, strings.Repeat("d", sum(padding))))
		}
		next := ""
		if page+1 < n {
			next = fmt.Sprintf(`,"nextCursor":"page %d"`, page+1)
		}
		return u.result(m, `{"tools":[`+strings.Join(tools, ",")+`]`+next+`}`)
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}
