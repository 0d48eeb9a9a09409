// Package doctor looks at what a host needs and finds what is wrong: its settings,
// its folder and the files in it, its clock, disk and ports, its upstreams, and
// what the running host itself complains of, its capsules, and whatever it may
// reach that does not conform. What is not well has the command that mends it, or
// says in words what only a person can do (faces page, section 1).
//
// It changes nothing, takes no lock and starts no upstream, so that it can run
// beside a host and without one. It does not promise that what it finds well stays
// so, and it does not read the trail: steward journal verify does. The verb keeps
// nothing.
package doctor

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/settings"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// State is how grave a finding is.
type State string

// The states, the gravest last.
const (
	Well   State = "well"
	Note   State = "note"   // worth knowing
	Bad    State = "bad"    // something does not work
	Unsafe State = "unsafe" // others can read or change what is the owner's
)

// Finding is what one look found.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	What  string `json:"what"`
	Fix   string `json:"fix,omitzero"` // a command, or words where only a person can help
}

// report is the machine form of the verb.
type report struct {
	Healthy  bool      `json:"healthy"`
	Findings []Finding `json:"findings"`
}

type verbs struct{ *desk.Desk }

// New is the verb.
func New(d *desk.Desk) *cobra.Command {
	var config bool
	cmd := d.WithJSON(&cobra.Command{
		Use: "doctor", Short: "look for what is wrong, and say what mends it", Args: desk.Words(0, 0),
		Long: `Looks at the settings, the data folder and its files, the clock, the disk, the ports,
the upstreams and the capsules, names every exception that does not conform, and
asks the running host, if there is one. It changes nothing.
The exit code is 3 if something is unsafe, 1 if something does not work, else 0.`,
		Example: "  steward doctor\n  steward doctor --config",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if config {
				return verbs{d}.config()
			}
			return verbs{d}.examine(cmd.Context())
		},
	})
	cmd.Flags().BoolVar(&config, "config", false, "print each setting that steward up would have, and where it comes from")
	return cmd
}

func (d verbs) config() error {
	home, err := d.Home()
	if err != nil {
		return err
	}
	values, err := settings.Load(home, nil, os.LookupEnv)
	if err != nil {
		return err
	}
	return desk.Show(d.Desk, map[string]settings.Values{"settings": values}, func(map[string]settings.Values) {
		t := paper.NewTable("setting", "value", "from")
		for _, v := range values {
			t.Row(v.Key, v.Value, v.Origin)
		}
		t.Write(d.Out, "")
	})
}

func (d verbs) examine(ctx context.Context) error {
	home, err := d.Home()
	if err != nil {
		return err
	}
	e := examination{home: home, free: freeBytes}
	values, bad := settings.Load(home, nil, os.LookupEnv)
	e.trouble("settings", bad, "all settings of "+settings.File+" and the environment are understood")
	e.folder()
	status, err := desk.Ask(ctx, d.Desk, adminwire.HostStatus, adminwire.Empty{})
	running := err == nil
	switch {
	case running:
		e.host(status)
		e.doors(ctx, status.Listen)
		if all, err := desk.Ask(ctx, d.Desk, adminwire.ResourcesList, adminwire.Empty{}); err == nil {
			e.upstreams(all.Resources)
		}
		if all, err := desk.Ask(ctx, d.Desk, adminwire.AppsList, adminwire.Empty{}); err == nil {
			e.apps(all.Apps)
		}
		if all, err := desk.Ask(ctx, d.Desk, adminwire.CapsulesList, adminwire.Empty{}); err == nil {
			e.capsules(all.Capsules)
		}
	case fault.Is(err, fault.Unavailable):
		e.add(Finding{"host", Note, "no host is running here", "steward up"})
		if bad == nil {
			e.port(ctx, values.Text(settings.Listen))
			e.bus(values.Text(settings.NATSURL))
		}
	default:
		e.trouble("host", err, "")
	}
	e.clock()
	e.disk()
	return d.conclude(e.findings)
}

// conclude tells the findings, and the gravest by the exit code.
func (d verbs) conclude(findings []Finding) error {
	worst := map[State]Finding{}
	for _, f := range findings {
		if _, ok := worst[f.State]; !ok {
			worst[f.State] = f
		}
	}
	_, unsafe := worst[Unsafe]
	_, bad := worst[Bad]
	err := desk.Show(d.Desk, report{!unsafe && !bad, findings}, func(r report) {
		t := paper.NewTable("", "check", "finding")
		for _, f := range r.Findings {
			t.Row(map[State]string{Well: "ok", Note: "note", Bad: "BAD", Unsafe: "UNSAFE"}[f.State], f.Check, f.What)
		}
		t.Write(d.Out, "")
		for _, f := range r.Findings {
			if f.Fix != "" {
				d.Say("%s: %s", f.Check, paper.Line(d.Here(f.Fix)))
			}
		}
	})
	switch {
	case err != nil:
		return err
	case unsafe:
		return trouble.New(trouble.Unsafe, "unsafe: "+worst[Unsafe].What, worst[Unsafe].Fix)
	case bad:
		return trouble.New(trouble.Failed, "not well: "+worst[Bad].What, worst[Bad].Fix)
	}
	return nil
}
