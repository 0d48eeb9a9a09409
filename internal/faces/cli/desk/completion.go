package desk

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Kind is what a word of a command names.
type Kind int

// The kinds. A Method is one of the resource named by the word before it.
const (
	App Kind = iota
	Resource
	Method
	Call
	Question
	Grant
	Server
)

// completionTime bounds what a person who pressed a key waits.
const completionTime = 2 * time.Second

// Complete makes a shell offer names for the words of a command: of the kind at the
// word's place, and of the last kind for all that follow.
func (d *Desk) Complete(cmd *cobra.Command, kinds ...Kind) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		at := len(args)
		if at >= len(kinds) && (kinds[len(kinds)-1] != Method || !strings.Contains(cmd.Use, "...")) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		resource := ""
		kind := kinds[min(at, len(kinds)-1)]
		if kind == Method {
			resource = args[min(at, len(kinds)-1)-1]
		}
		return d.names(cmd.Context(), kind, resource), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// CompleteFlag makes a shell offer names for a flag.
func (d *Desk) CompleteFlag(cmd *cobra.Command, flag string, kind Kind) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return d.names(cmd.Context(), kind, ""), cobra.ShellCompDirectiveNoFileComp
	}) // fails for a flag that is not there alone
}

// names asks the host. Without one there is nothing to offer.
func (d *Desk) names(ctx context.Context, kind Kind, resource string) (names []string) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	home, err := d.Home()
	if err != nil {
		return nil
	}
	c := client.Dial(Socket(home))
	defer c.Close()
	switch kind {
	case App:
		offer(ctx, c, &names, adminwire.AppsList, adminwire.Empty{}, func(r adminwire.Apps) (out []string) {
			for _, a := range r.Apps {
				if a.Connected && a.Kind == "app" {
					out = append(out, a.Name)
				}
			}
			return out
		})
	case Resource, Server:
		offer(ctx, c, &names, adminwire.ResourcesList, adminwire.Empty{}, func(r adminwire.Resources) (out []string) {
			for _, one := range r.Resources {
				if kind == Resource || one.Upstream != nil {
					out = append(out, one.Label)
				}
			}
			return out
		})
	case Method:
		offer(ctx, c, &names, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: resource}, func(r adminwire.Review) (out []string) {
			for _, m := range r.Methods {
				out = append(out, m.Method+"\t"+m.State)
			}
			return out
		})
	case Call:
		offer(ctx, c, &names, adminwire.JournalList, adminwire.ListJournal{Limit: 20}, func(r adminwire.Journal) (out []string) {
			for _, call := range r.Invocations {
				out = append(out, call.ID+"\t"+call.Method+" "+call.State)
			}
			return out
		})
	case Question:
		offer(ctx, c, &names, adminwire.ConfirmList, adminwire.ListConfirmations{}, func(r adminwire.Confirmations) (out []string) {
			for _, q := range r.Confirmations {
				out = append(out, q.ID+"\t"+q.App+" "+q.Method)
			}
			return out
		})
	case Grant:
		offer(ctx, c, &names, adminwire.GrantsList, adminwire.ListGrants{}, func(r adminwire.Grants) (out []string) {
			for _, g := range r.Grants {
				if g.State != "revoked" {
					out = append(out, g.ID+"\t"+g.App+" "+g.Method)
				}
			}
			return out
		})
	}
	return names
}

// offer adds the names of one reply; whatever goes wrong offers nothing.
func offer[Req, Rep any](ctx context.Context, c *client.Client, names *[]string, m adminwire.Method[Req, Rep], req Req, of func(Rep) []string) {
	rep, err := client.Call(ctx, c, m, req)
	if err != nil {
		return
	}
	for _, name := range of(rep) {
		if !strings.ContainsAny(name, "\n\r\x1b") {
			*names = append(*names, name)
		}
	}
}
