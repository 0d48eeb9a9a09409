package sessiondoor

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

var update = flag.Bool("update", false, "write what the daemon says into the transcripts")

// A transcript is a comment that says why it is there, files of the workspace, and
// a script. In the script a letter is a client:
//
//	a connect                          it connects
//	a ready                            it connects, selects the profile, makes a session, claims it
//	a lends                            it registers the tool add and confirms an executor
//	a close                            it is gone
//	a> METHOD [S] [C] [O=id] PAYLOAD   it asks; S and C are its session and control
//	a>> RECORD                         it sends these bytes, as they are
//	a< ...                             what came, in order
//	wait DURATION                      the clock goes on
//	rig WORD                           what is outside changes; see outside
//	# ...                              a remark
//
// IDs and secrets have names, such as <session.a>, or <turn.2> for the second turn
// that appears; a request may use them. {{x}} is the file x as a JSON string, {{application}} the selection of
// all that the client has lent, {{binding}} the members of a result for the last
// call. Nothing is written down of what ready and lends do. Of a record the members that are the same in every one are checked and
// left out, as are nulls.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := txtar.Parse(readFile(t, file))
			if len(archive.Comment) == 0 {
				t.Error("the transcript does not say why it is there")
			}
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "script" })
			if i < 0 {
				t.Fatal("no script")
			}
			var got string
			synctest.Test(t, func(t *testing.T) {
				s := &stage{t: t, r: newRig(t), peers: map[string]*peer{}, names: map[string]string{}, values: map[string]string{}, lent: map[string]*peer{}, counts: map[string]int{}}
				for _, f := range archive.Files {
					if f.Name != "script" {
						s.r.files[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
					}
				}
				got = s.play(string(archive.Files[i].Data))
				s.end()
			})
			want := string(archive.Files[i].Data)
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// stage plays one script.
type stage struct {
	t      *testing.T
	r      *rig
	peers  map[string]*peer
	names  map[string]string // value to placeholder
	values map[string]string // placeholder to value
	out    strings.Builder
	call   sessionwire.CallPayload // the last one that came
	lent   map[string]*peer        // those that were ready once
	counts map[string]int          // of names, by kind

	stopped chan struct{} // closed when a daemon that was told to stop has
}

func (s *stage) play(script string) string {
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 1 && line[1] == '<' {
			continue
		}
		fmt.Fprintln(&s.out, line)
		s.do(s.fill(line))
		synctest.Wait()
		s.flush(false)
	}
	return s.out.String()
}

func (s *stage) do(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "" || word == "#":
	case word == "wait":
		s.wait(rest)
	case word == "rig":
		s.outside(rest)
	case rest == "connect":
		s.peers[word] = s.r.dial()
	case rest == "ready":
		s.ready(word)
	case rest == "lends":
		s.lends(word)
	case rest == "close":
		s.peers[word].conn.Close()
	case strings.HasSuffix(word, ">>"):
		s.peers[word[:1]].send([]byte(unprintable.Replace(rest) + "\n"))
	case strings.HasSuffix(word, ">"):
		s.ask(s.peers[word[:1]], rest)
	default:
		s.t.Fatalf("what is %q?", line)
	}
}

// unprintable are the bytes that a script cannot hold as they are.
var unprintable = strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff", `\xff`, "\xff")

// wait lets the clock go on.
func (s *stage) wait(duration string) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		s.t.Fatal(err)
	}
	<-time.After(d)
	synctest.Wait()
}

// ask sends a request in the script's short form.
func (s *stage) ask(p *peer, line string) {
	method, rest, _ := strings.Cut(line, " ")
	var session, operation *string
	var control *sessionwire.Control
	for !strings.HasPrefix(rest, "{") {
		word, more, _ := strings.Cut(rest, " ")
		name, value, given := strings.Cut(word, "=")
		switch name {
		case "S":
			if !given {
				value = p.session
			}
			session = &value
		case "C":
			control = &sessionwire.Control{GrantID: p.grant, Generation: p.generation}
		case "O":
			operation = &value
		default:
			s.t.Fatalf("what is %q in %q?", word, line)
		}
		rest = more
	}
	rest = s.expand(p, rest)
	p.next++
	p.send(p.request(strconv.Itoa(p.next), method, session, operation, control, rest))
}

// outside changes what is not the daemon.
func (s *stage) outside(line string) {
	word, rest, _ := strings.Cut(line, " ")
	m := s.r.log
	switch word {
	case "stop": // the daemon is told to stop
		s.stopped = make(chan struct{})
		go func() {
			defer close(s.stopped)
			s.r.close()
		}()
	case "break": // records of a kind cannot be written
		m.broken = transcript.Kind(rest)
	case "busy":
		m.busy = rest != "no"
	case "names":
		s.r.names = strings.Fields(rest)
	case "gate": // captures and deaf turns wait
		s.r.gate = make(chan struct{})
	case "open":
		close(s.r.gate)
		s.r.gate = nil
	case "slow": // opening a session waits
		m.slow = make(chan struct{})
	case "fast":
		close(m.slow)
		m.slow = nil
	case "hang": // results are not written
		m.hang = make(chan struct{})
	case "unhang":
		close(m.hang)
		m.hang = nil
	case "file":
		name, content, _ := strings.Cut(rest, " ")
		s.r.files[name] = content
	default:
		s.t.Fatalf("what is %q?", line)
	}
}

var (
	placeholder = regexp.MustCompile(`<[a-z]+(\.[a-z0-9]+)?>`)
	fresh       = regexp.MustCompile(`"([A-Za-z0-9_-]{22}|[A-Za-z0-9_-]{43})"`)
)

// fill puts values in the places of their names.
func (s *stage) fill(line string) string {
	return placeholder.ReplaceAllStringFunc(line, func(name string) string {
		if v := s.values[name]; v != "" {
			return v
		}
		return name
	})
}

// flush writes down what came, client by client, or only learns from it.
func (s *stage) flush(quiet bool) {
	for _, name := range slices.Sorted(maps.Keys(s.peers)) {
		p := s.peers[name]
		lines, ended := p.take()
		for _, line := range lines {
			if told := s.brief(p, line, quiet); !quiet {
				fmt.Fprintf(&s.out, "%s< %s\n", name, told)
			}
		}
		if ended {
			fmt.Fprintf(&s.out, "%s< closed\n", name)
			delete(s.peers, name)
		}
	}
}

// end closes everything.
func (s *stage) end() {
	if s.r.gate != nil {
		close(s.r.gate)
	}
	if s.r.log.slow != nil {
		close(s.r.log.slow)
	}
	if s.r.log.torn != nil {
		close(s.r.log.torn)
	}
	for _, p := range s.peers {
		p.conn.Close()
	}
	if s.stopped != nil {
		<-s.stopped
		return
	}
	s.r.close()
}
