// Package capsulefile reads Capsule.toml, the file in which a capsule says what it
// is, how it runs and which topics it uses.
//
// It promises that a file that was accepted can be served: names and versions
// have their form, topics are within what a capsule may use, and a capsule that
// takes a request may also publish the answer. Every refusal names the line or
// the key and says what would be right. Files are at most bound.CapsuleManifest.
// The package keeps nothing.
package capsulefile

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Name is what the file is called in the capsule's folder.
const Name = "Capsule.toml"

// The runtimes: a program that speaks the frames of capsulewire; an MCP server,
// whose resources the host lists and reads, and which needs no topics; and a
// WebAssembly module that speaks the frames of one request at a time and has
// nothing of the machine.
const (
	Process = "process"
	MCP     = "mcp"
	WASM    = "wasm"
)

// File is a checked manifest.
type File struct {
	Name      string
	Version   string
	Publisher string
	Runtime   string
	Command   []string // "./x" is a file of the capsule's folder; nothing for a module
	Module    string   // "./x.wasm"
	Claim     topic.Claim
	Families  []string
	Bounds    Bounds
}

// document is the file as it is written.
type document struct {
	Name      string             `toml:"name"`
	Version   string             `toml:"version"`
	Publisher string             `toml:"publisher"`
	Runtime   string             `toml:"runtime"`
	Command   []string           `toml:"command"`
	Module    string             `toml:"module"`
	Publish   map[string]empty   `toml:"publish"`
	Subscribe map[string]handler `toml:"subscribe"`
	Resources struct {
		Families []string `toml:"families"`
	} `toml:"resources"`
	Bounds claimedBounds `toml:"bounds"`
}

type empty struct{}

type handler struct {
	Handler string `toml:"handler"`
}

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)
)

// handlers are the questions; a subscription binds one to its topic.
var handlers = map[string]string{topic.DescribeRequest: "describe", topic.ReadRequest: "read", topic.ToolsRequest: "tools", execute: "execute"}

// execute is how a capsule takes the calls of its tools.
const execute = topic.Execute + ".*"

// answers is what must be published for what is subscribed to.
var answers = map[string]string{
	topic.DescribeRequest: topic.DescribeResponse + ".*", topic.ReadRequest: topic.ReadResponse + ".*",
	topic.ToolsRequest: topic.ToolsResponse + ".*", execute: topic.Executed + ".*",
}

// Parse reads a manifest.
func Parse(raw []byte) (File, error) {
	if err := bound.CapsuleManifest.Check(len(raw)); err != nil {
		return File{}, err
	}
	var d document
	decoder := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return File{}, fault.New(fault.InvalidRequest, Name+": "+explain(err)).Because(err)
	}
	f := File{Name: d.Name, Version: d.Version, Publisher: d.Publisher, Runtime: d.Runtime, Command: d.Command, Module: d.Module, Families: d.Resources.Families}
	if err := d.check(); err != nil {
		return File{}, err
	}
	claim, err := d.claim()
	if err != nil {
		return File{}, err
	}
	f.Claim = claim
	if f.Bounds, err = d.Bounds.check(); err != nil {
		return File{}, err
	}
	return f, nil
}

// explain gives a parser's error with its line, as the parser draws it.
func explain(err error) string {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		return "there are unknown keys\n" + strict.String()
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		return decode.Error() + "\n" + decode.String()
	}
	return err.Error()
}

func (d document) check() error {
	switch {
	case !nameForm.MatchString(d.Name):
		return refuse(`name is needed: a-z, 0-9 and -, at most 32, such as name = "notes"`)
	case !versionForm.MatchString(d.Version):
		return refuse(`version is needed, such as version = "1.0.0"`)
	case len(d.Publisher) > bound.LabelBytes.Int():
		return refuse("publisher is too long")
	case d.Runtime != Process && d.Runtime != MCP && d.Runtime != WASM:
		return refuse(`runtime = "process", runtime = "mcp" or runtime = "wasm"; this host offers no other`)
	case d.Runtime == MCP && len(d.Publish)+len(d.Subscribe) > 0:
		return refuse("[publish] and [subscribe] are not for an MCP server; leave them out")
	case d.Runtime == WASM && len(d.Command) > 0:
		return refuse(`command is for a program; a module has module = "./notes.wasm"`)
	case d.Runtime == WASM && !filepath.IsLocal(d.Module):
		return refuse(`module is needed, a file of the capsule's folder, such as module = "./notes.wasm"`)
	case d.Runtime != WASM && d.Module != "":
		return refuse(`module is for runtime = "wasm"`)
	case d.Runtime != WASM && (len(d.Command) == 0 || d.Command[0] == ""):
		return refuse(`command is needed, such as command = ["./notes"]`)
	}
	if err := bound.CapsuleFamilies.Check(len(d.Resources.Families)); err != nil {
		return err
	}
	for _, prefix := range d.Resources.Families {
		if err := describe.CheckFamily(prefix); err != nil {
			return refuse("families: " + prefix + ": " + fault.From(err).Text)
		}
	}
	return nil
}

// claim checks what a capsule takes against what it can answer; one that was
// advertised and can never be served would be worse than a refusal.
func (d document) claim() (topic.Claim, error) {
	if d.Runtime == MCP {
		return topic.ParseClaim([]string{answers[topic.DescribeRequest], answers[topic.ReadRequest]}, []string{topic.DescribeRequest, topic.ReadRequest})
	}
	for name, h := range d.Subscribe {
		want, known := handlers[name]
		if !known {
			return topic.Claim{}, refuse("[subscribe]: " + name + " is not delivered to capsules; these are: " + strings.Join(slices.Sorted(maps.Keys(handlers)), ", "))
		}
		if h.Handler != want {
			return topic.Claim{}, refuse(`[subscribe]: "` + name + `" = { handler = "` + want + `" }`)
		}
		if _, ok := d.Publish[answers[name]]; !ok {
			return topic.Claim{}, refuse(`[publish]: add "` + answers[name] + `" = {}, or no answer to ` + name + ` can be given`)
		}
	}
	_, resources := d.Subscribe[topic.DescribeRequest]
	_, reads := d.Subscribe[topic.ReadRequest]
	_, tools := d.Subscribe[topic.ToolsRequest]
	_, calls := d.Subscribe[execute]
	switch {
	case !resources && (reads || !tools && !calls):
		return topic.Claim{}, refuse(`[subscribe]: add "` + topic.DescribeRequest + `" = { handler = "describe" }, or nothing is ever listed`)
	case resources && !reads:
		return topic.Claim{}, refuse(`[subscribe]: add "` + topic.ReadRequest + `" = { handler = "read" }, or what is listed can never be read`)
	case !resources && len(d.Resources.Families) > 0:
		return topic.Claim{}, refuse(`[resources]: families are for a capsule that takes "` + topic.DescribeRequest + `" and "` + topic.ReadRequest + `"; leave them out`)
	case calls && !tools:
		return topic.Claim{}, refuse(`[subscribe]: add "` + topic.ToolsRequest + `" = { handler = "tools" }, or no tool is ever offered`)
	case tools && !calls:
		return topic.Claim{}, refuse(`[subscribe]: add "` + execute + `" = { handler = "execute" }, or no tool can be called`)
	}
	for name := range d.Publish {
		if !slices.Contains(slices.Collect(maps.Values(answers)), name) {
			return topic.Claim{}, refuse("[publish]: nobody hears " + name + " on this host")
		}
	}
	return topic.ParseClaim(slices.Collect(maps.Keys(d.Publish)), slices.Collect(maps.Keys(d.Subscribe)))
}

func refuse(text string) error {
	return fault.New(fault.InvalidRequest, Name+": "+strings.TrimSpace(text))
}
