// Package manual holds the help that belongs to no verb, and writes the manual
// pages of a tree of commands, one page a command, in the man macros of roff. The text is the commands' own help. It
// promises that the same tree gives the same bytes; it does not follow hidden
// commands. The functions are safe for concurrent use.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// Pages is the verb that writes the pages of its own tree into a folder.
func Pages(oneWord cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{Use: "man FOLDER", Short: "write the manual pages into a folder, which is made if it is not there",
		Hidden: true, Args: oneWord,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = Write(args[0], cmd.Root())
			}
			if err != nil {
				return trouble.New(trouble.Failed, err.Error(), "steward man ./man")
			}
			return nil
		}}
}

// Write puts the pages of root and all below it into an existing folder, over
// those that are there.
func Write(folder string, root *cobra.Command) error {
	if err := os.WriteFile(filepath.Join(folder, name(root)+".1"), []byte(Page(root)), 0o644); err != nil {
		return err
	}
	for _, cmd := range root.Commands() {
		if !shown(cmd) {
			continue
		}
		if err := Write(folder, cmd); err != nil {
			return err
		}
	}
	return nil
}

func shown(cmd *cobra.Command) bool {
	return cmd.IsAvailableCommand() || cmd.IsAdditionalHelpTopicCommand()
}

func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Page is the page of one command.
func Page(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1\n", strings.ToUpper(name(cmd)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(name(cmd)), escape(cmd.Short))
	if cmd.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", escape(cmd.UseLine()))
	}
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", escape(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", escape(cmd.Example))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, ".SH OPTIONS\n.nf\n%s\n.fi\n", escape(strings.TrimRight(flags.FlagUsages(), "\n")))
	}
	if flags := cmd.InheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(&b, ".SH GLOBAL OPTIONS\n.nf\n%s\n.fi\n", escape(strings.TrimRight(flags.FlagUsages(), "\n")))
	}
	if also := seeAlso(cmd); also != "" {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", escape(also))
	}
	return b.String()
}

func seeAlso(cmd *cobra.Command) string {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, name(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if shown(sub) {
			pages = append(pages, name(sub)+"(1)")
		}
	}
	return strings.Join(pages, ", ")
}

// escape keeps roff from reading text as requests.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
